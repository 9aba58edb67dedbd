import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeAuditEntry, type AuditEntry } from '../../src/event/audit-entry.ts';
import type { Problem } from '../../src/http-api/answers.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { deadLetterRecord } from '../dead-letter/letters.ts';
import { testBroker } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { readAll } from '../kafka/topics.ts';
import { sayAsWorker } from '../notices/said-by-worker.ts';

/** The API as an application uses it, in two processes, on a real broker. */

let postrider: Installation;
let [one, other]: [RunningRole?, RunningRole?] = [];
let kafka: KafkaClient;

before(async () => {
  postrider = await install({
    API_MAX_DESTINATIONS_PER_CUSTOMER: '2',
    API_CUSTOMER_SOURCES: 'shop',
  });
  const { brokers } = await testBroker();
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  await apply([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk_shop'] },
    {
      kind: 'Destination',
      id: 'filed',
      name: 'Filed',
      sources: ['shop'],
      webhooks: [{ url: 'https://filed.example.com' }],
    },
  ]);
  [one, other] = await Promise.all([postrider.start('api'), postrider.start('api')]);
});

after(async () => {
  await one?.kill('SIGKILL');
  await other?.kill('SIGKILL');
});

async function apply(resources: readonly object[]): Promise<void> {
  const { code, stderr } = await postrider.run(['apply', '-f', '-'], {
    stdin: JSON.stringify(resources),
  });
  assert.equal(code, 0, stderr);
}

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & Partial<Problem>;
}

async function ask(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  role: RunningRole | undefined = one,
): Promise<Answered> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`${role?.apiUrl ?? ''}/v1${path}`, {
    method,
    headers: { ...json, ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Answered['body'],
  };
}

function crm(more: object = {}): object {
  return {
    name: 'CRM',
    sources: ['shop'],
    webhooks: [{ url: 'https://crm.example.com/hook' }],
    ...more,
  };
}

async function giveUp(events: readonly Parameters<typeof deadLetterRecord>[0][]): Promise<void> {
  const { TOPIC_PREFIX: prefix = '' } = postrider.environment;
  const producer = await createProducer(kafka, { log: silentLogger });
  await producer.send(
    events.map((event) => ({ ...deadLetterRecord(event), topic: `${prefix}dead-letter` })),
  );
  await producer.close(10_000);
}

async function audited(): Promise<readonly AuditEntry[]> {
  const { TOPIC_PREFIX: prefix = '' } = postrider.environment;
  const records = await readAll(kafka, `${prefix}audit`);
  return records.flatMap(({ value }) => decodeAuditEntry(value) ?? []);
}

test('a destination is made, read, changed and deleted, and the audit has it before', async () => {
  const made = await ask('PUT', '/destinations/crm', crm());
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.match(String(made.body['sharedSecret']), /^whsec_/);
  assert.equal(made.headers.get('location'), '/v1/destinations/crm');
  assert.match(made.headers.get('postrider-config-offset') ?? '', /^\d+$/);
  const read = await ask('GET', '/destinations/crm');
  assert.equal(read.status, 200);
  assert.deepEqual(
    [read.body['id'], read.body['managedBy'], read.body['sharedSecret'], read.body['uid']],
    ['crm', 'api', '(set, not shown)', made.body['uid']],
  );
  assert.equal(read.headers.get('etag'), made.headers.get('etag'));
  const again = await ask('PUT', '/destinations/crm', crm());
  assert.deepEqual([again.status, again.headers.get('etag')], [200, read.headers.get('etag')]);
  const patched = await ask('PATCH', '/destinations/crm', {
    name: 'The CRM',
    eventNames: ['Order *'],
  });
  assert.deepEqual([patched.status, patched.body['name']], [200, 'The CRM']);
  const cleared = await ask('PATCH', '/destinations/crm', { eventNames: null });
  assert.deepEqual([cleared.status, cleared.body['eventNames']], [200, undefined]);
  const { stdout } = await postrider.run(['get', 'destination', 'crm', '-o', 'json']);
  assert.match(stdout, /The CRM/);
  assert.equal((await ask('DELETE', '/destinations/crm')).status, 204);
  assert.equal((await ask('GET', '/destinations/crm')).status, 404);
  const entries = (await audited()).filter(({ destination }) => destination === 'crm');
  assert.deepEqual(
    entries.map(({ user, via, action }) => [user, via, action]),
    [
      ['local', 'api', 'put-destination'],
      ['local', 'api', 'put-destination'],
      ['local', 'api', 'put-destination'],
      ['local', 'api', 'delete-destination'],
    ],
  );
  assert.match(entries[1]?.detail ?? '', /name "CRM" → "The CRM"/);
});

test('what is read can be sent back: what is masked stays, but not for another host', async () => {
  const headers = { Authorization: 'Bearer s3cret' };
  await ask(
    'PUT',
    '/destinations/kept',
    crm({ webhooks: [{ url: 'https://a.example.com/x', headers }] }),
  );
  const { body } = await ask('GET', '/destinations/kept');
  const same = await ask('PUT', '/destinations/kept', body);
  assert.equal(same.status, 200, JSON.stringify(same.body));
  const [webhook] = body['webhooks'] as readonly object[];
  const moved = await ask('PATCH', '/destinations/kept', {
    webhooks: [{ ...webhook, url: 'https://a.example.com/y' }],
  });
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
  const stolen = await ask('PATCH', '/destinations/kept', {
    webhooks: [{ ...webhook, url: 'https://evil.example.net/y' }],
  });
  assert.equal(stolen.status, 422);
  assert.deepEqual(
    stolen.body.errors?.map(({ pointer }) => pointer),
    ['/webhooks/0/headers/Authorization'],
  );
  const secret = await ask('POST', '/destinations/kept/secret');
  assert.match(String(secret.body['sharedSecret']), /^whsec_/);
  assert.doesNotMatch(JSON.stringify(await audited()), /s3cret|whsec_/);
});

test('every wrong field is told with a pointer, in the words of apply', async () => {
  const { status, headers, body } = await ask('PUT', '/destinations/wrong', {
    name: 'Wrong',
    sources: ['shopp'],
    webhook: [],
    webhooks: [{ url: 'ftp://crm.example.com' }],
  });
  assert.deepEqual([status, headers.get('content-type')], [422, 'application/problem+json']);
  const [url, unknown] = body.errors ?? [];
  assert.deepEqual(url, {
    pointer: '/webhooks/0/url',
    detail: 'must be a URL that starts with http:// or https://',
  });
  assert.equal(unknown?.pointer, '/webhook');
  assert.match(unknown.detail, /^is not a known field; did you mean webhooks\?/);
  const missing = await ask('PUT', '/destinations/wrong', crm({ sources: ['shopp'] }));
  assert.deepEqual(missing.body.errors, [
    { pointer: '/sources/0', detail: 'source shopp does not exist; did you mean shop?' },
  ]);
  const inner = await ask(
    'PUT',
    '/destinations/wrong',
    crm({ webhooks: [{ url: 'http://169.254.169.254/latest' }] }),
  );
  assert.deepEqual(inner.body.errors, [
    {
      pointer: '/webhooks/0/url',
      detail: '169.254.169.254 is not a public address; DELIVERY_ALLOW_NETWORKS can allow it',
    },
  ]);
  for (const bad of ['[]', '"text"', '{', 'null'])
    assert.ok([400, 422].includes((await ask('PUT', '/destinations/wrong', bad)).status), bad);
  const large = await ask('PUT', '/destinations/wrong', crm({ name: 'x'.repeat(300_000) }));
  assert.equal(large.status, 413);
  // The connection may be closed before all of it was sent.
  const huge = ask('PUT', '/destinations/wrong', crm({ name: 'x'.repeat(10_000_000) }));
  assert.ok([413, undefined].includes((await huge.catch(() => undefined))?.status));
  const text = await ask('PUT', '/destinations/wrong', JSON.stringify(crm()), {
    'content-type': 'text/plain',
  });
  assert.equal(text.status, 415);
  assert.equal((await ask('GET', '/destinations/wrong')).status, 404);
});

test('of two who change the same version at once, in two processes, one is told that it has changed', async () => {
  const made = await ask('PUT', '/destinations/race', crm());
  const etag = made.headers.get('etag') ?? '';
  const both = await Promise.all(
    [one, other].map((role, index) =>
      ask('PATCH', '/destinations/race', { name: `Writer ${index}` }, { 'if-match': etag }, role),
    ),
  );
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412]);
  const winner = both.find(({ status }) => status === 200);
  await eventually(async () => {
    const { body } = await ask('GET', '/destinations/race', undefined, {}, other);
    assert.equal(body['name'], winner?.body['name']);
  });
  const onlyNew = await ask('PUT', '/destinations/race', crm(), { 'if-none-match': '*' });
  assert.equal(onlyNew.status, 412);
});

test('many changes in two processes all arrive, and none undoes another', async () => {
  const ids = Array.from({ length: 40 }, (_, index) => `many-${index}`);
  const made = await Promise.all(
    ids.map((id, index) =>
      ask('PUT', `/destinations/${id}`, crm(), {}, index % 2 === 0 ? one : other),
    ),
  );
  assert.deepEqual([...new Set(made.map(({ status }) => status))], [201]);
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const next = cursor === undefined ? '' : `&cursor=${cursor}`;
    const { body } = await ask('GET', `/destinations?limit=7${next}`);
    found.push(...(body['items'] as readonly { id: string }[]).map(({ id }) => id));
    cursor = body['next'] as string | undefined;
  } while (cursor !== undefined);
  assert.deepEqual(found, found.toSorted());
  for (const id of ids) assert.ok(found.includes(id), id);
});

test('the API leaves what files manage alone', async () => {
  const changed = await ask('PATCH', '/destinations/filed', { name: 'Mine' });
  assert.equal(changed.status, 409);
  assert.match(changed.body.detail ?? '', /Destination filed is managed by files/);
  assert.equal((await ask('DELETE', '/destinations/filed')).status, 409);
  assert.equal(
    (await ask('PUT', '/sources/shop', { name: 'Shop', writeKeys: ['wk'] })).status,
    409,
  );
});

test('a customer has at most so many destinations, and its own are listed', async () => {
  for (const id of ['acme-1', 'acme-2'])
    assert.equal((await ask('PUT', `/destinations/${id}`, crm({ customer: 'acme' }))).status, 201);
  const third = await ask('PUT', '/destinations/acme-3', crm({ customer: 'acme' }));
  assert.equal(third.status, 422);
  assert.match(third.body.errors?.[0]?.detail ?? '', /the customer has 2 destinations/);
  const { body } = await ask('GET', '/destinations?customer=acme');
  assert.deepEqual(
    (body['items'] as { id: string }[]).map(({ id }) => id),
    ['acme-1', 'acme-2'],
  );
  const none = await ask('GET', '/destinations?customer=acm');
  assert.deepEqual(none.body['items'], []);
});

test('an endpoint that fails shows as failing within seconds, in both processes, and can be listed by that', async () => {
  const { body: made } = await ask('PUT', '/destinations/broken', crm());
  const quiet = await ask('GET', '/destinations/broken');
  assert.equal(quiet.body['state'], 'unknown');
  assert.match(String(quiet.body['why']), /^no worker is running/);
  const { TOPIC_PREFIX: prefix = '' } = postrider.environment;
  const identity = { id: 'broken', uid: made['uid'] as string };
  const since = new Date(Date.now() - 60_000);
  await sayAsWorker(kafka, `${prefix}destination-status`, identity, since);
  for (const role of [one, other])
    await eventually(async () => {
      const { body } = await ask('GET', '/destinations/broken', undefined, {}, role);
      assert.deepEqual([body['state'], body['since']], ['failing', since.toISOString()]);
      assert.ok(Date.parse(String(body['asOf'])) > since.getTime());
    });
  const listed = await ask('GET', '/destinations?state=failing', undefined, {}, other);
  assert.deepEqual(
    (listed.body['items'] as { id: string }[]).map(({ id }) => id),
    ['broken'],
  );
  const { body: shown } = await ask('GET', '/destinations/broken');
  assert.equal((await ask('PUT', '/destinations/broken', shown)).status, 200);
  const wrong = await ask('GET', '/destinations?state=broken');
  assert.equal(wrong.status, 400);
  assert.match(wrong.body.detail ?? '', /^state is "broken"; allowed: one of unreadable, failing/);
});

test('a source is made and changed; it cannot go while a destination has it', async () => {
  const made = await ask('PUT', '/sources/app', { name: 'App', writeKeys: ['wk_app'] });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const taken = await ask('PUT', '/sources/app2', { name: 'App', writeKeys: ['wk_app'] });
  assert.deepEqual(
    taken.body.errors?.map(({ pointer }) => pointer),
    ['/writeKeys/0'],
  );
  await ask('PUT', '/destinations/of-app', crm({ sources: ['app'] }));
  const used = await ask('DELETE', '/sources/app');
  assert.equal(used.status, 409);
  assert.match(used.body.detail ?? '', /named by Destination of-app/);
});

test('a dry run says what would be, and writes nothing', async () => {
  const would = await ask('PUT', '/destinations/dry?dryRun=true', crm());
  assert.deepEqual([would.status, would.body['name']], [200, 'CRM']);
  assert.equal(would.body['sharedSecret'], '(set, not shown)');
  const wrong = await ask('PUT', '/destinations/dry?dryRun=true', crm({ webhooks: [] }));
  assert.equal(wrong.status, 422);
  assert.equal((await ask('GET', '/destinations/dry')).status, 404);
});

test('a dedicated topic is there before its destination', async () => {
  const made = await ask('PUT', '/destinations/heavy', crm({ topic: 'dedicated' }));
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const { stdout } = await postrider.run(['topics']);
  assert.match(stdout, /delivery\.heavy/);
});

test('without tokens, pages of other sites get nothing', async () => {
  const cross = { origin: 'https://evil.example' };
  assert.equal((await ask('GET', '/destinations', undefined, cross)).status, 403);
  assert.equal((await ask('GET', '/nothing')).status, 404);
});

test('an application makes a link, with which a customer operates its own destinations alone', async () => {
  const made = await ask('POST', '/customers/acme/links', { manage: true, expires: '1h' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const token = String(made.body['path']).slice('/l/'.length);
  const as = { authorization: `Bearer ${token}` };
  const links = await ask('GET', '/customers/acme/links', undefined, {}, other);
  assert.equal(links.status, 200);
  // Each replica finds it in Kafka by itself.
  await eventually(async () => {
    assert.equal((await ask('GET', '/destinations/acme-1', undefined, as, other)).status, 200);
    assert.equal((await ask('GET', '/destinations/acme-1', undefined, as)).status, 200);
  });
  for (const path of ['/destinations/filed/pause', '/destinations/race/redrive'])
    assert.equal((await ask('POST', path, {}, as)).status, 404);
  const { body: own } = await ask('GET', '/destinations/acme-2', undefined, as);
  await giveUp([
    { destinationId: 'acme-2', uid: own['uid'] as string, user: 'u1' },
    { destinationId: 'acme-2', uid: 'earlier', user: 'u2' },
    { destinationId: 'filed', user: 'u3' },
  ]);
  const all = await ask('POST', '/customers/acme/redrive?dryRun=true', undefined, as);
  assert.deepEqual([all.status, all.body['found']], [200, 1], JSON.stringify(all.body));
  assert.equal((await ask('POST', '/destinations/acme-1/pause', undefined, as)).status, 200);
  const dry = await ask('POST', '/destinations/acme-1/redrive?dryRun=true', undefined, as);
  assert.deepEqual([dry.status, dry.body['found']], [200, 0]);
  const resumed = await ask('POST', '/destinations/acme-1/resume', undefined, as);
  assert.equal(resumed.status, 202, JSON.stringify(resumed.body));
  for (const role of [one, other])
    await eventually(async () => {
      const run = await ask('GET', `/runs/${String(resumed.body['id'])}`, undefined, as, role);
      assert.deepEqual([run.status, run.body['state']], [200, 'done']);
    });
  const id = String(made.body['id']);
  assert.equal((await ask('POST', `/links/${id}/revoke`, undefined, {}, other)).status, 200);
  await eventually(async () => {
    assert.equal((await ask('GET', '/destinations/acme-1', undefined, as)).status, 401);
  });
  const entries = await audited();
  assert.deepEqual(
    entries.filter(({ user }) => user === `link ${id}`).map(({ action, via }) => [action, via]),
    [
      ['pause', 'api'],
      ['resume', 'api'],
      ['resume', 'api'],
    ],
  );
  assert.doesNotMatch(JSON.stringify(entries), new RegExp(token));
});

test('a user is deleted at every destination, and suppressed', async () => {
  const dry = await ask('POST', '/users/u1/delete?dryRun=true');
  assert.match(JSON.stringify(dry.body), /"source":"shop","destinations":\[/);
  const begun = await ask('POST', '/users/u1/delete', { source: 'shop' });
  assert.equal(begun.status, 202, JSON.stringify(begun.body));
  await eventually(async () => {
    const { body } = await ask('GET', `/runs/${String(begun.body['id'])}`);
    assert.deepEqual([body['state'], body['sent']], ['done', 1]);
  });
  const unknown = await ask('POST', '/users/u1/delete', { source: 'shopp' });
  assert.equal(unknown.status, 404);
  assert.equal((await ask('POST', '/users/u1/suppress')).status, 200);
  const { stdout } = await postrider.run(['suppress-user', '--list', '-o', 'json']);
  assert.match(stdout, /"u1"/);
});

test('the document describes each route, and the fields of a destination', async () => {
  const { body } = await ask('GET', '/openapi.json');
  assert.equal(body['openapi'], '3.1.0');
  const paths = body['paths'] as Record<string, Record<string, { requestBody?: object }>>;
  assert.deepEqual(
    Object.keys(paths)
      .filter((path) => /destinations|sources/.test(path))
      .toSorted(),
    [
      '/v1/destinations',
      '/v1/destinations/{id}',
      '/v1/destinations/{id}/pause',
      '/v1/destinations/{id}/redrive',
      '/v1/destinations/{id}/resume',
      '/v1/destinations/{id}/retry',
      '/v1/destinations/{id}/secret',
      '/v1/destinations/{id}/test',
      '/v1/sources',
      '/v1/sources/{id}',
    ],
  );
  assert.match(JSON.stringify(paths['/v1/destinations/{id}']?.['put']?.requestBody), /eventNames/);
});
