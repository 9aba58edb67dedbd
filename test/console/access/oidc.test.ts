import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { OidcSettings } from '../../../src/console/access/identity-provider.ts';
import { freePort } from '../../harness/free-ports.ts';
import { client, logInAt, startProvider, type TestProvider } from './provider.ts';
import {
  Browser,
  sessionKey,
  startStand,
  tokensFile,
  twoTokens,
  type Ending,
  type Reply,
  type Stand,
} from './stand.ts';

const roles = { claim: 'roles', operators: ['postrider-ops'], viewers: ['support', 'sales'] };

function oidc(issuer: string, changes: Partial<OidcSettings> = {}): OidcSettings {
  return { ...client, issuer, scope: 'openid profile email', roles, ...changes };
}

interface Both {
  readonly stand: Stand;
  readonly provider: TestProvider;
}

async function start(
  t: Ending,
  options: Parameters<typeof startProvider>[2] = {},
  changes: Partial<OidcSettings> = {},
  apiUrl?: string,
): Promise<Both> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const provider = await startProvider(t, `${url}/login/callback`, options);
  const settings = { url, sessionKey, oidc: oidc(provider.issuer, changes) };
  const more = apiUrl === undefined ? { port } : { port, apiUrl };
  return { stand: await startStand(t, settings, more), provider };
}

/** All the way: to the provider, through its pages, and back. */
async function logIn(browser: Browser, login: string, next = '/'): Promise<Reply> {
  const away = await browser.get(`/login/oidc?next=${encodeURIComponent(next)}`);
  const back = await logInAt(String(away.headers['location']), login);
  return browser.get(back, { 'sec-fetch-site': 'cross-site' });
}

test('whoever the provider knows by a role comes in with it', async (t) => {
  const { stand, provider } = await start(t);
  const page = await new Browser(stand.url).get('/login?next=/pipeline');
  assert.match(page.text, /href="\/login\/oidc\?next=%2Fpipeline">Log in with 127\.0\.0\.1/);
  assert.doesNotMatch(page.text, /<form/);
  for (const [claims, role] of [
    [{ roles: ['sales', 'postrider-ops'] }, 'operator'],
    [{ roles: ['support'] }, 'viewer'],
    [{ roles: 'support' }, 'viewer'],
  ] as const) {
    provider.claims = { ...claims, email: 'anna@shop.example', email_verified: true };
    const browser = new Browser(stand.url);
    const back = await logIn(browser, 'anna', '/destinations/crm?range=24h');
    assert.equal(back.status, 200, back.text);
    assert.match(back.text, /content="0; url=\/destinations\/crm\?range=24h"/);
    const session = await browser.session();
    assert.deepEqual([session.user, session.role], ['anna@shop.example', role]);
    assert.deepEqual([...browser.jar.keys()], ['postrider']);
  }
});

test('the way there is with PKCE, state and nonce, and its cookie comes back from another site', async (t) => {
  const { stand } = await start(t);
  const { status, headers, setCookies } = await new Browser(stand.url).get('/login/oidc');
  assert.equal(status, 303);
  const { searchParams } = new URL(String(headers['location']));
  assert.equal(searchParams.get('response_type'), 'code');
  assert.equal(searchParams.get('code_challenge_method'), 'S256');
  for (const name of ['code_challenge', 'state', 'nonce'])
    assert.ok((searchParams.get(name) ?? '').length >= 43, name);
  assert.match(
    setCookies.join(),
    /^postrider-login-\w+=[^;]+; Max-Age=600; Path=\/login\/callback; HttpOnly; SameSite=Lax$/,
  );
  assert.equal(setCookies.length, 1);
});

test('whoever has no role is refused by a page that names the claim', async (t) => {
  const { stand, provider } = await start(t);
  for (const claims of [{}, { roles: ['staff'] }, { roles: [] }, { roles: { support: true } }]) {
    provider.claims = { ...claims, preferred_username: '<b>otto</b>' };
    const browser = new Browser(stand.url);
    const { status, text } = await logIn(browser, 'otto');
    assert.equal(status, 403);
    assert.match(text, /none of the values in the claim roles/);
    assert.doesNotMatch(text, /<b>/);
    assert.equal(browser.jar.size, 0);
    assert.equal((await browser.get('/api/v1/session')).status, 401);
  }
});

test('a claim is also found at userinfo, inside another one, or by a name with dots', async (t) => {
  for (const [claim, claims] of [
    ['realm_access.roles', { realm_access: { roles: ['support'] } }],
    ['https://shop.example/roles', { 'https://shop.example/roles': ['support'] }],
  ] as const) {
    const options = { claimsIn: 'userinfo', auth: 'client_secret_post' } as const;
    const { stand, provider } = await start(t, options, { roles: { ...roles, claim } });
    provider.claims = claims;
    const browser = new Browser(stand.url);
    await logIn(browser, 'sven');
    const session = await browser.session();
    assert.deepEqual([session.user, session.role], ['sven', 'viewer']);
  }
});

test('an address that somebody else came back to is worth nothing', async (t) => {
  const { stand, provider } = await start(t);
  provider.claims = { roles: ['postrider-ops'] };
  const attacker = new Browser(stand.url);
  const away = await attacker.get('/login/oidc');
  const back = await logInAt(String(away.headers['location']), 'mallory');
  const victim = new Browser(stand.url);
  await victim.get('/login/oidc');
  for (const browser of [victim, new Browser(stand.url)]) {
    const { status, text, setCookies } = await browser.get(back);
    assert.deepEqual([status, setCookies], [403, []]);
    assert.match(
      text,
      /This log-in was started in another browser, or too long ago; start again\./,
    );
  }
});

test('a code is worth nothing twice, changed, too late, or without its answer', async (t) => {
  const { stand, provider } = await start(t);
  provider.claims = { roles: ['postrider-ops'] };
  const tried = async (change: (back: URL, browser: Browser) => void): Promise<Reply> => {
    const browser = new Browser(stand.url);
    const away = await browser.get('/login/oidc');
    const back = new URL(await logInAt(String(away.headers['location']), 'anna'));
    change(back, browser);
    const answer = await browser.get(back.href);
    assert.equal(answer.status, 403, answer.text);
    assert.equal((await browser.get('/api/v1/session')).status, 401);
    return answer;
  };
  const notValid = /The answer of the identity provider is not valid/;
  assert.match(
    (
      await tried(({ searchParams }) => {
        searchParams.set('code', 'x');
      })
    ).text,
    notValid,
  );
  assert.match(
    (
      await tried(({ searchParams }) => {
        searchParams.delete('code');
      })
    ).text,
    notValid,
  );
  assert.match(
    (
      await tried(({ searchParams }) => {
        searchParams.set('iss', 'https://evil.example');
      })
    ).text,
    notValid,
  );
  assert.match(
    (
      await tried(({ searchParams }) => {
        searchParams.delete('code');
        searchParams.set('error', 'access_denied');
        searchParams.set('error_description', 'Call 555-1234');
      })
    ).text,
    /The identity provider has refused the log-in\./,
  );
  await tried(() => {
    stand.clock.forward(10 * 60_000);
  });

  const browser = new Browser(stand.url);
  const away = await browser.get('/login/oidc');
  const copies = new Map(browser.jar);
  const back = await logInAt(String(away.headers['location']), 'anna');
  assert.equal((await browser.get(back)).status, 200);
  const again = new Browser(stand.url);
  for (const [name, value] of copies) again.jar.set(name, value);
  assert.match((await again.get(back)).text, notValid);
});

test("two log-ins of one browser do not get in each other's way", async (t) => {
  const { stand, provider } = await start(t);
  provider.claims = { roles: ['support'] };
  const browser = new Browser(stand.url);
  const first = await browser.get('/login/oidc?next=/pipeline');
  const second = await browser.get('/login/oidc?next=/rejected');
  for (const [away, next] of [
    [second, '/rejected'],
    [first, '/pipeline'],
  ] as const) {
    const back = await logInAt(String(away.headers['location']), 'anna');
    assert.match((await browser.get(back)).text, new RegExp(`url=${next}"`));
  }
});

test('it leads nowhere but to pages of this console', async (t) => {
  const { stand, provider } = await start(t);
  provider.claims = { roles: ['support'] };
  for (const [next, to] of [
    ['//evil.example', '/'],
    ['https://evil.example', '/'],
    ['/.//evil.example', '/'],
    ['/";url=//evil', '/%22;url=//evil'],
  ] as const) {
    const { text } = await logIn(new Browser(stand.url), 'anna', next);
    assert.ok(text.includes(`content="0; url=${to}"`), text);
  }
});

test('while the provider is away the console runs, and log-in says so; then it works', async (t) => {
  const [port, providerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const said: string[] = [];
  const note = (_fields: object, message: string): void => void said.push(message);
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const settings = { url, sessionKey, oidc: oidc(`http://127.0.0.1:${providerPort}`) };
  const stand = await startStand(t, settings, { port, log });
  const browser = new Browser(url);
  const away = await browser.get('/login/oidc');
  assert.equal(away.status, 503);
  assert.match(
    away.text,
    /The identity provider .* does not answer as it should; try again later\./,
  );
  const strangers = Array.from({ length: 20 }, () => new Browser(url).get('/login/oidc'));
  assert.ok((await Promise.all(strangers)).every(({ status }) => status === 503));
  const nobody = 'nobody can log in to the console with the identity provider';
  assert.equal(said.filter((each) => each === nobody).length, 1, 'asked once, however many come');
  assert.equal((await browser.get('/api/v1/session')).status, 401);

  const provider = await startProvider(t, `${url}/login/callback`, { port: providerPort });
  provider.claims = { roles: ['support'] };
  stand.clock.forward(5_000);
  assert.equal((await logIn(browser, 'anna')).status, 200);
  await provider.close();
  assert.equal((await browser.session()).role, 'viewer', 'a session needs no provider');
});

test('one who logged in before the provider was exchanged for tokens is out', async (t) => {
  const { stand, provider } = await start(t);
  provider.claims = { roles: ['support'] };
  const browser = new Browser(stand.url);
  await logIn(browser, 'anna');
  const other = await startStand(t, { sessionKey, tokensFile: tokensFile(twoTokens) });
  const moved = new Browser(other.url);
  for (const [name, value] of browser.jar) moved.jar.set(name, value);
  assert.equal((await moved.get('/api/v1/session')).status, 401);
});

test("the API is asked with an operator's ID token, also one that is too long for a cookie, and not after a log-out", async (t) => {
  const given: (string | undefined)[] = [];
  const api = createServer((request, response) => {
    given.push(request.headers.authorization?.replace('Bearer ', ''));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  t.after(() => {
    api.closeAllConnections();
    api.close();
  });
  const apiUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const { stand, provider } = await start(t, {}, {}, apiUrl);
  for (const more of [[], Array.from({ length: 200 }, (_, n) => `group-of-many-people-${n}`)]) {
    provider.claims = { roles: ['postrider-ops', ...more] };
    const browser = new Browser(stand.url);
    await logIn(browser, 'anna');
    const { csrf, manage } = await browser.session();
    assert.equal(manage, true);
    assert.ok(String([...browser.jar.values()]).length < 4_000);
    const send = (): Promise<Reply> =>
      browser.send('DELETE', '/api/v1/manage/destinations/crm', { 'x-csrf-token': csrf });
    assert.equal((await send()).status, 200);
    const claims = Buffer.from(given.at(-1)?.split('.')[1] ?? '', 'base64url').toString();
    assert.match(claims, /"sub":"anna"/);
    const { roles: told } = JSON.parse(claims) as { roles: readonly string[] };
    assert.equal(told.length, more.length + 1);
    const copy = new Map(browser.jar);
    await browser.submit('/logout', { csrf });
    for (const [name, value] of copy) browser.jar.set(name, value);
    assert.equal((await send()).status, 401);
  }
  assert.equal(given.length, 2);
  provider.claims = { roles: ['support'] };
  const viewer = new Browser(stand.url);
  await logIn(viewer, 'otto');
  assert.equal((await viewer.session()).manage, undefined);
  assert.doesNotMatch(
    String([...viewer.jar.values()]),
    /~/,
    'who only reads carries no credential',
  );
});
