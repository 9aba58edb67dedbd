import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import protobuf from 'protobufjs';
import { createDecoder, type Decoded } from '../../src/schemas/decoder.ts';

const proto = `
  syntax = "proto3";
  package shop.v1;
  import "google/protobuf/struct.proto";
  import "google/protobuf/timestamp.proto";
  message Other { string note = 1; }
  message Call {
    enum Type { UNSET = 0; track = 1; }
    message Item { string sku = 1; int64 big = 2; }
    Type type = 1;
    string user_id = 2;
    google.protobuf.Timestamp timestamp = 3;
    google.protobuf.Struct properties = 4;
    repeated Item items = 5;
    map<string, double> prices = 6;
    bytes raw = 7;
    optional bool flag = 8;
    map<int64, string> by_number = 10;
    uint64 count = 9 [json_name = "howMany"];
    float rate = 11;
  }
`;

function protoCall(bytes: Uint8Array, indexes: readonly number[] = [2, 2]): Decoded {
  const decode = createDecoder({ type: 'PROTOBUF', schema: proto, references: [] });
  return decode(Buffer.concat([Buffer.from(indexes), bytes]));
}

function encodeProto(name: string, value: object): Uint8Array {
  const { root } = protobuf.parse(proto);
  for (const file of ['google/protobuf/struct.proto', 'google/protobuf/timestamp.proto']) {
    root.addJSON(protobuf.common.get(file)?.nested ?? {});
  }
  const type = root.lookupType(name);
  return type.encode(type.fromObject(value)).finish();
}

test('Protobuf: a message as its JSON mapping has it, found by its place in the file', () => {
  const bytes = encodeProto('shop.v1.Call', {
    type: 'track',
    userId: 'u1',
    timestamp: { seconds: 1_763_664_000, nanos: 123_000_000 },
    properties: {
      fields: {
        total: { numberValue: 39.95 },
        none: { nullValue: 'NULL_VALUE' },
        tags: { listValue: { values: [{ stringValue: 'a' }, { boolValue: true }] } },
        inner: { structValue: { fields: { deep: { stringValue: 'd' } } } },
      },
    },
    items: [{ sku: 's', big: '9007199254740993' }, { big: 7 }],
    prices: { a: 0.5 },
    raw: Buffer.from([0, 255]),
    flag: false,
    count: 3,
    rate: 0.1,
    byNumber: { '-5': 'e' },
  });
  assert.deepEqual(protoCall(bytes).object, {
    type: 'track',
    userId: 'u1',
    timestamp: new Date(1_763_664_000_123).toISOString(),
    properties: { total: 39.95, none: null, tags: ['a', true], inner: { deep: 'd' } },
    items: [{ sku: 's', big: '9007199254740993' }, { big: 7 }],
    prices: { a: 0.5 },
    raw: 'AP8=',
    flag: false,
    byNumber: { '-5': 'e' },
    howMany: 3,
    rate: 0.1,
  });
  const first = encodeProto('shop.v1.Other', { note: 'n' });
  assert.deepEqual(protoCall(first, [0]).object, { note: 'n' });
  const nested = encodeProto('shop.v1.Call.Item', { sku: 's' });
  assert.deepEqual(protoCall(nested, [4, 2, 0]).object, { sku: 's' });
});

test('Protobuf: options that a schema or its reference adds to fields do not hinder', () => {
  const options = `
    syntax = "proto2";
    package validate;
    import "google/protobuf/descriptor.proto";
    message Rules { optional bool required = 1; }
    extend google.protobuf.FieldOptions { optional Rules rules = 1071; }
  `;
  const schema = `
    syntax = "proto3";
    package shop;
    import "google/protobuf/descriptor.proto";
    import "validate.proto";
    extend .google.protobuf.MessageOptions { string owner = 50001; }
    message Call {
      option (owner) = "shop";
      string user_id = 1 [(validate.rules).required = true];
    }
  `;
  const references = [{ name: 'validate.proto', schema: options }];
  const decode = createDecoder({ type: 'PROTOBUF', schema, references });
  const bytes = Buffer.from([0, 10, 2, 0x75, 0x31]);
  assert.deepEqual(decode(bytes).object, { userId: 'u1' });
  const unknown = 'syntax = "proto2"; message M {} extend Gone { optional int32 a = 1; }';
  assert.throws(
    () => createDecoder({ type: 'PROTOBUF', schema: unknown, references: [] }),
    /unresolvable extensions/,
  );
});

test('Protobuf: bytes that are no message, and indexes of none, are refused', () => {
  assert.equal(protoCall(Buffer.from([0xff])).rejected?.reason, 'undecodable');
  assert.equal(protoCall(Buffer.alloc(0), [2, 8]).rejected?.reason, 'undecodable');
  assert.equal(protoCall(Buffer.alloc(0), []).rejected?.reason, 'undecodable');
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const { object, rejected } = protoCall(bytes);
      assert.ok((object === undefined) !== (rejected === undefined));
    }),
    { numRuns: 200 },
  );
});

test('Protobuf: what is nested deeper than 64 is refused', () => {
  const schema = 'syntax = "proto3"; message M { M m = 1; }';
  const decode = createDecoder({ type: 'PROTOBUF', schema, references: [] });
  let bytes = Buffer.alloc(0);
  for (let level = 0; level < 90; level += 1) {
    const length =
      bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
    bytes = Buffer.concat([Buffer.from([10, ...length]), bytes]);
  }
  const { reason } = decode(Buffer.concat([Buffer.from([0]), bytes])).rejected ?? {};
  assert.ok(reason === 'too-deep' || reason === 'undecodable', reason);
});
