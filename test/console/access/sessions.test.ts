import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { keyFor, sign } from '../../../src/console/access/signed.ts';
import { Browser, loggedIn, sessionKey, startStand, tokensFile, twoTokens } from './stand.ts';

const hourMs = 3_600_000;

test('a session is in a cookie that no script reads and no other site sends along', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const { setCookies, status, headers } = await new Browser(stand.url).submit('/login', {
    token: 'olga-token',
    next: '/destinations/crm?range=1h',
  });
  assert.deepEqual([status, headers['location']], [303, '/destinations/crm?range=1h']);
  const [cookie = ''] = setCookies;
  assert.match(
    cookie,
    /^postrider=[\w-]+\.[\w-]+; Max-Age=28800; Path=\/; HttpOnly; SameSite=Strict$/,
  );
});

test('behind https it is sent by https only, and bound to this host', async (t) => {
  const url = 'https://console.shop.example';
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens), url });
  const answer = await new Browser(stand.url).submit(
    '/login',
    { token: 'olga-token' },
    { origin: url },
  );
  assert.match(
    answer.setCookies.join(),
    /^__Host-postrider=.*; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
});

test('it says who has logged in, and ends after eight hours', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const browser = await loggedIn(stand, 'vera');
  const { csrf, version, ...session } = await browser.session();
  assert.deepEqual(session, { user: 'vera', role: 'viewer', bodies: true, isOpen: false });
  assert.match(version ?? '', /^\d+\.\d+\.\d+/);
  assert.ok(csrf.length > 40);
  stand.clock.forward(8 * hourMs - 1);
  assert.equal((await browser.get('/api/v1/pipeline')).status, 200);
  stand.clock.forward(1);
  const { status, text } = await browser.get('/api/v1/pipeline');
  assert.equal(status, 401);
  assert.match(text, /You are not logged in\./);
});

test('a forged one lets nobody in', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens), sessionKey });
  const browser = await loggedIn(stand, 'vera');
  const [[name, cookie] = ['', '']] = browser.jar;
  const [content = '', mac = ''] = cookie.split('.');
  const claims = JSON.parse(Buffer.from(content, 'base64url').toString()) as { untilMs: number };
  const changed = Buffer.from(JSON.stringify({ ...claims, role: 'operator' })).toString(
    'base64url',
  );
  const whole = { ...claims, role: 'operator' } as const;
  const forged = {
    changed: `${changed}.${mac}`,
    'without a signature': changed,
    'with an empty one': `${changed}.`,
    'with more behind it': `${cookie}.${mac}`,
    'by another key': sign(randomBytes(32), whole),
    'by the key of another purpose': sign(keyFor(sessionKey, 'log-in'), whole),
    "by the console's key itself": sign(sessionKey, whole),
    'longer than a session lasts': sign(keyFor(sessionKey, 'session'), {
      ...whole,
      untilMs: whole.untilMs + 1,
    }),
    'not even text': '%00%ff',
    empty: '',
  };
  for (const [how, value] of Object.entries(forged)) {
    const answer = await new Browser(stand.url).get('/api/v1/session', {
      cookie: `${name}=${value}`,
    });
    assert.equal(answer.status, 401, how);
  }
  assert.equal((await browser.get('/api/v1/session')).status, 200);
});

test('after a log-out a copy of the cookie is worth nothing', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const browser = await loggedIn(stand, 'olga');
  const stolen = new Browser(stand.url);
  for (const [name, value] of browser.jar) stolen.jar.set(name, value);
  const another = await loggedIn(stand, 'olga');
  const { csrf } = await browser.session();
  assert.match((await browser.get('/logout')).text, new RegExp(`name="csrf" value="${csrf}"`));

  const out = await browser.submit('/logout', { csrf });
  assert.deepEqual([out.status, out.headers['location']], [303, '/logout']);
  assert.equal(browser.jar.size, 0);
  assert.match((await browser.get('/logout')).text, /You are logged out/);
  assert.equal((await stolen.get('/api/v1/session')).status, 401);
  assert.equal((await another.get('/api/v1/session')).status, 200);
});

test('no other site, and nobody without the token, can log somebody out', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const browser = await loggedIn(stand, 'olga');
  const { csrf } = await browser.session();
  assert.equal((await browser.submit('/logout', {})).status, 403);
  assert.equal(
    (await browser.submit('/logout', { csrf }, { origin: 'https://evil.example' })).status,
    403,
  );
  assert.equal((await browser.get('/api/v1/session')).status, 200);
});

test('a console that starts again knows its sessions by the key', async (t) => {
  const settings = { tokensFile: tokensFile(twoTokens), sessionKey };
  const browser = await loggedIn(await startStand(t, settings), 'olga');
  const [[name, value] = ['', '']] = browser.jar;
  const cookie = `${name}=${value}`;
  const again = new Browser((await startStand(t, settings)).url);
  assert.equal((await again.get('/api/v1/session', { cookie })).status, 200);
  const another = { ...settings, sessionKey: randomBytes(32) };
  const other = new Browser((await startStand(t, another)).url);
  assert.equal((await other.get('/api/v1/session', { cookie })).status, 401);
  const keyless = new Browser((await startStand(t, { ...settings, sessionKey: undefined })).url);
  assert.equal((await keyless.get('/api/v1/session', { cookie })).status, 401);
});

test('a session that was logged out stays so when the console starts again', async (t) => {
  const settings = { tokensFile: tokensFile(twoTokens), sessionKey };
  const stand = await startStand(t, settings);
  const browser = await loggedIn(stand, 'olga');
  const cookies = [...browser.jar].map(([name, value]) => `${name}=${value}`).join('; ');
  await browser.submit('/logout', { csrf: (await browser.session()).csrf });
  const again = await startStand(t, settings, { earlier: stand.told });
  const { status } = await new Browser(again.url).get('/api/v1/session', { cookie: cookies });
  assert.equal(status, 401);
  assert.deepEqual(
    stand.told.map(({ user, action }) => [user, action]),
    [
      ['olga', 'log-in'],
      ['olga', 'log-out'],
    ],
  );
});
