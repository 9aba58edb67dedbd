import assert from 'node:assert/strict';
import { test } from 'node:test';
import avro from 'avsc';
import fc from '../harness/fast-check.ts';
import { createDecoder, type Decoded } from '../../src/schemas/decoder.ts';
import { shortest } from '../../src/schemas/avro-input.ts';
import type { ReferencedSchema } from '../../src/schemas/registered-schema.ts';

/** Written by avsc, read by us. */
function avroCall(schema: object, value: object): Decoded {
  return decodeAvro(schema, avro.Type.forSchema(schema as avro.Schema).toBuffer(value));
}

function decodeAvro(schema: object, bytes: Buffer): Decoded {
  return createDecoder({ type: 'AVRO', schema: JSON.stringify(schema), references: [] })(bytes);
}

function record(...fields: readonly (readonly [string, unknown])[]): object {
  const list = fields.map(([name, type]) => ({ name, type }));
  return { type: 'record', name: 'Call', fields: list };
}

test('Avro: every type as JSON has it', () => {
  const schema = record(
    ['nothing', 'null'],
    ['yes', 'boolean'],
    ['int', 'int'],
    ['long', 'long'],
    ['double', 'double'],
    ['bytes', 'bytes'],
    ['fixed', { type: 'fixed', name: 'F', size: 3 }],
    ['enum', { type: 'enum', name: 'E', symbols: ['track', 'page'] }],
    ['list', { type: 'array', items: 'string' }],
    ['map', { type: 'map', values: 'long' }],
    ['nested', { ...record(['deep', 'string']), name: 'Nested' }],
  );
  const { object } = avroCall(schema, {
    nothing: null,
    yes: true,
    int: -7,
    long: 1_763_664_000_000,
    double: 39.95,
    bytes: Buffer.from([0, 255]),
    fixed: Buffer.from('abc'),
    enum: 'page',
    list: ['a', 'Käufer 😀', 'x'.repeat(300)],
    map: { a: 1, b: -2 },
    nested: { deep: 'd' },
  });
  assert.deepEqual(object, {
    nothing: null,
    yes: true,
    int: -7,
    long: 1_763_664_000_000,
    double: 39.95,
    bytes: 'AP8=',
    fixed: 'YWJj',
    enum: 'page',
    list: ['a', 'Käufer 😀', 'x'.repeat(300)],
    map: { a: 1, b: -2 },
    nested: { deep: 'd' },
  });
});

test('Avro: a union is the value alone, also where branches are alike', () => {
  const union = ['null', 'int', 'long', 'string', { type: 'map', values: ['null', 'double'] }];
  const schema = record(['a', union], ['b', union], ['c', union], ['d', union]);
  const value = { a: null, b: { long: 5 }, c: { string: 's' }, d: { map: { x: null, y: 0.5 } } };
  const type = avro.Type.forSchema(schema as avro.Schema);
  const wrapped = { ...value, d: { map: { x: null, y: { double: 0.5 } } } };
  const isWrapped = type.isValid(wrapped);
  const { object } = decodeAvro(schema, type.toBuffer(isWrapped ? wrapped : value));
  assert.deepEqual(object, { a: null, b: 5, c: 's', d: { x: null, y: 0.5 } });
});

test('a number of 32 bits is what was written, and not the nearest number of 64 bits', () => {
  for (const value of [0.1, 19.99, 1e-5, 16_777_216, 3.4028235e38, 123_456_792, 1.5e-38, -0.3, 0.5])
    assert.equal(shortest(Math.fround(value)), value);
  const schema = record(['n', 'float']);
  assert.deepEqual(avroCall(schema, { n: 0.1 }).object, { n: 0.1 });
});

test('Avro: a long is a number where a double holds it, else decimal text', () => {
  const schema = record(['n', 'long']);
  const bigLong = avro.types.LongType.__with({
    fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
    toBuffer: (value: bigint) => {
      const buffer = Buffer.alloc(8);
      buffer.writeBigInt64LE(value);
      return buffer;
    },
    fromJSON: BigInt,
    toJSON: String,
    isValid: (value: unknown) => typeof value === 'bigint',
    compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
  });
  const registry = { long: bigLong };
  const type = avro.Type.forSchema(schema as avro.Schema, { registry });
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.nat(63), (any, shift) => {
      const n = any >> BigInt(shift);
      const expected = Number.isSafeInteger(Number(n)) ? Number(n) : n.toString();
      assert.deepEqual(decodeAvro(schema, type.toBuffer({ n })).object, { n: expected });
    }),
    { numRuns: 1_000 },
  );
});

test('Avro: logical types are what people write in JSON', () => {
  const logical = (type: string, logicalType: string, more: object = {}): object => ({
    type,
    logicalType,
    ...more,
  });
  const schema = record(
    ['millis', logical('long', 'timestamp-millis')],
    ['micros', ['null', logical('long', 'timestamp-micros')]],
    ['local', logical('long', 'local-timestamp-millis')],
    ['date', logical('int', 'date')],
    ['time', logical('int', 'time-millis')],
    ['price', logical('bytes', 'decimal', { precision: 9, scale: 2 })],
    ['debt', logical('bytes', 'decimal', { precision: 9, scale: 2 })],
    ['id', logical('string', 'uuid')],
    ['own', logical('int', 'of-somebody')],
    ['late', logical('long', 'timestamp-millis')],
  );
  const atMs = Date.parse('2026-11-20T18:59:40.123Z');
  const { object } = avroCall(schema, {
    millis: atMs,
    micros: atMs * 1_000 + 456,
    local: atMs,
    date: 20_777,
    time: 3_723_004,
    price: Buffer.from([0x0f, 0x9b]),
    debt: Buffer.from([0xfb]),
    id: 'u',
    own: 3,
    late: 2 ** 52,
  });
  assert.deepEqual(object, {
    millis: '2026-11-20T18:59:40.123Z',
    micros: '2026-11-20T18:59:40.123Z',
    local: '2026-11-20T18:59:40.123',
    date: '2026-11-20',
    time: '01:02:03.004',
    price: '39.95',
    debt: '-0.05',
    id: 'u',
    own: 3,
    late: 2 ** 52,
  });
});

test('Avro: a logical type on a type that it is not for leaves the value as it is', () => {
  const fixed = { type: 'fixed', name: 'F', size: 2 };
  const price = Buffer.from([0x0f, 0x9b]);
  const cases: readonly (readonly [object, unknown, unknown])[] = [
    [{ type: 'string', logicalType: 'decimal', precision: 9, scale: 2 }, '39.95', '39.95'],
    [{ type: 'long', logicalType: 'decimal', precision: 9, scale: 2 }, 3_995, 3_995],
    [{ type: 'string', logicalType: 'timestamp-millis' }, '', ''],
    [{ type: 'int', logicalType: 'timestamp-millis' }, 5, 5],
    [{ type: 'long', logicalType: 'date' }, 20_777, 20_777],
    [{ type: 'long', logicalType: 'time-millis' }, 5, 5],
    [{ type: 'int', logicalType: 'time-micros' }, 5, 5],
    [{ type: 'bytes', logicalType: 'decimal', precision: 9, scale: -2 }, price, 'D5s='],
    [{ type: 'bytes', logicalType: 'decimal', precision: 1, scale: 2 }, price, 'D5s='],
    [{ type: 'bytes', logicalType: 'decimal', precision: 9, scale: 0.5 }, price, 'D5s='],
    [{ type: 'bytes', logicalType: 'decimal', scale: 2 }, price, 'D5s='],
    [{ ...fixed, logicalType: 'timestamp-millis' }, price, 'D5s='],
    [{ ...fixed, logicalType: 'decimal', precision: 4, scale: 2 }, price, '39.95'],
    [{ type: 'bytes', logicalType: 'decimal', precision: 4 }, price, '3995'],
  ];
  for (const [type, written, v] of cases) {
    const { object } = avroCall(record(['v', type]), { v: written });
    assert.deepEqual(object, { v }, JSON.stringify(type));
  }
});

test('Avro: a time in nanoseconds is cut to the millisecond that it is in, never to the one before', () => {
  const schema = record(['at', { type: 'long', logicalType: 'timestamp-nanos' }]);
  fc.assert(
    fc.property(fc.integer({ min: -(10 ** 12), max: 4 * 10 ** 12 }), fc.nat(999_999), (ms, ns) => {
      const { object } = decodeAvro(schema, longBytes(BigInt(ms) * 1_000_000n + BigInt(ns)));
      assert.deepEqual(object, { at: new Date(ms).toISOString() });
    }),
    { numRuns: 1_000 },
  );
  const exactly = decodeAvro(schema, longBytes(1_763_664_000_123_000_000n));
  assert.deepEqual(exactly.object, { at: new Date(1_763_664_000_123).toISOString() });
});

/** As Avro writes a long. */
function longBytes(value: bigint): Buffer {
  let zigzag = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  const bytes: number[] = [];
  for (; zigzag > 0x7fn; zigzag >>= 7n) bytes.push(Number(zigzag & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(zigzag)]);
}

test('Avro: bytes that do not fit their schema are refused, whatever they are', () => {
  const schema = record(
    ['s', 'string'],
    ['e', { type: 'enum', name: 'E', symbols: ['a'] }],
    ['u', ['null', 'long']],
    ['m', { type: 'map', values: { type: 'array', items: 'double' } }],
    ['b', 'boolean'],
  );
  const good = avro.Type.forSchema(schema as avro.Schema).toBuffer({
    s: 'text',
    e: 'a',
    u: 5,
    m: { k: [1.5] },
    b: true,
  });
  assert.equal(decodeAvro(schema, Buffer.concat([good, good])).rejected?.reason, 'undecodable');
  for (let length = 0; length < good.length; length += 1) {
    assert.equal(decodeAvro(schema, good.subarray(0, length)).rejected?.reason, 'undecodable');
  }
  const decode = createDecoder({ type: 'AVRO', schema: JSON.stringify(schema), references: [] });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const { object, rejected } = decode(Buffer.from(bytes));
      assert.ok((object === undefined) !== (rejected === undefined));
    }),
    { numRuns: 2_000 },
  );
});

test('Avro: a text or a key that is not UTF-8 is refused, as it is in JSON', () => {
  const schema = record(['userId', 'string'], ['map', { type: 'map', values: 'null' }]);
  const decoded = (text: Buffer, key: Buffer): Decoded => {
    const lengths = [longBytes(BigInt(text.length)), longBytes(BigInt(key.length))] as const;
    const map = [Buffer.from([2]), lengths[1], key, Buffer.from([0])];
    return decodeAvro(schema, Buffer.concat([lengths[0], text, ...map]));
  };
  const replacement = '\ufffd';
  assert.deepEqual(decoded(Buffer.from(replacement), Buffer.from('ü')).object, {
    userId: replacement,
    map: { ü: null },
  });
  const ff = Buffer.from([0x75, 0xff]);
  const long = Buffer.concat([Buffer.alloc(100, 'u'), ff]);
  for (const bad of [ff, long]) {
    assert.equal(decoded(bad, Buffer.from('k')).rejected?.reason, 'undecodable');
    assert.equal(decoded(Buffer.from('u'), bad).rejected?.reason, 'undecodable');
  }
});

test('Avro: few bytes that stand for much are refused before they fill the memory', () => {
  const nulls = record(['list', { type: 'array', items: 'null' }]);
  const twoBillion = Buffer.from([0xfe, 0xff, 0xff, 0xff, 0x0f, 0]);
  assert.equal(decodeAvro(nulls, twoBillion).rejected?.reason, 'too-large');
  const name = 'n'.repeat(200);
  const named = { type: 'record', name: 'R', fields: [{ name, type: 'boolean' }] };
  const many = avroCall(record(['list', { type: 'array', items: named }]), {
    list: Array.from({ length: 1_000 }, () => ({ [name]: true })),
  });
  assert.equal(many.rejected?.reason, 'too-large');
});

test('Avro: what is nested deeper than 64 is refused, also without an end', () => {
  const endless = { type: 'record', name: 'R', fields: [{ name: 'r', type: 'R' }] };
  assert.equal(decodeAvro(endless, Buffer.alloc(0)).rejected?.reason, 'too-deep');
  const chain = { type: 'record', name: 'R', fields: [{ name: 'r', type: ['null', 'R'] }] };
  const deep = (levels: number): Buffer => Buffer.from([...Array<number>(levels - 1).fill(2), 0]);
  assert.equal(decodeAvro(chain, deep(63)).rejected, undefined);
  assert.equal(decodeAvro(chain, deep(66)).rejected?.reason, 'too-deep');
});

test('a key __proto__ is a key like any other', () => {
  const { object } = avroCall(record(['properties', { type: 'map', values: 'string' }]), {
    properties: Object.fromEntries([['a', 'b']]),
  });
  assert.deepEqual(object, { properties: { a: 'b' } });
  const bytes = Buffer.concat([
    Buffer.from([2, 18]),
    Buffer.from('__proto__'),
    Buffer.from([2, 120, 0]),
  ]);
  const odd = decodeAvro(record(['properties', { type: 'map', values: 'string' }]), bytes);
  assert.equal(JSON.stringify(odd.object), '{"properties":{"__proto__":"x"}}');
});

test('Avro: a default that does not fit its field hinders nothing, as no value is read from it', () => {
  const fields = [
    { name: 'event', type: ['string', 'null'], default: null },
    { name: 'least', type: 'long', default: -(2 ** 63) },
    { name: 'kind', type: { type: 'enum', name: 'E', symbols: ['a', 'b'], default: 'a' } },
  ];
  const schema = { type: 'record', name: 'Call', fields };
  const { object } = decodeAvro(schema, Buffer.from([0, 2, 120, 14, 2]));
  assert.deepEqual(object, { event: 'x', least: 7, kind: 'b' });
});

test('Avro: a schema may refer to another one', () => {
  const references: ReferencedSchema[] = [
    {
      name: 'a.User',
      schema: '{"type":"record","name":"a.User","fields":[{"name":"id","type":"string"}]}',
    },
  ];
  const schema = '{"type":"record","name":"b.Call","fields":[{"name":"user","type":"a.User"}]}';
  const { object } = createDecoder({ type: 'AVRO', schema, references })(Buffer.from('\u0004u1'));
  assert.deepEqual(object, { user: { id: 'u1' } });
});

test('JSON text in the open fields becomes the object that it stands for', () => {
  const schema = record(['properties', 'string'], ['note', 'string']);
  const { object } = avroCall(schema, { properties: '{"a":[1,{"b":null}]}', note: '{}' });
  assert.deepEqual(object, { properties: { a: [1, { b: null }] }, note: '{}' });
  assert.deepEqual(avroCall(schema, { properties: '', note: '' }).object, {
    properties: null,
    note: '',
  });
  const reasonOf = (properties: string): string | undefined =>
    avroCall(schema, { properties, note: '' }).rejected?.reason;
  assert.equal(reasonOf('{'), 'invalid-json');
  assert.equal(reasonOf('[1]'), 'not-an-object');
  assert.equal(reasonOf(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`), 'too-deep');
});

test('a schema whose value is no record and no map gives no call', () => {
  assert.equal(
    decodeAvro('string' as unknown as object, Buffer.from('\u0002a')).rejected?.reason,
    'not-an-object',
  );
});

function jsonCall(schema: object, text: string): Decoded {
  const decode = createDecoder({ type: 'JSON', schema: JSON.stringify(schema), references: [] });
  return decode(Buffer.from(text));
}

test('JSON Schema: a value that fits is left as it is, another one is refused with its place', () => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { type: { const: 'track' }, when: { type: 'string', format: 'date-time' } },
    required: ['type'],
  };
  assert.deepEqual(jsonCall(schema, '{"type":"track","when":"odd","more":1}').object, {
    type: 'track',
    when: 'odd',
    more: 1,
  });
  const { reason, detail } = jsonCall(schema, '{"type":"track","when":5}').rejected ?? {};
  assert.equal(reason, 'undecodable');
  assert.equal(detail, 'The value does not fit its JSON Schema: "/when" must be string.');
  assert.equal(jsonCall(schema, '{"type":').rejected?.reason, 'invalid-json');
});

test('JSON Schema: dialects up to 2020-12, and references by name', () => {
  for (const dialect of ['draft-04/schema#', 'draft/2019-09/schema', 'draft/2020-12/schema']) {
    const schema = { $schema: `https://json-schema.org/${dialect}`, type: 'object' };
    assert.deepEqual(jsonCall(schema, '{}').object, {}, dialect);
  }
  const decode = createDecoder({
    type: 'JSON',
    schema: '{"properties":{"user":{"$ref":"user.json"}}}',
    references: [{ name: 'user.json', schema: '{"type":"string"}' }],
  });
  assert.equal(decode(Buffer.from('{"user":1}')).rejected?.reason, 'undecodable');
  assert.equal(decode(Buffer.from('{"user":"u"}')).rejected, undefined);
});

test('Avro: the digits of a decimal count before they are made', () => {
  const decimal = (scale: number): object =>
    record([
      'list',
      { type: 'array', items: { type: 'bytes', logicalType: 'decimal', precision: scale, scale } },
    ]);
  // An array of five decimals of one byte each.
  const bytes = Buffer.from([10, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 0]);
  assert.equal(decodeAvro(decimal(5_000), bytes).rejected, undefined);
  for (const scale of [7_000, 100_000_000])
    assert.equal(decodeAvro(decimal(scale), bytes).rejected?.reason, 'too-large', `${scale}`);
});

test('JSON Schema: $async is no keyword, so that no value fits without being checked', () => {
  const schema = '{"$async":true,"required":["x"]}';
  const decode = createDecoder({ type: 'JSON', schema, references: [] });
  assert.equal(decode(Buffer.from('{"a":1}')).rejected?.reason, 'undecodable');
  assert.deepEqual(decode(Buffer.from('{"x":1}')).object, { x: 1 });
});
