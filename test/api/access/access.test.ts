import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { createAccess } from '../../../src/api/access/access.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { CustomersLinks } from '../../../src/resources/customers/links.ts';
import { eventually } from '../../harness/eventually.ts';
import { exampleSource } from '../../resources/examples.ts';
import { resourceRoutes } from '../resource-stand.ts';
import { startApiStand, tokenEntry, tokensFile, type Answered } from '../stand.ts';

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

test('of a thousand writes in a second, those beyond the limit are refused whole, and others write meanwhile', async (t) => {
  const { stand, routes } = resourceRoutes();
  const settings = { tokensFile: tokensFile(twoTokens), rateLimit: 50 };
  const { ask, clock } = await startApiStand(t, settings, routes);
  stand.put(exampleSource());
  const write = (token: string, id: string, more: object = {}): Promise<Answered> => {
    const body = { name: id, sources: ['shop'], webhooks: [{ url: 'https://a.example' }], ...more };
    return ask(`/v1/destinations/${id}`, { method: 'PUT', token, body });
  };
  const written: string[] = [];
  let refused = 0;
  for (let round = 0; round < 10; round += 1) {
    // One client may have 256 connections.
    const ids = Array.from({ length: 100 }, (_, index) => `flood-${round}-${index}`);
    const [other, ...answers] = await Promise.all([
      write('shop-token', `other-${round}`, { customer: 'acme' }),
      ...ids.map((id) => write('ines-token', id)),
    ]);
    assert.equal(other.status, 201, other.detail);
    for (const [index, { status, headers, detail }] of answers.entries())
      if (status === 201) written.push(ids[index] ?? '');
      else {
        refused += 1;
        assert.equal(status, 429);
        assert.equal(headers.get('retry-after'), '1');
        assert.match(detail, /You may send 50\/s \(API_RATE_LIMIT\)/);
      }
  }
  assert.deepEqual([written.length, refused], [50, 950]);
  const others = Array.from({ length: 10 }, (_, round) => `other-${round}`);
  const stored = [...stand.config.keys()].filter((key) => key.startsWith('Destination/'));
  const expected = [...written, ...others].toSorted();
  assert.deepEqual(stored.map((key) => key.slice('Destination/'.length)).toSorted(), expected);
  // Not even the audit has the others.
  assert.deepEqual(stand.audit.map(({ destination }) => destination).toSorted(), expected);
  clock.forward(1_000);
  assert.equal((await write('ines-token', 'later')).status, 201);
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
