import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { consoleTokens } from '../../../src/console/access/tokens.ts';
import { parseTokens } from '../../../src/http-api/tokens.ts';
import { eventually } from '../../harness/eventually.ts';
import { Browser, loggedIn, startStand, tokenEntry, tokensFile, twoTokens } from './stand.ts';

const hash = 'a'.repeat(64);

test('a file of tokens that is wrong is told with its line', () => {
  for (const [text, sentence] of [
    ['', 'tokens.yaml: holds no token'],
    ['- { name: a', /^tokens\.yaml:1: /],
    ['olga', 'tokens.yaml:1: each token is a map of name, role and sha256'],
    [
      `- name: a\n  role: admin\n  sha256: ${hash}`,
      'tokens.yaml:2: role: must be viewer or operator',
    ],
    [
      '- name: a\n  role: viewer\n  sha256: secret',
      'tokens.yaml:3: sha256: must be the SHA-256 of a token, 64 hexadecimal digits',
    ],
    [
      `- name: a\n  role: viewer\n  sha256: ${'1'.repeat(64)}`,
      'tokens.yaml:3: sha256: must be text, in quotes',
    ],
    [
      '- name: a\n  role: viewer\n  sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'tokens.yaml:3: sha256: is the SHA-256 of an empty text, which is no token',
    ],
    [`- name: ''\n  role: viewer\n  sha256: ${hash}`, 'tokens.yaml:1: name: must not be empty'],
    [
      `- name: a\n  role: viewer\n  token: x\n  sha256: ${hash}`,
      'tokens.yaml:3: token: unknown field; allowed: name, role, sha256',
    ],
    [
      tokenEntry('a', 'viewer') + tokenEntry('a', 'operator'),
      'tokens.yaml:2: name: a is there twice',
    ],
  ] as const)
    assert.throws(
      () => parseTokens(consoleTokens, 'tokens.yaml', text),
      {
        code: 'setting-invalid',
        message: sentence,
      },
      text,
    );
});

test('a program sends its token along, and needs nothing else', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const program = new Browser(stand.url);
  const as = (name: string): Record<string, string> => ({ authorization: `Bearer ${name}-token` });
  const read = await program.get('/api/v1/session', as('vera'));
  assert.match(read.text, /"user":"vera","role":"viewer"/);
  assert.deepEqual(read.setCookies, []);
  const path = '/api/v1/redrives';
  assert.equal((await program.post(path, as('vera'))).status, 403);
  assert.equal((await program.post(path, as('olga'))).status, 200);
  assert.equal((await program.get('/api/v1/session', as('nobody'))).status, 401);
});

test('a wrong token is not made up for by a cookie', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const browser = await loggedIn(stand, 'olga');
  const { csrf } = await browser.session();
  const headers = { authorization: 'Bearer x', 'x-csrf-token': csrf };
  assert.equal((await browser.post('/api/v1/redrives', headers)).status, 401);
  // A proxy's own password is none of ours.
  const basic = { authorization: 'Basic b2xnYTp4', 'x-csrf-token': csrf };
  assert.equal((await browser.post('/api/v1/redrives', basic)).status, 200);
});

test('after ten wrong tokens an address has to wait with wrong ones, and right ones come in from it', async (t) => {
  const said: string[] = [];
  const note = (_fields: object, message: string): void => void said.push(message);
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) }, { log });
  const guess = (token: string): Promise<{ status: number; text: string }> =>
    new Browser(stand.url).submit('/login', { token });
  for (let i = 0; i < 9; i += 1) assert.equal((await guess(`guess-${i}`)).status, 401);
  // A program whose token was taken away guesses nothing.
  for (let i = 0; i < 20; i += 1) assert.equal((await guess('guess-0')).status, 401);
  const program = new Browser(stand.url);
  const ask = async (token: string): Promise<number> =>
    (await program.get('/api/v1/session', { authorization: `Bearer ${token}` })).status;
  assert.equal(await ask('guess-9'), 401);
  const wrong = said.filter((each) => each === 'a wrong token was given to the console');
  assert.equal(wrong.length, 10, 'the same wrong token is in the log once');

  const eleventh = await guess('guess-10');
  assert.equal(eleventh.status, 429);
  assert.match(
    eleventh.text,
    /Too many wrong tokens came from your address; try again in ten minutes\./,
  );
  assert.equal(await ask('guess-11'), 429);
  assert.equal((await guess('olga-token')).status, 303);
  assert.equal(await ask('vera-token'), 200);

  stand.clock.forward(10 * 60_000);
  assert.equal((await guess('guess-12')).status, 401);
});

test('behind a proxy that writes ports, wrong tokens count for the address', async (t) => {
  const settings = { tokensFile: tokensFile(twoTokens) };
  const stand = await startStand(t, settings, { trustedProxies: ['127.0.0.1/32'] });
  const statusOf = async (n: number, address: string): Promise<number> => {
    const headers = { authorization: `Bearer wrong-${n}`, 'x-forwarded-for': address };
    return (await new Browser(stand.url).get('/api/v1/session', headers)).status;
  };
  for (let n = 0; n < 10; n += 1) assert.equal(await statusOf(n, `203.0.113.7:${5_000 + n}`), 401);
  assert.equal(await statusOf(10, '203.0.113.7:6000'), 429);
  assert.equal(await statusOf(11, '203.0.113.8:6000'), 401);
});

test('a token that is taken out of the file ends its sessions, and a wrong file changes nothing', async (t) => {
  const file = tokensFile(twoTokens);
  const said: string[] = [];
  const note = (_fields: object, message: string): void => void said.push(message);
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const stand = await startStand(t, { tokensFile: file }, { log });
  const [olga, vera] = [await loggedIn(stand, 'olga'), await loggedIn(stand, 'vera')];
  writeFileSync(file, 'not: [right');
  await eventually(async () => {
    assert.equal((await olga.get('/api/v1/session')).status, 200);
    assert.match(said.join('\n'), /tokens\.yaml:1: .*; what was read before stays in use$/m);
  });

  writeFileSync(file, tokenEntry('vera', 'operator') + tokenEntry('nils', 'viewer'));
  await eventually(async () => {
    assert.equal((await olga.get('/api/v1/session')).status, 401);
  });
  assert.equal((await vera.session()).role, 'operator');
  assert.equal((await (await loggedIn(stand, 'nils')).session()).role, 'viewer');
});

test('the form says what is wrong, and shows nothing that it was given as markup', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const browser = new Browser(stand.url);
  const wrong = await browser.submit('/login', {
    token: 'x',
    next: '/"><script>alert(1)</script>',
  });
  assert.equal(wrong.status, 401);
  assert.match(wrong.text, /This token is not known\./);
  assert.doesNotMatch(wrong.text, /<script|style=|onload/);
  assert.equal((await browser.submit('/login', {})).status, 400);
  const page = await browser.get('/login?next=%22%3E%3Cscript%3E');
  assert.doesNotMatch(page.text, /<script/);
  assert.match(page.text, /<label for="token">Token<\/label>/);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/);
  assert.equal((await browser.get('/login/style.css')).status, 200);
});

test('after a log-in one goes nowhere but to pages of this console', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const goesTo = async (next: string): Promise<unknown> =>
    (await new Browser(stand.url).submit('/login', { token: 'vera-token', next })).headers[
      'location'
    ];
  assert.equal(await goesTo('/destinations/crm?failed=true#x'), '/destinations/crm?failed=true#x');
  assert.equal(await goesTo('/login-times'), '/login-times');
  for (const elsewhere of [
    'https://evil.example/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    ' //evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/x/../..//evil.example',
    '/%2e/%2e%2e//evil.example',
    'javascript:alert(1)',
    'evil.example',
    '@evil.example',
    '/login',
    '/logout',
    '/l/x',
    '/api/v1/session',
    '',
  ])
    assert.equal(await goesTo(elsewhere), '/', JSON.stringify(elsewhere));
});
