import assert from 'node:assert/strict';
import { maxCallBytes, maxDepth } from '../../../../src/event/limits.ts';
import { isDeeper } from '../../../../src/event/read-json.ts';
import { rejectReasons } from '../../../../src/event/rejection.ts';
import { createDecoder, type Decoder } from '../../../../src/schemas/decoder.ts';
import { payloadOf, schemaIdOf } from '../../../../src/schemas/registered-schema.ts';

/** The rules for typed records, in the registry's wire format with the schema in front of it. */

const schemaId = Buffer.from([0, 0, 0, 0, 7]);

/** @param hex the encoded value */
export function typedSeed(schema: string, hex: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(Buffer.byteLength(schema));
  return Buffer.concat([length, Buffer.from(schema), schemaId, Buffer.from(hex, 'hex')]);
}

export function checkTyped(type: 'AVRO' | 'JSON' | 'PROTOBUF', input: Buffer): void {
  if (input.length < 2) return;
  const end = 2 + input.readUInt16BE(0);
  const schema = input.toString('utf8', 2, end);
  const value = input.subarray(end);
  if (schemaIdOf(value) === undefined || value.length > maxCallBytes) return;
  let decode: Decoder;
  try {
    decode = createDecoder({ type, schema, references: [] });
  } catch (error) {
    // Whatever it is becomes a rejection of all records of the schema.
    assert.ok(error instanceof Error);
    return;
  }
  const first = decode(payloadOf(value));
  assert.deepEqual(decode(payloadOf(value)), first, 'the same record gives the same call');
  if (first.object === undefined) {
    assert.ok(Object.hasOwn(rejectReasons, first.rejected.reason));
    assert.ok(first.rejected.detail.length > 0 && first.rejected.detail.length < 400);
    return;
  }
  const json = JSON.stringify(first.object);
  assert.ok(Buffer.byteLength(json) <= maxCallBytes, `a call of ${type} is larger than allowed`);
  assert.ok(!isDeeper(first.object, maxDepth), `a call of ${type} is deeper than allowed`);
  // What JSON cannot hold would be another call for whoever reads the body.
  assert.equal(JSON.stringify(JSON.parse(json)), json);
}
