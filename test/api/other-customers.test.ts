import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import fc from '../harness/fast-check.ts';
import { resourceRoutes } from './resource-stand.ts';
import { startApiStand, tokenEntry, tokensFile } from './stand.ts';

/** The caller is bound to acme. The others' ids are as near to it as ids can be. */
const others = ['acme2', 'acm', 'ACME', 'acme/links', '*'];
const theirIds = ['crm2', 'cr', 'crm-acme', 'other'];
const ownIds = ['crm', 'shop-acme'];

/** In everything of others, and in nothing that a request of this test has. */
const mark = 'hushhush';

const ids = [...ownIds, ...theirIds, 'new', 'platform', 'shop'];
const customers = ['acme', ...others, 'nobody'];

const id = fc.oneof(fc.constantFrom(...ownIds), fc.constantFrom(...ids));
const customer = fc.constantFrom(...customers);
const written = fc.oneof(
  { weight: 5, arbitrary: fc.constant((text: string) => encodeURIComponent(text)) },
  fc.constantFrom(
    (text: string) => `${encodeURIComponent(text)}/`,
    (text: string) => `./${encodeURIComponent(text)}`,
    (text: string) => `crm%2F..%2F${encodeURIComponent(text)}`,
    (text: string) => `${encodeURIComponent(text)}%00`,
    (text: string) => `${encodeURIComponent(text)}?id=${encodeURIComponent(text)}`,
  ),
);

const route = fc.constantFrom(
  ...['GET', 'PUT', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, '/destinations/ID']),
  ...['test', 'retry', 'pause', 'resume', 'redrive', 'secret'].map((what) => [
    'POST',
    `/destinations/ID/${what}`,
  ]),
  ['GET', '/destinations'],
  ['GET', '/sources/ID'],
  ['PUT', '/sources/ID'],
  ['GET', '/sources'],
  ['GET', '/customers/CUSTOMER/links'],
  ['POST', '/customers/CUSTOMER/links'],
  ['POST', '/customers/CUSTOMER/redrive'],
  ['POST', '/links/LINK/revoke'],
  ['GET', '/runs/RUN'],
  ['POST', '/users/ID/delete'],
  ['POST', '/users/ID/suppress'],
  ['GET', '/../v1/destinations/ID'],
);
const anyMethod = fc.constantFrom('GET', 'PUT', 'PATCH', 'POST', 'DELETE');

const target = fc
  .tuple(route, fc.option(anyMethod, { freq: 8 }), id, customer, written)
  .map(([[usual = '', template = ''], other, oneId, oneCustomer, write]) => ({
    method: other ?? usual,
    path: template.replace('ID', write(oneId)).replace('CUSTOMER', write(oneCustomer)),
  }));

const someQuery = fc.dictionary(
  fc.constantFrom('customer', 'customers', 'id', 'cursor', 'limit', 'dryRun', 'scope', 'state'),
  fc.oneof(
    customer,
    id,
    fc.constantFrom('true', '500', '*', '__proto__', Buffer.from('["cr"]').toString('base64url')),
  ),
  { maxKeys: 3 },
);

const query = fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, someQuery);

const fields = fc.dictionary(
  fc.constantFrom(
    ...['name', 'customer', 'customers', 'id', 'uid', 'managedBy', 'kind', 'destination'],
    ...['user', 'places', 'all', 'manage', 'expires', 'bodies', 'dryRun', 'sources', 'webhooks'],
    ...['enabled', 'topic', 'scopes', '__proto__', 'constructor', 'source', 'since', 'rate'],
  ),
  fc.oneof(
    customer,
    id,
    fc.constantFrom<unknown>(
      ...[true, null, 'files', 'api', '7d', ['shop'], [], ['0:0'], '*', 'dedicated', '1/h'],
      [{ url: 'https://mine.example.com' }],
      ['acme', 'acme2'],
      { acme2: true },
    ),
  ),
  { maxKeys: 5 },
);

const mine = {
  name: 'Mine',
  sources: ['shop'],
  webhooks: [{ url: 'https://mine.example.com' }],
} as const;

const body = fc.oneof(
  fc.constant(undefined),
  fields,
  fc.constantFrom(mine, { ...mine, customer: 'acme' }, { manage: true }, {}),
  fields.map((more) => ({ ...mine, ...more })),
  fc.array(fields, { maxLength: 2 }),
);

const someHeaders = fc.dictionary(
  fc.constantFrom(
    ...['x-customer', 'x-postrider-link', 'x-http-method-override', 'x-forwarded-for', 'host'],
    ...['if-match', 'if-none-match', 'content-type', 'origin', 'cookie', 'x-original-url'],
  ),
  fc.oneof(
    customer,
    fc.constantFrom('*', 'DELETE', '127.0.0.1', 'application/json', '/v1/destinations/cr'),
    fc.constant('application/merge-patch+json'),
  ),
  { maxKeys: 3 },
);

const headers = fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, someHeaders);

const request = fc.record({
  target,
  query,
  body,
  headers,
  as: fc.constantFrom('token', 'reader', 'manager'),
});

test('nothing that a caller bound to a customer sends reads or changes anything of another customer', async (t) => {
  const { stand, routes } = resourceRoutes();
  const api = await startApiStand(
    t,
    {
      tokensFile: tokensFile(
        tokenEntry('shop', 'scopes: [read, write, operate]\n  customers: [acme]') +
          tokenEntry('all', 'scopes: [read, write, operate]'),
      ),
      rateLimit: 100_000,
    },
    routes,
  );
  const { server, clock, links } = api;
  const tokens: Readonly<Record<string, string>> = {
    token: 'shop-token',
    reader: api.linkTo('acme', { lastsMs: 1e12 }),
    manager: api.linkTo('acme', { manage: true, lastsMs: 1e12 }),
  };
  const [theirLink = ''] = others.map((each) => {
    api.linkTo(each, { manage: true, lastsMs: 1e12 });
    return links.working(0, each)[0]?.id ?? '';
  });
  const linksBefore = JSON.stringify(others.map((each) => links.working(0, each)));
  stand.put(exampleSource());
  for (const [at, theirId] of [...theirIds, 'platform'].entries())
    stand.put(
      exampleDestination({
        id: theirId,
        name: mark,
        ...(theirId === 'platform' ? {} : { customer: others[at] }),
        managedBy: 'api',
        webhooks: [{ url: `https://${mark}.example.com` }],
      }),
    );
  const begin = await server.inject({
    method: 'POST',
    url: '/v1/destinations/cr/redrive',
    headers: { authorization: 'Bearer all-token' },
  });
  const { id: theirRun } = begin.json<{ readonly id: string }>();
  const theirs = (): string =>
    JSON.stringify([...stand.config].filter(([, value]) => value.includes(mark)));
  const before = theirs();
  assert.match(before, /platform/);
  stand.operated.length = 0;
  await fc.assert(
    fc.asyncProperty(request, async (asked) => {
      for (const [key, value] of stand.config)
        if (key !== 'Source/shop' && !value.includes(mark)) stand.remove(key);
      for (const own of ownIds)
        stand.put(exampleDestination({ id: own, customer: 'acme', managedBy: 'api' }));
      clock.forward(2_000);
      [stand.operated, stand.audit, stand.sent, stand.chosen].forEach((list) => {
        list.length = 0;
      });
      const url = asked.target.path.replace('LINK', theirLink).replace('RUN', theirRun);
      const options: InjectOptions = {
        method: asked.target.method,
        url: `/v1${url}`,
        query: asked.query,
        headers: { ...asked.headers, authorization: `Bearer ${tokens[asked.as] ?? ''}` },
        ...(asked.body === undefined ? {} : { payload: asked.body }),
      };
      const { statusCode, payload } = await server.inject(options);
      assert.ok(statusCode < 500 || statusCode === 503, `${statusCode}: ${payload}`);
      assert.ok(!payload.includes(mark), payload);
      assert.equal(theirs(), before);
      assert.equal(JSON.stringify(others.map((each) => links.working(0, each))), linksBefore);
      for (const what of stand.operated)
        assert.match(what, /^\w+ (crm|shop-acme)$|^(redrive|count) acme$/);
      for (const { destination, customer: whose } of stand.chosen)
        assert.ok(whose === undefined ? ownIds.includes(destination ?? '') : whose === 'acme');
      for (const [key, value] of stand.config)
        if (key.startsWith('Destination/') && !value.includes(mark))
          assert.equal((JSON.parse(value) as { customer?: string }).customer, 'acme', value);
      for (const { topic, value, key } of stand.sent.filter((each) => each.topic === 'links')) {
        const link = JSON.parse(value?.toString() ?? 'null') as { customer: string } | null;
        assert.equal(asked.as, 'token', `${topic} ${key?.toString() ?? ''}`);
        assert.equal(link?.customer, 'acme');
      }
    }),
    { numRuns: 1_500 },
  );
  // It would hold as well if nothing was ever allowed.
  const allowed = async (
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    payload: object = {},
  ): Promise<number> => {
    const authorization = `Bearer ${tokens['token'] ?? ''}`;
    const url = `/v1${path}`;
    return (await server.inject({ method, url, payload, headers: { authorization } })).statusCode;
  };
  stand.remove('Destination/new');
  assert.equal(await allowed('PUT', '/destinations/new', mine), 201);
  assert.equal(await allowed('GET', '/destinations/new'), 200);
  assert.equal(await allowed('POST', '/destinations/crm/pause'), 200);
  assert.equal(await allowed('POST', '/destinations/crm/redrive'), 202);
  assert.equal(await allowed('POST', '/customers/acme/redrive'), 202);
  assert.equal(await allowed('POST', '/customers/acme/links', { manage: true }), 201);
  assert.equal(await allowed('DELETE', '/destinations/new'), 204);
});
