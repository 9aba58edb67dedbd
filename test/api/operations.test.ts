import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { eventually } from '../harness/eventually.ts';
import { resourceRoutes, type ResourceStand } from './resource-stand.ts';
import { startApiStand, tokenEntry, tokensFile, type ApiStand } from './stand.ts';

const tokens = [
  tokenEntry('ines', 'scopes: [read, write, operate]'),
  tokenEntry('shop', 'scopes: [read, write, operate]\n  customers: [acme]'),
  tokenEntry('writer', 'scopes: [read, write]'),
].join('');

interface Stand extends ApiStand, Omit<ResourceStand, 'failure' | 'until'> {
  readonly fails: (error: Error) => void;
  /** Returns the end of what lasts from now on. */
  readonly lasts: () => () => void;
}

async function start(t: TestContext): Promise<Stand> {
  const { stand, routes } = resourceRoutes();
  const api = await startApiStand(t, { tokensFile: tokensFile(tokens) }, routes);
  stand.put(exampleSource());
  stand.put(exampleDestination({ id: 'crm', customer: 'acme', managedBy: 'api' }));
  stand.put(exampleDestination({ id: 'filed', customer: 'globex' }));
  return {
    ...api,
    ...stand,
    fails: (error) => {
      stand.failure = error;
    },
    lasts: () => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      stand.until = promise;
      return () => {
        resolve(undefined);
      };
    },
  };
}

const [ines, shop] = [
  { method: 'POST', token: 'ines-token' },
  { method: 'POST', token: 'shop-token' },
];

test('what is done about a destination is in the audit before it is done', async (t) => {
  const { ask, operated, audit } = await start(t);
  for (const action of ['test', 'pause'])
    assert.equal((await ask(`/v1/destinations/filed/${action}`, ines)).status, 200);
  assert.deepEqual(operated, ['test filed', 'pause filed']);
  assert.deepEqual(audit, [
    { user: 'ines', via: 'api', action: 'send-test', destination: 'filed' },
    { user: 'ines', via: 'api', action: 'pause', destination: 'filed' },
  ]);
});

test('a destination gets one test a second, whoever sends them', async (t) => {
  const { ask, clock } = await start(t);
  assert.equal((await ask('/v1/destinations/crm/test', ines)).status, 200);
  const { status, headers } = await ask('/v1/destinations/crm/test', shop);
  assert.equal(status, 429);
  assert.equal(headers.get('retry-after'), '1');
  clock.forward(1_000);
  assert.equal((await ask('/v1/destinations/crm/test', shop)).status, 200);
});

test('dead letters are sent again in a run, which tells how far it is and how it ended', async (t) => {
  const { ask, chosen, audit, operated } = await start(t);
  const body = { reason: 'http-503', since: '2026-01-31T12:00:00Z' };
  const begun = await ask('/v1/destinations/crm/redrive', { ...ines, body });
  assert.equal(begun.status, 202);
  assert.deepEqual(chosen, [{ ...body, destination: 'crm' }]);
  const path = `/v1/runs/${begun.json['id'] as string}`;
  await eventually(async () => {
    const { json } = await ask(path, { token: 'ines-token' });
    assert.deepEqual(json, {
      id: begun.json['id'],
      state: 'done',
      found: 1,
      sent: 1,
      detail: 'left out for an operator to read',
    });
  });
  assert.deepEqual(operated, ['redrive crm']);
  const [first, last] = audit;
  assert.deepEqual(first, {
    user: 'ines',
    via: 'api',
    action: 'redrive',
    destination: 'crm',
    customer: 'acme',
    isRun: true,
    detail: 'reason http-503, since 2026-01-31T12:00:00Z',
  });
  assert.equal(last?.began, begun.json['id']);
});

test('a dry run counts, answers at once, and leaves the audit alone', async (t) => {
  const { ask, audit, operated } = await start(t);
  for (const asked of [{ body: { dryRun: true } }, { path: '?dryRun=true' }] as const) {
    const path = `/v1/destinations/crm/redrive${'path' in asked ? asked.path : ''}`;
    const { status, json } = await ask(path, { ...shop, ...asked });
    assert.equal(status, 200);
    assert.deepEqual([json['state'], json['found'], json['sent']], ['done', 1, 0]);
  }
  assert.deepEqual(audit, []);
  assert.deepEqual(operated, ['count crm', 'count crm']);
});

test('the dead letters of all destinations of a customer are sent again in one run, which only they and operators see', async (t) => {
  const { ask, put, remove, linkTo, chosen, audit, operated } = await start(t);
  put(exampleDestination({ id: 'dwh', customer: 'acme' }));
  const counted = await ask('/v1/customers/acme/redrive?dryRun=true', shop);
  assert.deepEqual([counted.status, counted.json['found']], [200, 1]);
  const body = { reason: 'http-503', until: '2026-01-31T12:00:00Z' };
  const begun = await ask('/v1/customers/acme/redrive', { ...shop, body });
  assert.equal(begun.status, 202);
  assert.deepEqual(chosen, [{ customer: 'acme' }, { ...body, customer: 'acme' }]);
  assert.deepEqual(audit[0], {
    user: 'shop',
    via: 'api',
    action: 'redrive',
    customer: 'acme',
    destinations: ['crm', 'dwh'],
    isRun: true,
    detail: 'customer acme, reason http-503, until 2026-01-31T12:00:00Z',
  });
  const path = `/v1/runs/${begun.json['id'] as string}`;
  await eventually(async () => {
    const { json } = await ask(path, { token: 'shop-token' });
    assert.deepEqual(json, { id: begun.json['id'], state: 'done', found: 1, sent: 1 });
  });
  assert.deepEqual(operated, ['count acme', 'redrive acme']);
  assert.equal((await ask(path, { token: linkTo('globex') })).status, 404);
  // It stays theirs, whatever becomes of its destinations.
  remove('Destination/crm');
  put(exampleDestination({ id: 'dwh', customer: 'globex' }));
  for (const token of ['shop-token', 'ines-token'])
    assert.equal((await ask(path, { token })).status, 200);
  assert.equal((await ask(path, { token: linkTo('globex') })).status, 404);
});

test('a run is for the customer whom the audit names, else for whoever has all of its destinations', async (t) => {
  const { ask, told, put, remove, linkTo } = await start(t);
  put(exampleDestination({ id: 'dwh', customer: 'acme' }));
  const run = { at: '', user: 'ines', action: 'redrive', isRun: true } as const;
  told.apply({ ...run, id: 'many', customer: 'acme' });
  told.apply({ ...run, id: 'one', destination: 'crm' });
  told.apply({ ...run, id: 'two', destinations: ['crm', 'dwh'] });
  told.apply({ ...run, id: 'mixed', destinations: ['crm', 'filed'] });
  told.apply({ ...run, id: 'all' });
  const seenBy = async (token: string): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (const id of ['many', 'one', 'two', 'mixed', 'all'])
      if ((await ask(`/v1/runs/${id}`, { token })).status === 200) seen.push(id);
    return seen;
  };
  assert.deepEqual(await seenBy('shop-token'), ['many', 'one', 'two']);
  assert.deepEqual(await seenBy(linkTo('globex')), []);
  assert.deepEqual(await seenBy('ines-token'), ['many', 'one', 'two', 'mixed', 'all']);
  // The id may be another customer's by now.
  remove('Destination/dwh');
  assert.deepEqual(await seenBy('shop-token'), ['many', 'one']);
});

test('the audit does not name more destinations than Kafka takes in a record', async (t) => {
  const { ask, put, audit } = await start(t);
  for (let at = 0; at < 2_000; at += 1)
    put(exampleDestination({ id: `many-${at}`, customer: 'acme' }));
  assert.equal((await ask('/v1/customers/acme/redrive', ines)).status, 202);
  const { customer, destination, destinations } = audit[0] ?? {};
  assert.deepEqual([customer, destination, destinations], ['acme', undefined, undefined]);
});

test('a customer is sent the dead letters of no other customer again, and sets no pace', async (t) => {
  const { ask, linkTo, chosen } = await start(t);
  const refused = async (customer: string, token: string, body?: object): Promise<string> => {
    const path = `/v1/customers/${encodeURIComponent(customer)}/redrive`;
    const { status, detail } = await ask(path, { method: 'POST', token, body });
    return `${status} ${detail}`;
  };
  for (const token of ['shop-token', linkTo('acme', { manage: true })])
    for (const customer of ['globex', 'nobody', 'acm', 'ACME', 'acme '])
      assert.equal(await refused(customer, token), `404 There is no customer ${customer} for you.`);
  assert.match(await refused('acme', linkTo('acme')), /^403 .* scope operate/);
  assert.match(await refused('acme', 'shop-token', { rate: '1/h' }), /^403 The rate is not/);
  for (const field of ['customer', 'destination', 'places'])
    assert.match(
      await refused('acme', 'shop-token', { [field]: 'globex' }),
      new RegExp(`^400 ${field} is no parameter`),
    );
  assert.equal(await refused('nobody', 'ines-token'), '404 Customer nobody has no destination.');
  assert.deepEqual(chosen, []);
});

test('a customer is not told what operators are told of a run, nor of a failure', async (t) => {
  const { ask, fails } = await start(t);
  const begun = await ask('/v1/destinations/crm/resume', shop);
  assert.equal(begun.status, 202);
  const path = `/v1/runs/${begun.json['id'] as string}`;
  await eventually(async () => {
    const { json } = await ask(path, { token: 'shop-token' });
    assert.deepEqual(json, { id: begun.json['id'], state: 'done', found: 0, sent: 0 });
  });
  fails(new PostriderError('not-found', 'there is no destination crm; did you mean filed?'));
  const gone = await ask('/v1/destinations/crm/pause', shop);
  assert.equal(gone.status, 404);
  assert.equal(gone.detail, 'There is no destination crm.');
  fails(new PostriderError('kafka-refused', 'the topic events.globex is missing'));
  const failed = await ask('/v1/destinations/crm/pause', shop);
  assert.equal(failed.status, 503);
  assert.equal(failed.detail, 'This cannot be done now; try again later.');
  const run = await ask('/v1/destinations/crm/redrive', shop);
  await eventually(async () => {
    const { json } = await ask(`/v1/runs/${run.json['id'] as string}`, { token: 'shop-token' });
    assert.equal(json['detail'], 'It failed; try again later.');
  });
});

test('a customer whose count fails is told to try again, and operators are told why', async (t) => {
  const { ask, fails } = await start(t);
  fails(new PostriderError('not-found', 'topic postrider.delivery.crm does not exist'));
  const path = '/v1/destinations/crm/redrive?dryRun=true';
  const refused = await ask(path, shop);
  assert.deepEqual(
    [refused.status, refused.detail, refused.headers.get('retry-after')],
    [503, 'This cannot be done now; try again later.', '10'],
  );
  const { status, json } = await ask(path, ines);
  assert.deepEqual(
    [status, json['state'], json['detail']],
    [200, 'failed', 'topic postrider.delivery.crm does not exist'],
  );
});

test('of one customer one count runs at a time, and operators and others count meanwhile', async (t) => {
  const { ask, lasts, operated } = await start(t);
  const end = lasts();
  t.after(end);
  const path = '/v1/destinations/crm/redrive?dryRun=true';
  const both = [ask(path, shop), ask('/v1/customers/acme/redrive?dryRun=true', shop)];
  const refused = await Promise.race(both);
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1']);
  const other = ask(path, ines);
  await eventually(() => {
    assert.equal(operated.length, 2);
  });
  end();
  assert.equal((await other).status, 200);
  assert.deepEqual((await Promise.all(both)).map(({ status }) => status).toSorted(), [200, 429]);
  assert.equal((await ask(path, shop)).status, 200);
});

test('a customer cannot take the place of all runs', async (t) => {
  const { ask, lasts } = await start(t);
  const end = lasts();
  t.after(end);
  const many = Array.from({ length: 20 }, () => ask('/v1/destinations/crm/resume', shop));
  const answers = await Promise.all(many);
  assert.equal(answers.filter(({ status }) => status === 202).length, 4);
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 16);
  assert.equal(refused[0]?.headers.get('retry-after'), '10');
  assert.equal((await ask('/v1/destinations/filed/resume', ines)).status, 202);
  end();
  // What has ended makes room.
  await eventually(async () => {
    assert.equal((await ask('/v1/destinations/crm/resume', shop)).status, 202);
  });
});

test('what is not for customers is refused, and what is not a parameter is named', async (t) => {
  const { ask, operated } = await start(t);
  const refused = async (path: string, body?: object): Promise<string> => {
    const { status, detail } = await ask(`/v1${path}`, { ...shop, body });
    return `${status} ${detail}`;
  };
  assert.match(
    await refused('/destinations/crm/redrive', { rate: '1/h' }),
    /^403 The rate is not for customers/,
  );
  assert.match(await refused('/users/u1/delete'), /^403 This concerns all customers/);
  assert.match(await refused('/users/u1/suppress'), /^403 This concerns all customers/);
  assert.match(
    await refused('/destinations/crm/redrive', { destination: 'filed' }),
    /^400 destination is no parameter of this request/,
  );
  assert.match(
    await refused('/destinations/crm/redrive', { places: ['0:1'] }),
    /^400 places is no parameter/,
  );
  assert.match(
    await refused('/destinations/crm/redrive', { since: 'yesterday' }),
    /^400 since; allowed: a time in ISO 8601/,
  );
  assert.match(await refused('/destinations/filed/pause'), /^404 There is no destination filed\.$/);
  const writer = await ask('/v1/destinations/crm/pause', { method: 'POST', token: 'writer-token' });
  assert.equal(writer.status, 403);
  assert.match(writer.detail, /scope operate/);
  assert.deepEqual(operated, []);
});

test('a parameter that a route does not know is refused, and nothing is done', async (t) => {
  const { ask, operated, audit } = await start(t);
  for (const action of ['test', 'retry', 'pause', 'resume', 'secret']) {
    const { status, detail } = await ask(`/v1/destinations/crm/${action}?dryRun=true`, ines);
    assert.deepEqual([status, detail], [400, 'dryRun is no parameter of this request.'], action);
  }
  assert.deepEqual([operated, audit], [[], []]);
  const unreadable = await ask('/v1/destinations/%E0%A4%A', ines);
  assert.equal(unreadable.status, 400);
  assert.equal(unreadable.headers.get('content-type'), 'application/problem+json');
  assert.match(unreadable.detail, /address of the request is not a valid one/);
});

test('a small body that would cost much is refused before anything looks at it', async (t) => {
  const { ask, server } = await start(t);
  const deep = `{"filter":${'['.repeat(65)}${']'.repeat(65)}}`;
  for (const [payload, detail] of [
    [deep, 'The body is nested deeper than 64 levels.'],
    [
      deep.replaceAll('[', '['.repeat(1_500)).replaceAll(']', ']'.repeat(1_500)),
      'The body is nested deeper than 64 levels.',
    ],
    [JSON.stringify({ eventNames: Array(6_000).fill('a') }), 'The body has more than 6000 values.'],
  ] as const) {
    const headers = { authorization: 'Bearer shop-token', 'content-type': 'application/json' };
    const url = '/v1/destinations/crm';
    const answer = await server.inject({ method: 'PATCH', url, headers, payload });
    assert.equal(answer.statusCode, 400);
    assert.equal(answer.json<{ readonly detail: string }>().detail, detail);
  }
  const texts = (count: number, of = 'a'): string[] =>
    Array.from({ length: count }, (_, index) => `${of}${index}`);
  const lists = { in: texts(1_000) };
  const body = {
    eventNames: texts(1_000),
    filter: {
      any: [{ any: [{ event: lists }, { 'properties.a': lists }] }],
      ...Object.fromEntries(texts(98, 'properties.b').map((path) => [path, { exists: true }])),
    },
    body: { template: texts(990) },
    webhooks: texts(5, 'https://crm.example.com/').map((url) => ({
      url,
      headers: Object.fromEntries(texts(100, 'X-').map((name) => [name, 'a'])),
    })),
  };
  const { status } = await ask('/v1/destinations/crm', { ...ines, method: 'PATCH', body });
  assert.equal(status, 200, 'a destination may be as large as its bounds say');
});

test('users are deleted and suppressed by whoever is for all customers, and the audit has no ids', async (t) => {
  const { ask, operated, audit } = await start(t);
  // An id may be longer than a segment of a path usually is, and have anything in it.
  const user = `a/b é ${'x'.repeat(300)}`;
  const path = `/v1/users/${encodeURIComponent(user)}`;
  assert.equal((await ask(`${path}/delete`, ines)).status, 202);
  assert.equal((await ask(`${path}/suppress`, { ...ines, body: { lift: true } })).status, 200);
  assert.deepEqual(await ask(`${path}/delete?dryRun=true`, ines).then(({ json }) => json), {
    sources: [],
  });
  assert.deepEqual(operated, [`delete-user ${user}`, `suppress ${user}`]);
  assert.doesNotMatch(JSON.stringify(audit), /xxx/);
});

test('an application makes a link for its customer, which works until it is revoked', async (t) => {
  const { ask, sent, links, audit } = await start(t);
  const made = await ask('/v1/customers/acme/links', {
    ...shop,
    body: { manage: true, expires: '2h' },
  });
  assert.equal(made.status, 201);
  const { id, path, url } = made.json as { readonly id: string; path: string; url: string };
  assert.match(path, /^\/l\/prl_[\w-]{43}$/);
  assert.equal(url, `https://console.shop.example${path}`);
  const [record] = sent;
  assert.equal(record?.key, id);
  const link = JSON.parse(record.value as string) as Parameters<typeof links.put>[0];
  assert.ok(!JSON.stringify(sent).includes(path.slice(3)), 'the token is stored');
  assert.ok(!JSON.stringify(audit).includes(path.slice(3)), 'the token is in the audit');
  assert.match(audit[0]?.detail ?? '', /^link \w+ of customer acme, may manage, until /);
  links.put(link);
  const token = path.slice('/l/'.length);
  assert.equal((await ask('/v1/destinations/crm', { token })).status, 200);
  assert.equal((await ask('/v1/destinations/filed', { token })).status, 404);
  const list = await ask('/v1/customers/acme/links', { token: 'shop-token' });
  assert.deepEqual(
    (list.json['items'] as { id: string }[]).map((each) => each.id),
    [id],
  );
  assert.equal((await ask(`/v1/links/${id}/revoke`, shop)).status, 200);
  assert.deepEqual(sent.at(-1), { topic: 'links', partition: 0, key: id, value: null });
});

test('nobody gives away more than it has, and a link gives away nothing', async (t) => {
  const { ask, linkTo, links, sent } = await start(t);
  const asked = async (path: string, token: string, body?: object): Promise<string> => {
    const { status, detail } = await ask(`/v1${path}`, { method: 'POST', token, body });
    return `${status} ${detail}`;
  };
  assert.match(
    await asked('/customers/acme/links', 'writer-token', { manage: true }),
    /^403 A link that manages needs the scope operate, which your token does not have\.$/,
  );
  assert.match(await asked('/customers/globex/links', 'shop-token'), /^404 There is no customer/);
  assert.match(await asked('/customers/acm/links', 'shop-token'), /^404 /);
  assert.match(
    await asked('/customers/acme/links', 'shop-token', { expires: '365d' }),
    /^400 expires is 365d; allowed: a duration from 1m to 90d\.$/,
  );
  assert.match(
    await asked('/customers/acme/links', 'shop-token', { customer: 'globex' }),
    /^400 customer is no parameter/,
  );
  assert.match(
    await asked('/customers/%20x/links', 'ines-token'),
    /^400 The id of a customer must/,
  );
  const manager = linkTo('acme', { manage: true });
  assert.match(await asked('/customers/acme/links', manager), /^403 Links are made/);
  const [own] = links.working(0, 'acme');
  assert.match(await asked(`/links/${own?.id ?? ''}/revoke`, manager), /^403 Links are made/);
  linkTo('globex');
  const [theirs] = links.working(0, 'globex');
  assert.match(await asked(`/links/${theirs?.id ?? ''}/revoke`, 'shop-token'), /^404 No link/);
  assert.deepEqual(sent, []);
});
