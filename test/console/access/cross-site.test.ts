import assert from 'node:assert/strict';
import { test } from 'node:test';
import { provenance } from '../../../src/console/access/sessions.ts';
import { Browser, loggedIn, startStand, tokenEntry, tokensFile, twoTokens } from './stand.ts';

const pause = '/api/v1/destinations/crm/pause';

test('an operator may, and a viewer may not', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const operator = await loggedIn(stand, 'olga');
  const viewer = await loggedIn(stand, 'vera');
  const asViewer = { 'x-csrf-token': (await viewer.session()).csrf };
  const refused = await viewer.post(pause, asViewer);
  assert.equal(refused.status, 403);
  assert.equal(refused.headers['content-type'], 'application/problem+json');
  assert.match(refused.text, /Only operators may do this; you are a viewer\./);
  assert.deepEqual(stand.done, []);

  const { status } = await operator.post(pause, {
    'x-csrf-token': (await operator.session()).csrf,
  });
  assert.deepEqual([status, stand.done], [200, [pause]]);
});

test('a POST needs the token of its own session', async (t) => {
  const both = tokenEntry('olga', 'operator') + tokenEntry('otto', 'operator');
  const stand = await startStand(t, { tokensFile: tokensFile(both) });
  const browser = await loggedIn(stand, 'olga');
  const { csrf } = await browser.session();
  const ofAnother = (await (await loggedIn(stand, 'otto')).session()).csrf;
  const ofBefore = (await (await loggedIn(stand, 'olga')).session()).csrf;
  for (const [how, headers] of Object.entries({
    missing: {},
    empty: { 'x-csrf-token': '' },
    wrong: { 'x-csrf-token': `${csrf}x` },
    "another person's": { 'x-csrf-token': ofAnother },
    'another session of the same person': { 'x-csrf-token': ofBefore },
  })) {
    const { status, text } = await browser.post(pause, headers);
    assert.equal(status, 403, how);
    assert.match(text, /x-csrf-token is missing or wrong/);
  }
  assert.deepEqual(stand.done, []);
});

test('a POST of another site is refused even with the right token', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  const browser = await loggedIn(stand, 'olga');
  const { csrf } = await browser.session();
  for (const headers of [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    // The same machine, another program.
    { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' },
  ])
    assert.equal(
      (await browser.post(pause, { 'x-csrf-token': csrf, ...headers })).status,
      403,
      JSON.stringify(headers),
    );
  assert.deepEqual(stand.done, []);
});

test('behind a proxy that hides the name, the public address counts', () => {
  const here = { host: 'console.internal:8081', fetchSite: undefined };
  const at = (origin: string): string =>
    provenance({ ...here, origin }, 'https://console.shop.example');
  assert.equal(at('https://console.shop.example'), 'own');
  assert.equal(at('http://console.internal:8081'), 'own');
  assert.equal(at('https://shop.example'), 'elsewhere');
  assert.equal(at('https://console.shop.example.evil.example'), 'elsewhere');
  assert.equal(at('null'), 'elsewhere');
  assert.equal(at('not a URL'), 'elsewhere');
});

test('where nobody logs in, another page on this machine can do nothing all the same', async (t) => {
  const stand = await startStand(t);
  const browser = new Browser(stand.url);
  const { isOpen, role, csrf } = await browser.session();
  assert.deepEqual([isOpen, role], [true, 'operator']);
  const blind = await browser.post(pause, { 'content-type': 'text/plain' });
  const wrong = await browser.post(pause, { 'x-csrf-token': 'x' });
  const elsewhere = await browser.post(pause, {
    'x-csrf-token': csrf,
    origin: 'http://evil.example',
  });
  assert.deepEqual(
    [blind, wrong, elsewhere].map(({ status }) => status),
    [403, 403, 403],
  );
  const rebound = await browser.get('/api/v1/session', { host: 'evil.example' });
  assert.equal(rebound.status, 421);
  assert.deepEqual(stand.done, []);
  assert.equal((await browser.post(pause, { 'x-csrf-token': csrf })).status, 200);
});

test('a form of another site logs nobody in', async (t) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  for (const headers of [
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
  ]) {
    const answer = await new Browser(stand.url).submit('/login', { token: 'vera-token' }, headers);
    assert.deepEqual([answer.status, answer.setCookies], [403, []]);
    assert.match(answer.text, /did not come from this console/);
  }
});
