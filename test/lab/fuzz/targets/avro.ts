import type { Target } from '../engine/target.ts';
import { checkTyped, typedSeed } from './typed.ts';

const call = {
  type: 'record',
  name: 'Call',
  fields: [
    { name: 'type', type: { type: 'enum', name: 'T', symbols: ['track', 'page'] } },
    { name: 'userId', type: ['null', 'string'] },
    { name: 'timestamp', type: { type: 'long', logicalType: 'timestamp-micros' } },
    { name: 'properties', type: { type: 'map', values: ['null', 'long', 'string', 'Call'] } },
    { name: 'list', type: { type: 'array', items: 'double' } },
  ],
};
const values = {
  type: 'record',
  name: 'V',
  fields: [
    { name: 'price', type: { type: 'bytes', logicalType: 'decimal', precision: 9, scale: 2 } },
    { name: 'day', type: { type: 'int', logicalType: 'date' } },
    { name: 'at', type: { type: 'int', logicalType: 'time-millis' } },
    { name: 'f', type: { type: 'fixed', name: 'F', size: 3 } },
    { name: 'flag', type: 'boolean' },
    { name: 'x', type: 'float' },
  ],
};

/** The length of the schema in two bytes, the schema, and the encoded value. */
export const target: Target = {
  about:
    'values of Avro schemas, and the schemas: an unusable schema, a rejection, or a call within the limits',
  seeds: [
    typedSeed(
      JSON.stringify(call),
      '00026a80808080d0b0be0502026104020000000000000000000000f03f0000',
    ),
    typedSeed(JSON.stringify(values), '0403e8c0dd02c09f01616263010000803f'),
    typedSeed('{"type":"map","values":"string"}', '02026102620000'),
    typedSeed('"string"', '0261'),
    typedSeed(
      '{"type":"record","name":"a.b.C","fields":[{"name":"c","type":["null","C"]}]}',
      '020200',
    ),
  ],
  words: [
    ...['"type"', '"record"', '"name"', '"fields"', '"array"', '"items"', '"map"', '"values"'],
    ...['"enum"', '"symbols"', '"fixed"', '"size"', '"logicalType"', '"decimal"', '"scale":9'],
    ...['"precision":99', '"null"', '"long"', '"bytes"', '"namespace"', '"aliases"', '"default"'],
    ...['"timestamp-millis"', '"timestamp-nanos"', '"time-micros"', '"local-timestamp-micros"'],
    ...['"__proto__"', '"constructor"', '"error"', '"request"', '{}', '[]', ','],
    ...['\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01', '\x80\x80\x80\x80\x10', '\x01\x7f'],
  ],
  covers: ['/avsc/'],
  check(input) {
    checkTyped('AVRO', input);
  },
};
