import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from '../harness/fast-check.ts';
import type { InjectOptions } from 'fastify';
import { maxBytesOf, parseCall } from '../../src/event/parse-call.ts';
import { anyCall, anyJson } from '../event/some-calls.ts';
import { auth, createTestGateway, topics } from './fakes.ts';

const anyTime = fc.oneof(
  fc.constantFrom(null, '', 'garbage', '2026-11-20T18:59:40-0500', '2026-11-20', 7, {}),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
);

/** Beyond what a call may have. */
const anyHuge = fc.constantFrom(33_000, 100_000).map((length) => ({
  type: 'page',
  userId: 'u',
  properties: { filler: 'x'.repeat(length) },
}));
const anyDeep = fc.integer({ min: 60, max: 1_000 }).map((levels): unknown => {
  let nested: unknown = 7;
  for (let level = 0; level < levels; level += 1) nested = level % 2 === 0 ? [nested] : { nested };
  return nested;
});
const anyFlood = fc
  .tuple(fc.constantFrom(100, 5_000, 5_001, 50_000), anyJson)
  .map(([length, item]) => Array.from({ length }, () => item))
  .filter((batch) => JSON.stringify(batch).length < 600_000);

const anyBatch = fc.record(
  {
    batch: fc.oneof(
      { weight: 60, arbitrary: fc.array(fc.oneof(anyCall, anyJson), { maxLength: 5 }) },
      { weight: 10, arbitrary: anyJson },
      { weight: 4, arbitrary: fc.array(fc.oneof(anyHuge, anyDeep, anyCall), { maxLength: 5 }) },
      { weight: 1, arbitrary: anyFlood },
    ),
    context: fc.oneof(anyJson, fc.constant({ direct: true })),
    integrations: anyJson,
    sentAt: anyTime,
    writeKey: fc.constantFrom('wk_shop', 'wk_other', '', null, 7),
  },
  { requiredKeys: ['batch'] },
);

const anyText = fc
  .oneof(
    { weight: 6, arbitrary: anyBatch },
    { weight: 3, arbitrary: anyCall },
    { weight: 1, arbitrary: anyJson },
  )
  .map((value) => Buffer.from(JSON.stringify(value)));

/** Bytes in the place of others, and an end that comes too early. */
const damaged = fc
  .tuple(anyText, fc.nat(), fc.uint8Array({ maxLength: 4 }), fc.nat())
  .map(([text, at, bytes, cut]) => {
    const copy = Buffer.concat([text]);
    copy.set(bytes.subarray(0, copy.length), at % Math.max(1, copy.length - bytes.length));
    return copy.subarray(0, copy.length - (cut % 3 === 0 ? cut % copy.length : 0));
  });

const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));

const anyBody = fc
  .tuple(
    fc.oneof({ weight: 6, arbitrary: anyText }, { weight: 3, arbitrary: damaged }, anyBytes),
    fc.constantFrom('plain', 'plain', 'gzip', 'cut gzip', 'gzip of gzip'),
  )
  .map(([bytes, packing]) => {
    if (packing === 'plain') return bytes;
    const zipped = gzipSync(bytes);
    if (packing === 'cut gzip') return zipped.subarray(0, Math.floor(zipped.length / 2));
    return packing === 'gzip' ? zipped : gzipSync(zipped);
  });

const headerText = fc.string({ maxLength: 20 });

const anyHeaders = fc.record(
  {
    authorization: fc.oneof(
      { weight: 6, arbitrary: fc.constant(auth.authorization) },
      headerText,
      headerText.map((text) => `Basic ${text}`),
    ),
    'content-type': fc.oneof(
      fc.constantFrom('application/json', 'text/plain', 'application/json; charset=utf-16', ';'),
      headerText,
    ),
    'content-encoding': fc.oneof(
      fc.constantFrom('gzip', 'br', 'identity', 'GZIP, gzip'),
      headerText,
    ),
    'content-length': fc.constantFrom('0', '5', '99999999', '-1', 'x'),
    'transfer-encoding': fc.constantFrom('chunked', 'gzip'),
    'x-forwarded-for': fc.oneof(fc.constantFrom('203.0.113.7', '::1, 10.0.0.1', ','), headerText),
    expect: fc.constantFrom('100-continue', 'more'),
    origin: fc.oneof(fc.constantFrom('https://shop.example', 'null'), headerText),
    connection: fc.constantFrom('close', 'upgrade', 'keep-alive'),
  },
  { requiredKeys: [] },
);

const anyPath = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.constantFrom(
      'batch',
      'import',
      'track',
      'identify',
      'page',
      'screen',
      'group/',
      '/alias',
      'b',
      't',
      'i',
      'p',
      's',
      'g',
      'a',
    ),
  },
  fc.webPath(),
);

const anyPixel: fc.Arbitrary<InjectOptions> = fc
  .tuple(
    fc.constantFrom('track', 'identify', 'page', 'screen', 'group', 'alias', 'batch'),
    fc.oneof(
      {
        weight: 3,
        arbitrary: anyCall.map((call) => JSON.stringify({ ...call, writeKey: 'wk_shop' })),
      },
      {
        weight: 1,
        arbitrary: fc.oneof(anyText, damaged, anyBytes).map((bytes) => bytes.toString('latin1')),
      },
    ),
    fc.constantFrom('base64', 'base64url', 'latin1' as const),
  )
  .map(([type, text, encoding]) => ({
    method: 'GET',
    url: `/v1/pixel/${type}?data=${encodeURIComponent(Buffer.from(text).toString(encoding))}`,
  }));

const anyPost: fc.Arbitrary<InjectOptions> = fc.record({
  method: fc.oneof(
    { weight: 19, arbitrary: fc.constant('POST' as const) },
    fc.constantFrom('GET', 'PUT', 'OPTIONS', 'HEAD', 'DELETE'),
  ),
  url: anyPath.map((path) => `/v1/${path}`),
  headers: anyHeaders,
  payload: anyBody,
});

const anyRequest = fc.oneof({ weight: 9, arbitrary: anyPost }, { weight: 1, arbitrary: anyPixel });

const origin = { topic: 't', partition: 0, offset: 0, appendTimeMs: 0 };

test('2,000 odd requests: never a 5xx, never a hang, and what reaches ingest is a call for the router', async () => {
  const { server, producer } = createTestGateway({
    corsOrigins: ['https://shop.example'],
    trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'],
  });
  const counts = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(anyRequest, async (request) => {
      producer.records.splice(0);
      const { statusCode, body, headers: answered } = await server.inject(request);
      counts.set(statusCode, (counts.get(statusCode) ?? 0) + 1);
      assert.ok(statusCode < 500, `${statusCode} ${body}`);
      if (answered['content-type'] === 'image/gif') assert.equal(statusCode, 200);
      else if (statusCode === 200)
        assert.match(body, /^\{"success":true(?:,"rejected":\[.+\])?\}$/);
      else if (body !== '') {
        assert.deepEqual(Object.keys(JSON.parse(body) as object), ['code', 'message']);
      }
      if (statusCode !== 200) assert.deepEqual(producer.records, []);
      assert.ok(producer.records.length < 6_000);
      for (const { topic, value, headers = {} } of producer.records) {
        const bytes = Buffer.from(String(value));
        const { rejected } = parseCall(bytes, origin, maxBytesOf(headers));
        if (topic === topics.ingest) assert.equal(rejected, undefined, String(value));
        else assert.ok(String(headers['reason']).length > 0);
      }
    }),
    { numRuns: 2_000 },
  );
  // A fuzzer that gets nothing accepted, or nothing refused, tests little.
  for (const status of [200, 400, 401, 404]) assert.ok((counts.get(status) ?? 0) > 20, `${status}`);
});

test('whatever comes on a socket, the connection ends and the next one is served', async (t) => {
  const { server } = createTestGateway();
  await server.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => server.close());
  const { port } = server.server.address() as AddressInfo;
  const pieces = fc.constantFrom(
    'POST /v1/batch HTTP/1.1\r\n',
    'GET / HTTP/1.0\r\n',
    'host: x\r\n',
    '\r\n',
    '{"batch":[]}',
    'content-length: 12\r\n',
    'content-length: -1\r\n',
    'transfer-encoding: chunked\r\n',
    'c\r\n{"batch":[]}\r\n',
    '0\r\n\r\n',
    'expect: 100-continue\r\n',
    '\u0000',
    'zz\r\n',
    'connection: upgrade\r\nupgrade: websocket\r\n',
    `authorization: ${auth.authorization}\r\n`,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (sent) => {
      const socket = connect(port, '127.0.0.1')
        .on('error', () => undefined)
        .resume();
      socket.end(sent.join(''));
      await once(socket, 'close');
    }),
    { numRuns: 200 },
  );
  const { status } = await fetch(`http://127.0.0.1:${port}/v1/batch`, {
    method: 'POST',
    headers: auth,
    body: '{"batch":[]}',
  });
  assert.equal(status, 200);
});
