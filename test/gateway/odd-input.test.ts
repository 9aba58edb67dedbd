import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { auth, createTestGateway, topics, type TestGateway } from './fakes.ts';

/** What clients send by mistake, or because they are written in another language. */

const page = { type: 'page', userId: 'u' };
const track = { ...page, type: 'track', event: 'E' };

/** The only call that a batch of one becomes, or why it is rejected. */
async function sendOne(
  call: unknown,
  gateway?: TestGateway,
): Promise<Record<string, unknown> | string> {
  const { server, producer } = gateway ?? createTestGateway();
  producer.records.splice(0);
  const payload = typeof call === 'string' ? call : JSON.stringify(call);
  const { body } = await server.inject({
    method: 'POST',
    url: '/v1/batch',
    headers: auth,
    payload: `{"batch":[${payload}]}`,
  });
  assert.match(body, /^\{"success":true[,}]/);
  const [record, ...others] = producer.records;
  assert.ok(record !== undefined && others.length === 0);
  if (record.topic === topics.ingestRejected) return String(record.headers?.['reason']);
  return JSON.parse(String(record.value)) as Record<string, unknown>;
}

const ids: readonly (readonly [unknown, string | undefined])[] = [
  ['u', 'u'],
  [7, '7'],
  [0, '0'],
  [-1, '-1'],
  [' ', ' '],
  [2 ** 53 - 1, '9007199254740991'],
  [2 ** 53, undefined],
  [1.5, undefined],
  [true, undefined],
  [false, undefined],
  [{}, undefined],
  [['u'], undefined],
  ['é'.repeat(512), 'é'.repeat(512)],
  ['u'.repeat(1_025), undefined],
];

for (const [given, taken] of ids) {
  test(`the id ${JSON.stringify(given)} is ${taken === undefined ? 'rejected' : `"${taken}"`}`, async () => {
    for (const name of ['userId', 'anonymousId', 'messageId']) {
      const answer = await sendOne({ ...page, [name]: given });
      if (taken === undefined) assert.equal(answer, 'invalid-id');
      else assert.equal((answer as Record<string, unknown>)[name], taken);
    }
  });
}

test('an id that is null or empty counts as missing, and one of the two is enough', async () => {
  for (const nothing of [null, '', undefined]) {
    assert.equal(await sendOne({ type: 'page', userId: nothing, anonymousId: nothing }), 'no-user');
    const anonymous = await sendOne({ type: 'page', userId: nothing, anonymousId: 'a' });
    assert.equal((anonymous as Record<string, unknown>)['anonymousId'], 'a');
  }
});

const required: readonly (readonly [string, object])[] = [
  ['no-event', { ...page, type: 'track' }],
  ['no-event', { ...track, event: null }],
  ['no-event', { ...track, event: '' }],
  ['no-event', { ...track, event: 7 }],
  ['no-group-id', { ...page, type: 'group', groupId: '' }],
  ['no-previous-id', { ...page, type: 'alias', previousId: null }],
  ['no-user', { type: 'alias', previousId: 'p', anonymousId: 'a' }],
  ['invalid-type', { userId: 'u' }],
  ['invalid-type', { ...page, type: null }],
  ['invalid-type', { ...page, type: 'purchase' }],
  ['invalid-type', { ...page, type: 'delete' }],
  ['batch', { batch: [page] }],
];

for (const [reason, call] of required) {
  test(`${JSON.stringify(call)} is rejected as ${reason}`, async () => {
    assert.equal(await sendOne(call), reason);
  });
}

const times: readonly (readonly [string, string | undefined])[] = [
  ['2026-11-20T18:59:40-0500', '2026-11-20T23:59:40.000Z'],
  ['2026-11-20T18:59:40+0000', '2026-11-20T18:59:40.000Z'],
  ['2026-11-20T18:59:40.929272685Z', '2026-11-20T18:59:40.929Z'],
  ['2026-11-20T18:59:40', '2026-11-20T18:59:40.000Z'],
  ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2026-11-20T24:00:00Z', '2026-11-21T00:00:00.000Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z'],
  ['2999-01-01T00:00:00Z', '2999-01-01T00:00:00.000Z'],
  ['2026-02-30T00:00:00Z', undefined],
  ['+012026-01-01T00:00:00Z', undefined],
  ['1763700000000', undefined],
  ['last tuesday', undefined],
];

for (const [given, taken] of times) {
  test(`the timestamp ${given} is ${taken ?? 'rejected'}`, async () => {
    const answer = await sendOne({ ...page, timestamp: given });
    if (taken === undefined) assert.equal(answer, 'invalid-timestamp');
    else assert.equal((answer as Record<string, unknown>)['timestamp'], taken);
  });
}

test('a timestamp that is a number is rejected, one that is null is the time of receipt', async () => {
  assert.equal(await sendOne({ ...page, timestamp: 1_763_700_000_000 }), 'invalid-timestamp');
  const { timestamp, receivedAt } = (await sendOne({ ...page, timestamp: null })) as Record<
    string,
    unknown
  >;
  assert.equal(timestamp, receivedAt);
});

test('message ids are taken as they are: long ones, repeated ones', async () => {
  const gateway = createTestGateway();
  const long = 'm'.repeat(200);
  for (const messageId of [long, long, 'again', 'again']) {
    const call = await sendOne({ ...page, messageId }, gateway);
    assert.equal((call as Record<string, unknown>)['messageId'], messageId);
  }
});

test('values that JSON allows and programs stumble over pass as data', async () => {
  const properties =
    '{"b":1,"2":2,"1":3,"__proto__":{"x":1},"constructor":4,"hasOwnProperty":5,"toJSON":6,"n":12345678901234567890,"z":-0,"s":"\\ud800\\u2028\\/","d":1,"d":2}';
  const call = await sendOne(`{"type":"page","userId":"u","properties":${properties}}`);
  const expected = JSON.stringify(JSON.parse(properties));
  assert.equal(JSON.stringify((call as Record<string, unknown>)['properties']), expected);
});

test('one bad call among good ones does not touch them', async () => {
  const { server, producer } = createTestGateway();
  const batch = [track, { ...track, event: '' }, 7, page];
  const { body } = await server.inject({
    method: 'POST',
    url: '/v1/batch',
    headers: auth,
    payload: { batch },
  });
  const { rejected } = JSON.parse(body) as { rejected: { index: number; code: string }[] };
  assert.deepEqual(
    rejected.map(({ index, code }) => `${index} ${code}`),
    ['1 no-event', '2 not-an-object'],
  );
  assert.deepEqual(
    producer.records.map(({ topic }) => topic),
    [topics.ingest, topics.ingest, topics.ingestRejected, topics.ingestRejected],
  );
});

test('a body in deflate is refused by name, a body in chunks is taken', async () => {
  const { server } = createTestGateway();
  const payload = deflateSync(JSON.stringify({ batch: [page] }));
  const headers = { ...auth, 'content-encoding': 'deflate' };
  const refused = await server.inject({ method: 'POST', url: '/v1/batch', headers, payload });
  assert.equal(refused.statusCode, 400);
  assert.equal(refused.json<{ code: string }>().code, 'unknown-encoding');
  const chunked = await server.inject({
    method: 'POST',
    url: '/v1/batch',
    payload: JSON.stringify({ batch: [page] }),
    headers: { ...auth, 'transfer-encoding': 'chunked' },
  });
  assert.equal(chunked.statusCode, 200);
});
