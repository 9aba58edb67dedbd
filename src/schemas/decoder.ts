import type { JsonObject } from '../event/read-json.ts';
import type { Rejection } from '../event/rejection.ts';
import { createAvroDecoder } from './avro-decoder.ts';
import { shownError } from '../event/rejection.ts';
import { DecodeError, type Output } from './output.ts';
import { createJsonDecoder, expandJsonText } from './json-decoder.ts';
import { createProtobufDecoder } from './protobuf-decoder.ts';
import type { RegisteredSchema } from './registered-schema.ts';

export type Decoded =
  | { readonly object: JsonObject; readonly rejected?: undefined }
  | { readonly object?: undefined; readonly rejected: Rejection };

/** Decodes a value of one schema into the object that JSON would have given. Never throws. */
export type Decoder = (payload: Buffer) => Decoded;

/** @throws Error if the schema cannot be used */
export function createDecoder(schema: RegisteredSchema): Decoder {
  const decode = objectDecoder(schema);
  return (payload) => {
    try {
      return { object: decode(payload) };
    } catch (error) {
      if (error instanceof DecodeError) return { rejected: error.rejection };
      // Libraries may fail in any way on hostile bytes, including a stack overflow.
      const detail = `The value cannot be decoded: ${shownError(error)}.`;
      return { rejected: { reason: 'undecodable', detail } };
    }
  };
}

function objectDecoder(schema: RegisteredSchema): (payload: Buffer) => JsonObject {
  switch (schema.type) {
    case 'JSON':
      return createJsonDecoder(schema);
    case 'AVRO': {
      const decode = createAvroDecoder(schema);
      return (payload) => {
        const { value, input } = decode(payload);
        return toCall(value, input.output);
      };
    }
    case 'PROTOBUF': {
      const decode = createProtobufDecoder(schema);
      return (payload) => {
        const { value, output } = decode(payload);
        return toCall(value, output);
      };
    }
    default:
      throw new Error(`its type is ${schema.type}; known are AVRO, JSON and PROTOBUF`);
  }
}

function toCall(value: unknown, output: Output): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new DecodeError('not-an-object', 'The value is neither a record nor a map.');
  }
  const call = value as JsonObject;
  output.check(call);
  expandJsonText(call);
  return call;
}
