import type { Target } from '../engine/target.ts';
import { checkTyped, typedSeed } from './typed.ts';

const value = Buffer.from('{"type":"page","userId":"u","n":1.5,"list":[1,2]}').toString('hex');
const call = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  required: ['type'],
  properties: {
    type: { enum: ['page', 'track'] },
    userId: { type: ['string', 'null'], minLength: 1, pattern: '^u' },
    n: { minimum: 0, multipleOf: 0.5 },
    list: { items: { $ref: '#/definitions/n' }, uniqueItems: true },
  },
  definitions: { n: { type: 'number' } },
};

/** The length of the schema in two bytes, the schema, and the JSON. */
export const target: Target = {
  about:
    'values of JSON Schemas, and the schemas: an unusable schema, a rejection, or the JSON itself',
  seeds: [
    typedSeed(JSON.stringify(call), value),
    typedSeed(
      '{"$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{}],"$dynamicRef":"#a"}',
      value,
    ),
    typedSeed(
      '{"oneOf":[{"required":["a"]},{"not":{"const":{"b":1}}}],"unevaluatedProperties":false}',
      value,
    ),
    typedSeed('{"$ref":"#"}', value),
    typedSeed('true', value),
  ],
  words: [
    ...[
      '"$ref":"#"',
      '"$id":"a"',
      '"$async":true',
      '"type":"object"',
      '"properties":{',
      '"items":',
    ],
    ...['"allOf":[', '"anyOf":[', '"if":', '"then":', '"dependencies":{', '"patternProperties":{'],
    ...[
      '"additionalProperties":',
      '"propertyNames":',
      '"contains":',
      '"format":"date"',
      '"const":',
    ],
    ...[
      '"nullable":true',
      '"$data"',
      '"default":',
      '"discriminator":{',
      '"$anchor":',
      '"$recursiveRef":"#"',
    ],
    ...['"__proto__"', '"uniqueItems":true', '"required":["x"]', 'false', 'null', '{}', '[]', ','],
  ],
  covers: ['/ajv/'],
  mostBytes: 2_048,
  check(input) {
    checkTyped('JSON', input);
  },
};
