import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { createAccess } from '../../../src/api/access/access.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { CustomersLinks } from '../../../src/resources/customers/links.ts';
import { eventually } from '../../harness/eventually.ts';
import { startApiStand, tokenEntry, tokensFile } from '../stand.ts';

const twoTokens = [
  tokenEntry('shop', 'scopes: [read, write]\n  customers: [acme, globex]'),
  tokenEntry('ines', 'scopes: [read, write, operate]'),
].join('');

test('a token gives its scopes and its customers, and without one nobody is let in', async (t) => {
  const { ask } = await startApiStand(t, { tokensFile: tokensFile(twoTokens) });
  const shop = await ask('/v1/may/read', { token: 'shop-token' });
  assert.deepEqual(shop.json, {
    user: 'shop',
    scopes: ['read', 'write'],
    customers: ['acme', 'globex'],
  });
  const none = await ask('/v1/may/read');
  assert.equal(none.status, 401);
  assert.equal(none.headers.get('www-authenticate'), 'Bearer');
  assert.equal(none.headers.get('content-type'), 'application/problem+json');
  const wrong = await ask('/v1/may/read', { token: 'sho-token' });
  assert.equal(wrong.status, 401);
  assert.equal(wrong.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  const basic = await ask('/v1/may/read', { headers: { authorization: 'Basic c2hvcDp0b2tlbg==' } });
  assert.equal(basic.status, 401);
  assert.equal((await ask('/v1/openapi.json')).status, 401);
});

test('a token without the scope is told which one it needs', async (t) => {
  const { ask } = await startApiStand(t, { tokensFile: tokensFile(twoTokens) });
  const { status, detail, headers } = await ask('/v1/may/operate', { token: 'shop-token' });
  assert.equal(status, 403);
  assert.equal(detail, 'This needs the scope operate, which your token does not have.');
  assert.equal(
    headers.get('www-authenticate'),
    'Bearer error="insufficient_scope", scope="operate"',
  );
});

test('a token that is taken from the file lets nobody in any more', async (t) => {
  const file = tokensFile(twoTokens);
  const { ask } = await startApiStand(t, { tokensFile: file });
  const asInes = async (): Promise<number> =>
    (await ask('/v1/may/read', { token: 'ines-token' })).status;
  assert.equal(await asInes(), 200);
  writeFileSync(file, tokenEntry('shop', 'scopes: [read]'));
  await eventually(async () => {
    assert.equal(await asInes(), 401);
  });
});

test('whoever guesses tokens is told to wait, and a right token goes on working there', async (t) => {
  const { ask } = await startApiStand(t, { tokensFile: tokensFile(twoTokens) });
  for (let guess = 0; guess < 10; guess += 1)
    assert.equal((await ask('/v1/may/read', { token: `guess-${guess}` })).status, 401);
  assert.equal((await ask('/v1/may/read', { token: 'guess-11' })).status, 429);
  assert.equal((await ask('/v1/may/read', { token: 'shop-token' })).status, 200);
});

test('a thousand requests in a second are too many for one caller, and hold up no other', async (t) => {
  const { ask, clock } = await startApiStand(t, {
    tokensFile: tokensFile(twoTokens),
    rateLimit: 50,
  });
  const token = 'shop-token';
  const statuses: number[] = [];
  while (statuses.length < 1_000) {
    // One client may have 256 connections.
    const some = Array.from({ length: 100 }, () => ask('/v1/may/read', { token }));
    statuses.push(...(await Promise.all(some)).map(({ status }) => status));
  }
  assert.equal(statuses.filter((status) => status === 200).length, 50);
  assert.equal(statuses.filter((status) => status === 429).length, 950);
  const refused = await ask('/v1/may/read', { token });
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.match(refused.detail, /You may send 50\/s \(API_RATE_LIMIT\)/);
  assert.equal((await ask('/v1/may/read', { token: 'ines-token' })).status, 200);
  clock.forward(1_000);
  assert.equal((await ask('/v1/may/read', { token })).status, 200);
});

test("a customer's link lets in for its customer until it ends, and manages only if it says so", async (t) => {
  const { ask, linkTo, links, clock } = await startApiStand(t, {
    tokensFile: tokensFile(twoTokens),
  });
  const token = linkTo('acme', { lastsMs: 60_000 });
  const { json } = await ask('/v1/may/read', { token });
  const { linkId } = json as { readonly linkId: string };
  assert.deepEqual(json, {
    user: `link ${linkId}`,
    scopes: ['read'],
    customers: ['acme'],
    linkId,
  });
  const write = await ask('/v1/may/write', { token });
  assert.equal(write.status, 403);
  assert.equal(write.detail, 'This needs the scope write, which this link does not have.');
  const manager = linkTo('acme', { manage: true });
  assert.equal((await ask('/v1/may/operate', { token: manager })).status, 200);
  // Its id, its hash or its beginning is no token.
  for (const other of [linkId, `prl_${linkId}`, token.slice(0, -1), `${token}A`, 'prl_'])
    assert.equal((await ask('/v1/may/read', { token: other })).status, 401, other);
  links.remove(linkId);
  const revoked = await ask('/v1/may/read', { token });
  assert.equal(revoked.status, 401);
  assert.match(revoked.detail, /revoked, has expired, or was never made/);
  clock.forward(60_000);
  assert.equal((await ask('/v1/may/read', { token: manager })).status, 401);
});

test('each link has a limit of its own', async (t) => {
  const { ask, linkTo } = await startApiStand(t, {
    tokensFile: tokensFile(twoTokens),
    rateLimit: 1,
  });
  const [one, other] = [linkTo('acme'), linkTo('acme')];
  assert.equal((await ask('/v1/may/read', { token: one })).status, 200);
  assert.equal((await ask('/v1/may/read', { token: one })).status, 429);
  assert.equal((await ask('/v1/may/read', { token: other })).status, 200);
});

test('without tokens, everybody on loopback may do everything, but a link is bound all the same', async (t) => {
  const { ask, linkTo } = await startApiStand(t, {});
  assert.deepEqual((await ask('/v1/may/operate')).json, {
    user: 'local',
    scopes: ['read', 'write', 'operate'],
  });
  assert.deepEqual((await ask('/v1/may/read', { token: linkTo('acme') })).json['customers'], [
    'acme',
  ]);
  assert.equal((await ask('/v1/may/read', { token: 'prl_wrong' })).status, 401);
  assert.equal((await ask('/v1/may/read', { token: 'anything' })).status, 401);
});

test('without tokens, it listens nowhere but on loopback', () => {
  const settings = { host: '0.0.0.0', tokensFile: undefined, oidc: undefined, rateLimit: 100 };
  const deps = { log: silentLogger, clock: systemClock, links: () => new CustomersLinks() };
  assert.throws(() => createAccess(settings, deps), {
    code: 'setting-invalid',
    message: /API_HOST is 0\.0\.0\.0.*set API_TOKENS_FILE or API_OIDC_ISSUER/,
  });
});
