import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { InjectOptions, LightMyRequestResponse as Response } from 'fastify';
import { PostriderError } from '../../src/errors.ts';
import { parseCall, maxBytesOf } from '../../src/event/parse-call.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { eventually } from '../harness/eventually.ts';
import { exampleSource } from '../resources/examples.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { auth, createTestGateway, topics, type TestGateway } from './fakes.ts';

const page = { type: 'page', userId: 'u' };

function basic(credentials: string): object {
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

async function post(
  { server }: TestGateway,
  body: object | string | Buffer,
  { path = 'batch', headers = auth }: { path?: string; headers?: object } = {},
): Promise<Response> {
  const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const request: InjectOptions = { method: 'POST', url: `/v1/${path}`, payload };
  return server.inject({ ...request, headers: { 'content-type': 'text/plain', ...headers } });
}

/** Waits until the producer holds so many records. */
async function held({ producer }: TestGateway, records: number): Promise<void> {
  await eventually(() => {
    assert.equal(producer.held.length, records);
  });
}

function codeOf(response: Response): string {
  const body = response.json<{ code: string; message: string }>();
  assert.deepEqual(Object.keys(body), ['code', 'message']);
  assert.ok(body.message.length > 10);
  return `${response.statusCode} ${body.code}`;
}

/** @param rejected what is said of the calls that were rejected: `<index> <code>` */
function assertSuccess(response: Response, rejected: readonly string[] = []): void {
  const said = response.json<{ rejected?: { index: number; code: string; message: string }[] }>();
  assert.equal(response.statusCode, 200, response.body);
  if (rejected.length === 0) assert.equal(response.body, '{"success":true}');
  const codes = said.rejected?.map(({ index, code }) => `${index} ${code}`) ?? [];
  assert.deepEqual(codes, rejected);
  for (const { message } of said.rejected ?? []) assert.ok(message.length > 10);
}

for (const type of ['track', 'identify', 'page', 'screen', 'group', 'alias']) {
  test(`POST /v1/${type} takes one call, with and without a trailing slash`, async () => {
    const gateway = createTestGateway();
    const ids = { userId: 'u', groupId: 'g', previousId: 'p' };
    for (const path of [type, `${type}/`, `/${type}`, type.slice(0, 1)]) {
      assertSuccess(await post(gateway, { ...ids, event: 'E' }, { path }));
    }
    assert.deepEqual(
      gateway.producer.calls().map((call) => call['type']),
      [type, type, type, type],
    );
  });
}

for (const path of ['batch', 'import', 'batch/', '/batch', 'b']) {
  test(`POST /v1/${path} takes a batch`, async () => {
    const gateway = createTestGateway();
    assertSuccess(await post(gateway, { batch: [page, { ...page, userId: 'v' }] }, { path }));
    assert.deepEqual(
      gateway.producer.records.map(({ topic, key, headers }) => ({ topic, key, headers })),
      ['u', 'v'].map((key) => ({ topic: topics.ingest, key, headers: { 'write-key': 'wk_shop' } })),
    );
  });
}

test('the write key alone is enough, in the header or in the body', async () => {
  const gateway = createTestGateway();
  const inHeader: object[] = [
    basic('wk_shop:'),
    basic('wk_shop'),
    basic('wk_shop:password'),
    { authorization: `basic ${Buffer.from('wk_shop:').toString('base64')}` },
  ];
  for (const headers of inHeader)
    assertSuccess(await post(gateway, { batch: [page] }, { headers }));
  const inBody = { batch: [page], writeKey: 'wk_shop' };
  for (const headers of [{}, basic(':'), { authorization: 'Bearer token' }]) {
    assertSuccess(await post(gateway, inBody, { headers }));
  }
  assertSuccess(
    await post(gateway, { ...page, writeKey: 'wk_shop' }, { path: 'page', headers: {} }),
  );
  const both = { batch: [page], writeKey: 'wk_other' };
  assertSuccess(await post(gateway, both, { headers: auth }));
  for (const { headers } of gateway.producer.records) {
    assert.deepEqual(headers, { 'write-key': 'wk_shop' });
  }
});

test('a request without a known write key is answered with 401', async () => {
  const gateway = createTestGateway();
  const body = { batch: [page] };
  assert.equal(codeOf(await post(gateway, body, { headers: {} })), '401 no-write-key');
  for (const headers of [basic('wk_other:'), { authorization: 'Basic wk%%' }, basic('\u0000')]) {
    assert.equal(codeOf(await post(gateway, body, { headers })), '401 unknown-write-key');
  }
  for (const writeKey of [7, {}, null, '']) {
    const response = await post(gateway, { ...body, writeKey }, { headers: {} });
    assert.equal(codeOf(response), '401 no-write-key');
  }
  assert.deepEqual(gateway.producer.records, []);
});

test('an unknown write key in the header is refused before anything of the body is read, whatever the body says', async () => {
  const gateway = createTestGateway();
  for (const body of [{ batch: [page], writeKey: 'wk_shop' }, 'no JSON', Buffer.alloc(600_000)]) {
    const response = await post(gateway, body, { headers: basic('wk_other:') });
    assert.equal(codeOf(response), '401 unknown-write-key');
  }
});

test('a body shows its write key before it is parsed, however the key is written', async () => {
  const gateway = createTestGateway();
  const call = '{"type":"page","userId":"u","writeKey":"wk_other"}';
  for (const body of [
    `{"batch":[${call}],"writeKey":"wk_shop"}`,
    `\ufeff { "writeKey" : "wk_other", "batch": [ ${call} ] , "write\\u004bey" : "wk\\u005fshop" }`,
    `{"context":{"writeKey":"wk_other","a":["}",{"writeKey":"x"}]},"writeKey":"wk_shop","batch":[]}`,
  ])
    assertSuccess(await post(gateway, body, { headers: {} }));
  for (const [body, code] of [
    [`{"batch":[],"writeKey":"wk_shop","writeKey":"wk_other"}`, '401 unknown-write-key'],
    [`{"batch":[],"writeKey":["wk_shop"]}`, '401 no-write-key'],
    [`{"batch":["writeKey","wk_shop"]}`, '401 no-write-key'],
    [`{"batch":[${call}]}`, '401 no-write-key'],
    [`{"x":${'['.repeat(400_000)}`, '401 no-write-key'],
  ] as const)
    assert.equal(codeOf(await post(gateway, body, { headers: {} })), code);
});

test('strangers use up a share of the CPU time; then only their large and packed bodies are turned away', async () => {
  let nowMs = 0;
  /** Each look at the clock takes so long. */
  let stepMs = 20;
  const clock = {
    now: () => nowMs,
    steadyNow: () => (nowMs += stepMs),
    after: () => ({ cancel: () => undefined }),
  };
  const gateway = createTestGateway({ clock });
  const packed = gzipSync(JSON.stringify({ batch: [page], writeKey: 'wk_other' }));
  let refused = await post(gateway, packed, { headers: {} });
  while (refused.statusCode === 401) refused = await post(gateway, packed, { headers: {} });
  stepMs = 0;
  assert.equal(codeOf(refused), '429 rate-limited');
  assert.equal(refused.headers['retry-after'], '1');
  const known = { batch: [page], writeKey: 'wk_shop' };
  assertSuccess(await post(gateway, known, { headers: {} }));
  assertSuccess(await post(gateway, gzipSync(JSON.stringify({ batch: [page] }))));
  const large = JSON.stringify(known) + ' '.repeat(64 * 1024);
  assert.equal(codeOf(await post(gateway, large, { headers: {} })), '429 rate-limited');
  nowMs += 60_000;
  assertSuccess(await post(gateway, gzipSync(JSON.stringify(known)), { headers: {} }));
});

test('a write key that was just added is known after one look at the configuration', async () => {
  const gateway = createTestGateway();
  gateway.config.caughtUp = () => {
    gateway.config.put(exampleSource({ id: 'new', writeKeys: ['wk_new'] }));
    return Promise.resolve();
  };
  assertSuccess(await post(gateway, { batch: [page] }, { headers: basic('wk_new:') }));
});

test('gzip is recognised by its bytes, whatever the headers say', async () => {
  const gateway = createTestGateway();
  const zipped = gzipSync(JSON.stringify({ batch: [page] }));
  const headers = [
    { 'content-encoding': 'gzip', 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/json' },
    { 'content-encoding': 'x-gzip', 'content-type': ';;;' },
    { 'content-encoding': 'br' },
  ];
  for (const some of headers) {
    assertSuccess(await post(gateway, zipped, { headers: { ...auth, ...some } }));
  }
  const plain = { ...auth, 'content-encoding': 'gzip' };
  assertSuccess(await post(gateway, { batch: [page] }, { headers: plain }));
  assert.equal(codeOf(await post(gateway, zipped.subarray(0, 20))), '400 invalid-gzip');
  const brotli = brotliCompressSync(JSON.stringify({ batch: [page] }));
  const declared = { ...auth, 'content-encoding': 'br' };
  assert.equal(codeOf(await post(gateway, brotli, { headers: declared })), '400 unknown-encoding');
});

const notJson = ['', '{', '{"batch":[}', '\u0000', '{}{}', Buffer.from([0x7b, 0xff, 0x7d])];

test('what is no JSON is answered with 400, without quoting it', async () => {
  const gateway = createTestGateway();
  for (const body of notJson) assert.equal(codeOf(await post(gateway, body)), '400 invalid-json');
  const utf16 = Buffer.from('{"batch":[]}', 'utf16le');
  assert.equal(codeOf(await post(gateway, utf16)), '400 invalid-json');
  for (const body of ['null', '7', '"x"', '[]', '[{"type":"page"}]']) {
    assert.equal(codeOf(await post(gateway, body)), '400 not-an-object');
  }
  for (const body of ['{}', '{"batch":null}', '{"batch":{}}', '{"batch":"x"}']) {
    assert.equal(codeOf(await post(gateway, body)), '400 no-batch');
  }
  const { body } = await post(gateway, '{"secret-word":}');
  assert.doesNotMatch(body, /secret-word/);
});

test('a byte order mark, an empty batch and 5,000 calls are fine, and no more', async () => {
  const gateway = createTestGateway();
  assertSuccess(await post(gateway, `\ufeff${JSON.stringify({ batch: [page] })}`));
  assertSuccess(await post(gateway, { batch: [] }));
  const batchOf = (count: number): object => ({ batch: Array.from({ length: count }, () => page) });
  assertSuccess(await post(gateway, batchOf(5_000)));
  assert.equal(gateway.producer.records.length, 1 + 5_000);
  const response = await post(gateway, batchOf(5_001));
  assert.equal(codeOf(response), '400 too-many-calls');
  assert.match(response.body, /has 5001 calls; the limit is 5000/);
  assert.equal(
    codeOf(await post(gateway, `{"batch":[${'0,'.repeat(2e5)}0]}`)),
    '400 too-many-calls',
  );
});

function rejectedRecords({ producer }: TestGateway): OutgoingRecord[] {
  return producer.records.filter(({ topic }) => topic === topics.ingestRejected);
}

function callOfBytes(bytes: number, filler: string): string {
  const empty = JSON.stringify({ ...page, properties: { filler: '' } });
  const room = bytes - Buffer.byteLength(empty);
  const repeated = filler.repeat(Math.floor(room / Buffer.byteLength(filler)));
  const padding = ' '.repeat(room - Buffer.byteLength(repeated));
  return empty.replace('"filler":""', `"filler":"${repeated}"${padding}`);
}

for (const filler of ['x', 'é', '😀', '\\u00e9']) {
  test(`a call may have 32,768 bytes as sent, in ${filler}; a larger one is refused alone, and rejected in a batch`, async () => {
    const gateway = createTestGateway();
    const [largest, larger] = [callOfBytes(32_768, filler), callOfBytes(32_769, filler)];
    assertSuccess(await post(gateway, largest, { path: 'page' }));
    assert.equal(codeOf(await post(gateway, larger, { path: 'page' })), '400 too-large');
    assertSuccess(
      await post(gateway, `{"batch":[${largest}, ${larger} ,${JSON.stringify(page)}]}`),
      ['1 too-large'],
    );
    assert.equal(gateway.producer.calls().length, 3);
    const [rejected, ...others] = rejectedRecords(gateway);
    assert.deepEqual(others, []);
    assert.equal(rejected?.key, 'u');
    assert.equal(String(rejected.value), larger);
    assert.equal(rejected.headers?.['reason'], 'too-large');
    assert.match(String(rejected.headers['detail']), /has 32769 bytes; the limit is 32768/);
  });
}

test('a call of a batch that only its spaces make too large is taken', async () => {
  const gateway = createTestGateway();
  const spaced = JSON.stringify(page).replace('{', `{${' '.repeat(40_000)}`);
  assertSuccess(await post(gateway, `{"batch":[${spaced}]}`));
  assert.deepEqual(rejectedRecords(gateway), []);
  assert.equal(gateway.producer.calls().length, 1);
});

test('a call of the largest size is a valid call for the router, with what the gateway added', async () => {
  const gateway = createTestGateway();
  const context = { library: { name: 'x'.repeat(30_000) } };
  const call = callOfBytes(32_768, 'x');
  assertSuccess(await post(gateway, `{"batch":[${call}],"context":${JSON.stringify(context)}}`));
  const [record] = gateway.producer.records;
  const value = Buffer.from(String(record?.value));
  const origin = { topic: 't', partition: 0, offset: 0, appendTimeMs: 0 };
  const parsed = parseCall(value, origin, maxBytesOf(record?.headers ?? {}));
  assert.deepEqual(parsed.call?.fields['context'], context);
});

test('fields of a batch that would make it huge are refused', async () => {
  const gateway = createTestGateway();
  const context = (bytes: number): object => ({ filler: 'x'.repeat(bytes) });
  const batch = Array.from({ length: 3_000 }, () => page);
  assert.equal(codeOf(await post(gateway, { batch, context: context(30_000) })), '400 too-large');
  assert.equal(
    codeOf(await post(gateway, { batch: [], context: context(33_000) })),
    '400 too-large',
  );
  assertSuccess(await post(gateway, { batch, context: context(4_000) }));
});

test('a sentAt that would make its batch huge is refused, one that is only no time is not', async () => {
  const gateway = createTestGateway();
  const batch = Array.from({ length: 3_000 }, () => page);
  for (const sentAt of ['x'.repeat(30_000), ['x'.repeat(30_000)]]) {
    const response = await post(gateway, { batch, sentAt });
    assert.equal(codeOf(response), '400 too-large');
    assert.match(response.body, /sentAt of the batch have 3000\d bytes; the limit is 32768/);
  }
  assert.equal(
    codeOf(await post(gateway, { batch: [page], sentAt: 'x'.repeat(33_000) })),
    '400 too-large',
  );
  for (const sentAt of [null, 'x'.repeat(4_000), 7, {}]) {
    assertSuccess(await post(gateway, { batch, sentAt }));
  }
});

function bodyOfBytes(bytes: number): string {
  const body = JSON.stringify({ batch: [page] });
  return body + ' '.repeat(bytes - body.length);
}

test('a body may have 500 KB after gunzip; above 1 MB it is not even read', async () => {
  const gateway = createTestGateway();
  for (const pack of [(body: string) => Buffer.from(body), (body: string) => gzipSync(body)]) {
    assertSuccess(await post(gateway, pack(bodyOfBytes(512_000))));
    assert.equal(codeOf(await post(gateway, pack(bodyOfBytes(512_001)))), '400 too-large');
    assert.equal(codeOf(await post(gateway, pack(bodyOfBytes(1_048_576)))), '400 too-large');
    assert.equal(codeOf(await post(gateway, pack(bodyOfBytes(1_048_577)))), '413 body-too-large');
  }
  const bomb = gzipSync(Buffer.alloc(100_000_000));
  assert.equal(codeOf(await post(gateway, bomb)), '413 body-too-large');
});

function nested(levels: number): string {
  return '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1);
}

test('a call may be nested 64 deep, with the fields of its batch too', async () => {
  const gateway = createTestGateway();
  const call = (levels: number): string =>
    `{"type":"page","userId":"u","properties":${nested(levels - 1)}}`;
  const batch = (levels: number): string => `{"batch":[${call(levels)}]}`;
  const context = (levels: number): string =>
    `{"batch":[${call(2)}],"context":${nested(levels - 1)}}`;
  const sentAt = (levels: number): string =>
    `{"batch":[${call(2)}],"sentAt":${nested(levels - 1)}}`;
  assertSuccess(await post(gateway, call(64), { path: 'page' }));
  assert.equal(codeOf(await post(gateway, call(65), { path: 'page' })), '400 too-deep');
  for (const body of [context, sentAt]) {
    assertSuccess(await post(gateway, body(64)));
    assert.equal(codeOf(await post(gateway, body(65))), '400 too-deep');
  }
  assertSuccess(await post(gateway, batch(64)));
  assert.deepEqual(rejectedRecords(gateway), []);
  assertSuccess(await post(gateway, batch(65)), ['0 too-deep']);
  assertSuccess(await post(gateway, batch(20_000)), ['0 too-large']);
  assert.deepEqual(
    rejectedRecords(gateway).map(({ headers }) => headers?.['reason']),
    ['too-deep', 'too-large'],
  );
  const brackets = '['.repeat(16_000) + ']'.repeat(16_000);
  const deepTime = `{"batch":[${call(2)}],"sentAt":${brackets}}`;
  assert.equal(codeOf(await post(gateway, deepTime)), '400 too-deep');
  assert.equal(codeOf(await post(gateway, `{"batch":${'['.repeat(9e4)}`)), '400 invalid-json');
});

test('calls that are none go to ingest.rejected with their reason, and their batch succeeds', async () => {
  const gateway = createTestGateway();
  const bad: [string, unknown][] = [
    ['not-an-object', 7],
    ['not-an-object', null],
    ['not-an-object', [page]],
    ['invalid-type', { userId: 'u' }],
    ['invalid-type', { ...page, type: 'delete' }],
    ['no-user', { type: 'page' }],
    ['no-user', { type: 'page', userId: '', anonymousId: null }],
    ['no-event', { ...page, type: 'track', event: '' }],
    ['no-group-id', { ...page, type: 'group' }],
    ['no-previous-id', { ...page, type: 'alias' }],
    ['no-user', { type: 'alias', previousId: 'p' }],
    ['invalid-id', { ...page, userId: 1.5 }],
    ['invalid-id', { ...page, messageId: {} }],
    ['invalid-timestamp', { ...page, timestamp: 1_763_700_000_000 }],
    ['invalid-timestamp', { ...page, timestamp: 'yesterday' }],
  ];
  const batch = [page, ...bad.map(([, call]) => call), page];
  const told = bad.map(([code], index) => `${index + 1} ${code}`);
  assertSuccess(await post(gateway, { batch }), told);
  assert.equal(gateway.producer.calls().length, 2);
  const rejected = rejectedRecords(gateway);
  assert.deepEqual(
    rejected.map(({ headers }) => headers?.['reason']),
    bad.map(([reason]) => reason),
  );
  for (const { headers } of rejected) {
    assert.equal(headers?.['write-key'], 'wk_shop');
    assert.ok(String(headers['detail']).length > 10);
  }
  assert.equal(gateway.metrics.rejected.get('no-user'), 3);
});

test('a rejected call keeps its bytes, alone, in a batch and among many', async () => {
  const call = '{ "type":"track", "userId":1234567890123456789, "v":[1e400, 1.0, "\\u00e9"] }';
  const alone = createTestGateway();
  assertSuccess(await post(alone, call, { path: 'track' }), ['0 invalid-id']);
  assert.equal(String(rejectedRecords(alone)[0]?.value), call);
  const bare = createTestGateway();
  for (const body of ['{"v":1e400}', '{"type":"page","v":1e400}\n', ' { }'])
    assertSuccess(await post(bare, body, { path: 'track' }), ['0 no-event']);
  // Who sends it to the router again has its type, which only the path said.
  assert.deepEqual(
    rejectedRecords(bare).map(({ value }) => String(value)),
    [
      '{"v":1e400,"type":"track"}',
      '{"type":"page","v":1e400,"type":"track"}\n',
      ' { "type":"track"}',
    ],
  );
  const batched = createTestGateway();
  const batch = Array.from({ length: 30 }, () => call).join(' , ');
  const context = { locale: 'de' };
  const many = `{"context":${JSON.stringify(context)},"batch":[${batch}]}`;
  const first = Array.from({ length: 20 }, (_, index) => `${index} invalid-id`);
  assertSuccess(await post(batched, many), first);
  const values = rejectedRecords(batched).map(({ value }) => String(value));
  assert.deepEqual(values.slice(0, 20), Array(20).fill(call));
  assert.equal(values[20], `{"batch":[${Array(10).fill(call).join()}]}`);
});

test('success is said only after Kafka has acknowledged every call', async () => {
  const gateway = createTestGateway();
  gateway.producer.isHolding = true;
  let answered = false;
  const answer = post(gateway, { batch: [page, page, page] }).finally(() => (answered = true));
  await held(gateway, 3);
  const [first, ...others] = gateway.producer.held;
  for (const acknowledge of others) acknowledge();
  await new Promise(setImmediate);
  assert.equal(answered, false);
  first?.();
  assertSuccess(await answer);
});

test('a call that Kafka will never take is rejected as unwritable', async () => {
  const gateway = createTestGateway();
  gateway.producer.refuses = ({ topic }) =>
    topic === topics.ingest ? new PostriderError('record-refused', 'too large') : undefined;
  assertSuccess(await post(gateway, { batch: [page] }));
  const [record] = gateway.producer.records;
  assert.equal(record?.headers?.['reason'], 'unwritable');
  gateway.producer.refuses = () => new PostriderError('record-refused', 'too large');
  assert.equal(codeOf(await post(gateway, { batch: [page] })), '503 kafka-unavailable');
});

test('a partition without a leader costs requests with calls for it a 503, and others nothing', async () => {
  const clock = new SimulatedClock();
  const gateway = createTestGateway({ clock });
  gateway.producer.leaderless.add('stuck');
  const late = post(gateway, { batch: [page, { ...page, userId: 'stuck' }] });
  await held(gateway, 1);
  await clock.pass(4_000);
  assertSuccess(await post(gateway, { batch: [page] }));
  await clock.pass(1_000);
  const refused = await late;
  assert.equal(codeOf(refused), '503 kafka-unavailable');
  // A client would keep its calls for other partitions back too.
  assert.equal(refused.headers['retry-after'], undefined);
  const alsoLate = post(gateway, { batch: [{ ...page, userId: 'stuck' }] });
  await held(gateway, 1);
  assertSuccess(await post(gateway, { batch: [page] }));
  await clock.pass(5_000);
  assert.equal(codeOf(await alsoLate), '503 kafka-unavailable');
});

test('what the gateway may hold at a time is bounded; more is answered with 429', async () => {
  const gateway = createTestGateway({ maxBytes: 20_000 });
  gateway.producer.isHolding = true;
  const body = { batch: Array.from({ length: 10 }, () => page) };
  const first = post(gateway, body);
  await held(gateway, 10);
  const second = await post(gateway, body);
  assert.equal(codeOf(second), '429 overloaded');
  assert.equal(second.headers['retry-after'], '1');
  for (const acknowledge of gateway.producer.held.splice(0)) acknowledge();
  assertSuccess(await first);
  assert.equal(gateway.budget.usedBytes, 0);
  gateway.producer.isHolding = false;
  assertSuccess(await post(gateway, body));
});

test('what one key holds leaves room for another', async () => {
  const gateway = createTestGateway({ maxBytes: 60_000 });
  gateway.config.put(exampleSource({ id: 'other', writeKeys: ['wk_other'] }));
  gateway.producer.isHolding = true;
  const batch = Array.from({ length: 10 }, () => page);
  const ownKeys = Array.from({ length: 9 }, () => post(gateway, { batch }));
  await eventually(() => {
    assert.ok((gateway.metrics.requests.get('overloaded') ?? 0) > 3);
  });
  const heldByOne = gateway.producer.held.length;
  assert.ok(heldByOne > 0 && heldByOne < 60, `${heldByOne}`);
  const other = post(gateway, { batch }, { headers: basic('wk_other:') });
  await held(gateway, heldByOne + 10);
  for (const acknowledge of gateway.producer.held.splice(0)) acknowledge();
  assertSuccess(await other);
  await Promise.all(ownKeys);
  assert.equal(gateway.budget.usedBytes, 0);
});

test('a batch of nothing but bad calls becomes a few records, and each is counted', async () => {
  const gateway = createTestGateway();
  const noUser = { type: 'page', properties: { filler: 'x'.repeat(300) } };
  const batch = [
    ...Array.from({ length: 4_000 }, () => 0),
    ...Array.from({ length: 500 }, () => noUser),
  ];
  const first = Array.from({ length: 20 }, (_, index) => `${index} not-an-object`);
  assertSuccess(await post(gateway, gzipSync(JSON.stringify({ batch: [...batch, page] }))), first);
  assert.equal(gateway.producer.calls().length, 1);
  assert.equal(gateway.metrics.rejected.get('not-an-object'), 4_000);
  assert.equal(gateway.metrics.rejected.get('no-user'), 500);
  const records = rejectedRecords(gateway);
  assert.ok(records.length > 20 && records.length < 30, `${records.length}`);
  assert.equal(String(records[0]?.value), '0');
  const shared = records.slice(20).map(({ value, headers }) => {
    assert.ok(Buffer.byteLength(String(value)) < 200_000);
    assert.match(String(headers?.['detail']), /^\d+ calls of one request; the first: /);
    return (JSON.parse(String(value)) as { batch: unknown[] }).batch.length;
  });
  assert.equal(
    shared.reduce((sum, calls) => sum + calls, 20),
    4_500,
  );
});

test('fields that nobody can have meant are counted and said, and their calls taken as they are', async () => {
  const gateway = createTestGateway();
  const odd = [
    { ...page, propertys: { plan: 'pro' } },
    { ...page, property: {} },
    { ...page, Properties: {} },
    { ...page, time_stamp: '2026-11-24T00:00:00Z' },
    { ...page, properties: 'plan=pro' },
    { ...page, context: ['x'] },
  ];
  const fine = [
    page,
    { ...page, properties: null, plan: 'pro', metadata: {}, name: 'N', category: 'C' },
    { ...page, properties: {}, property: 7 },
  ];
  assertSuccess(await post(gateway, { batch: [...odd, ...fine] }));
  assert.deepEqual(rejectedRecords(gateway), []);
  assert.equal(gateway.producer.calls()[0]?.['propertys'] !== undefined, true);
  assert.deepEqual(Object.fromEntries(gateway.metrics.oddFields), {
    misspelt: 4,
    'not-an-object': 2,
  });
});

test('a request without a body is told so', async () => {
  const gateway = createTestGateway();
  const refused = await post(gateway, '');
  assert.equal(codeOf(refused), '400 invalid-json');
  assert.equal(messageOf(refused), 'The body is empty.');
});

function messageOf(response: Response): string {
  return response.json<{ message: string }>().message;
}

const pixelGif = 'image/gif';

async function getPixel(gateway: TestGateway, type: string, query: string): Promise<Response> {
  return gateway.server.inject({ method: 'GET', url: `/v1/pixel/${type}${query}` });
}

test('an image of a page or an e-mail brings one call', async () => {
  const gateway = createTestGateway();
  const call = { event: 'Opened >>> ???', userId: 'ü', writeKey: 'wk_shop' };
  const base64 = Buffer.from(JSON.stringify(call)).toString('base64');
  assert.match(base64, /[+/]/);
  const spellings = [base64, encodeURIComponent(base64), base64.replace(/=+$/, '')];
  spellings.push(base64.replaceAll('+', '-').replaceAll('/', '_'));
  for (const data of spellings) {
    const { statusCode, headers, rawPayload } = await getPixel(gateway, 'track', `?data=${data}`);
    assert.equal(statusCode, 200);
    assert.equal(headers['content-type'], pixelGif);
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(rawPayload.toString('latin1', 0, 6), 'GIF89a');
  }
  const calls = gateway.producer.calls();
  assert.deepEqual(
    calls.map(({ type, event, userId }) => ({ type, event, userId })),
    spellings.map(() => ({ type: 'track', event: call.event, userId: 'ü' })),
  );
  assert.equal(new Set(calls.map(({ messageId }) => messageId)).size, spellings.length);
});

test('an image may have its write key in Basic authentication too', async () => {
  const gateway = createTestGateway();
  const data = Buffer.from(JSON.stringify(page)).toString('base64url');
  const authorization = `Basic ${Buffer.from('wk_shop:').toString('base64')}`;
  const { statusCode } = await gateway.server.inject({
    method: 'GET',
    url: `/v1/pixel/page?data=${data}`,
    headers: { authorization },
  });
  assert.equal(statusCode, 200);
  assert.equal(gateway.producer.calls().length, 1);
});

test('an image that brings no call is refused as every other request', async () => {
  const gateway = createTestGateway();
  const encoded = (value: unknown): string =>
    `?data=${encodeURIComponent(Buffer.from(JSON.stringify(value)).toString('base64'))}`;
  assert.equal(codeOf(await getPixel(gateway, 'page', '')), '400 no-data');
  assert.equal(codeOf(await getPixel(gateway, 'page', '?data=')), '400 no-data');
  assert.equal(codeOf(await getPixel(gateway, 'page', '?data=a&data=b')), '400 no-data');
  assert.equal(codeOf(await getPixel(gateway, 'page', '?data=%%%')), '400 invalid-json');
  for (const [data, why] of [
    ['zz', 'not UTF-8.'],
    [Buffer.from('no call').toString('base64url'), 'not JSON.'],
    [Buffer.from('[]').toString('base64url'), 'JSON, but not an object.'],
    ['!', 'empty.'],
  ] as const)
    assert.equal(
      messageOf(await getPixel(gateway, 'page', `?data=${data}`)),
      `The \`data\` of the query is ${why}`,
    );
  assert.equal(codeOf(await getPixel(gateway, 'page', encoded(page))), '401 no-write-key');
  const stranger = encoded({ ...page, writeKey: 'wk_other' });
  assert.equal(codeOf(await getPixel(gateway, 'page', stranger)), '401 unknown-write-key');
  assert.equal(codeOf(await getPixel(gateway, 'batch', encoded({ batch: [] }))), '404 not-found');
  const head = {
    method: 'HEAD',
    url: `/v1/pixel/page${encoded({ ...page, writeKey: 'wk_shop' })}`,
  } as const;
  assert.equal((await gateway.server.inject(head)).statusCode, 404);
  assert.deepEqual(gateway.producer.records, []);
});

test('calls above the rate of a write key are answered with 429 until it has recovered', async () => {
  let now = Date.now();
  const clock = {
    now: () => now,
    steadyNow: () => now,
    after: () => ({ cancel: () => undefined }),
  };
  const gateway = createTestGateway({ rateLimit: 10, clock });
  gateway.config.put(exampleSource({ id: 'other', writeKeys: ['wk_other'] }));
  const batch = Array.from({ length: 30 }, () => page);
  assertSuccess(await post(gateway, { batch }));
  const refused = await post(gateway, { batch });
  assert.equal(codeOf(refused), '429 rate-limited');
  assert.equal(refused.headers['retry-after'], '3');
  assertSuccess(await post(gateway, { batch }, { headers: basic('wk_other:') }));
  now += 2_000;
  assert.equal(codeOf(await post(gateway, { batch })), '429 rate-limited');
  now += 100;
  assertSuccess(await post(gateway, { batch }));
});

test('large requests count as more calls, with the fields of their batch in each call', async () => {
  const clock = { now: () => 0, steadyNow: () => 0, after: () => ({ cancel: () => undefined }) };
  const gateway = createTestGateway({ rateLimit: 100, clock });
  const batch = Array.from({ length: 100 }, () => page);
  assertSuccess(await post(gateway, { batch, context: { filler: 'x'.repeat(20_000) } }));
  const refused = await post(gateway, { batch: [page] });
  assert.equal(codeOf(refused), '429 rate-limited');
  // A hundred calls with 20 KB each are worth about a thousand; the first hundred were there.
  assert.ok(Number(refused.headers['retry-after']) >= 9, String(refused.headers['retry-after']));
});

test('hundreds of names that nobody can have meant cost a few looks at most', async () => {
  const gateway = createTestGateway();
  const strange = Object.fromEntries(
    Array.from({ length: 1_500 }, (_, index) => [`propertie${index}`, 1]),
  );
  assertSuccess(await post(gateway, { batch: [{ ...page, ...strange }] }));
  assert.equal(gateway.metrics.oddFields.get('misspelt'), 20);
});

test('requests that the gateway could not take cost nothing of the rate', async () => {
  const clock = { now: () => 0, steadyNow: () => 0, after: () => ({ cancel: () => undefined }) };
  const gateway = createTestGateway({ rateLimit: 1, clock, maxBytes: 10_000 });
  const batch = Array.from({ length: 30 }, () => page);
  assert.equal(codeOf(await post(gateway, { batch })), '429 overloaded');
  gateway.producer.refuses = () => new PostriderError('record-refused', 'no');
  assert.equal(codeOf(await post(gateway, { batch: [page] })), '503 kafka-unavailable');
  gateway.producer.refuses = () => undefined;
  assertSuccess(await post(gateway, { batch: [page] }));
  assert.equal(codeOf(await post(gateway, { batch: [page] })), '429 rate-limited');
});

test('the time of refused requests is not measured: what is refused at once would hide a slow Kafka', async () => {
  const gateway = createTestGateway();
  const measured = (): number => gateway.metrics.requestSeconds.count;
  assert.equal((await post(gateway, 'no JSON')).statusCode, 400);
  assert.equal(measured(), 0);
  assertSuccess(await post(gateway, { batch: [page] }));
  assert.equal(measured(), 1);
});

test('pages of the configured origins may send calls, and are allowed the headers that they ask for', async () => {
  const gateway = createTestGateway({ corsOrigins: ['https://shop.example'] });
  const origin = 'https://shop.example';
  // Of rudder-sdk-js 3, when it sends a call again, and of analytics.js 2.
  const asked =
    'anonymousid,authorization,content-type,rsa-retry-attempt,rsa-retry-reason,sentat,x-retry-count';
  const allowed = await preflight(gateway, { origin, 'access-control-request-headers': asked });
  assert.equal(allowed.statusCode, 204);
  assert.equal(allowed.headers['access-control-allow-headers'], asked);
  const refused = await post(gateway, 'no JSON', { headers: { ...auth, origin } });
  const wrongPath = await post(gateway, {}, { path: 'tracks', headers: { ...auth, origin } });
  for (const { headers } of [allowed, refused, wrongPath]) {
    assert.equal(headers['access-control-allow-origin'], origin);
    assert.equal(headers['access-control-allow-credentials'], 'true');
    assert.equal(headers['access-control-expose-headers'], 'Retry-After');
  }
});

test('a page that may not send calls is told which setting allows it, also where none is allowed', async () => {
  for (const corsOrigins of [[], ['https://shop.example']]) {
    const gateway = createTestGateway({ corsOrigins });
    const refused = await preflight(gateway, { origin: 'https://evil.example' });
    assert.equal(codeOf(refused), '403 unknown-origin');
    assert.match(refused.body, /GATEWAY_CORS_ORIGINS .*https:\/\/evil\.example/);
    assert.equal(refused.headers['access-control-allow-origin'], undefined);
    assert.equal(codeOf(await preflight(gateway, {})), '404 not-found');
  }
});

const preflight = async ({ server }: TestGateway, headers: object): Promise<Response> =>
  server.inject({
    method: 'OPTIONS',
    url: '/v1/track',
    headers: { 'access-control-request-method': 'POST', ...headers },
  });

test('the address of a client is believed only from trusted proxies', async () => {
  const ipOf = async (trustedProxies: string[], forwarded: string): Promise<unknown> => {
    const gateway = createTestGateway({ trustedProxies });
    const headers = { ...auth, 'x-forwarded-for': forwarded };
    await post(gateway, { batch: [{ ...page, context: { direct: true } }] }, { headers });
    const [call] = gateway.producer.calls();
    return (call?.['context'] as { ip?: string }).ip;
  };
  assert.equal(await ipOf([], '203.0.113.7'), '127.0.0.1');
  assert.equal(await ipOf(['127.0.0.0/8'], '203.0.113.7'), '203.0.113.7');
  assert.equal(await ipOf(['127.0.0.0/8'], '198.51.100.1, 203.0.113.7'), '203.0.113.7');
  assert.equal(await ipOf(['127.0.0.0/8', '203.0.113.0/24'], '::1, 203.0.113.7'), '::1');
  const azure = '198.51.100.1:80, 203.0.113.7:51234, 10.1.2.3:443';
  assert.equal(await ipOf(['127.0.0.0/8', '10.0.0.0/8'], azure), '203.0.113.7');
  assert.equal(await ipOf(['127.0.0.0/8'], '[2001:db8::7]:51234'), '2001:db8::7');
  assert.equal(await ipOf(['127.0.0.0/8'], '[2001:db8::7]'), '2001:db8::7');
  assert.equal(await ipOf(['127.0.0.0/8'], '2001:db8::7'), '2001:db8::7');
  assert.equal(await ipOf(['127.0.0.0/8'], '<script>'), undefined);
});

test('what a Postrider delivers is refused for good, also through proxies that add themselves', async () => {
  const gateway = createTestGateway();
  for (const loop of ['postrider', 'edge.example;v="2", Postrider', 'postrider;a=b ,other']) {
    const response = await post(
      gateway,
      { batch: [page] },
      { headers: { ...auth, 'cdn-loop': loop } },
    );
    assert.equal(codeOf(response), '400 loop');
  }
  for (const loop of ['cloudflare', 'postrider.example', 'other;by=postrider', ''])
    assertSuccess(
      await post(gateway, { batch: [page] }, { headers: { ...auth, 'cdn-loop': loop } }),
    );
  assert.equal(gateway.producer.calls().length, 4);
});

test('other paths and methods are answered with 404 and both keys', async () => {
  const { server } = createTestGateway();
  for (const request of ['GET /v1/track', 'POST /v1/delete', 'POST /', 'PUT /v1/batch']) {
    const [method = '', url = ''] = request.split(' ');
    const response = await server.inject({ method: method as 'GET', url, payload: 'x' });
    assert.equal(codeOf(response), '404 not-found');
  }
  assert.equal(codeOf(await server.inject({ method: 'GET', url: '/%zz' })), '400 invalid-request');
});
