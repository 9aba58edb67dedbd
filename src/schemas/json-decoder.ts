import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { maxDepth } from '../event/limits.ts';
import { isDeeper, readJson, type JsonObject } from '../event/read-json.ts';
import { DecodeError, misfit, tooDeep } from './output.ts';
import type { RegisteredSchema } from './registered-schema.ts';

const dialects: readonly [string, typeof Ajv | typeof Ajv2019 | typeof Ajv2020][] = [
  ['/2019-09/', Ajv2019],
  ['/2020-12/', Ajv2020],
];

/** JSON that is checked against its schema, and otherwise left as it is. */
export function createJsonDecoder({
  schema,
  references,
}: RegisteredSchema): (payload: Buffer) => JsonObject {
  const root = parse(schema);
  const [, Dialect] = dialects.find(([part]) => dialectOf(root).includes(part)) ?? ['', Ajv];
  // Formats are notes to readers here, as in the registry's own clients, and odd keywords no errors.
  const ajv = new Dialect({ strict: false, validateFormats: false, logger: false });
  for (const reference of references) {
    ajv.addSchema(asStandard(parse(reference.schema)), reference.name);
  }
  const validate = ajv.compile(asStandard(root));
  return (payload) => {
    const { object, rejected } = readJson(payload);
    if (object === undefined) throw new DecodeError(rejected.reason, rejected.detail);
    if (!validate(object)) throw misfit(problemOf(validate));
    return object;
  };
}

type Root = Record<string, unknown> | boolean;

function parse(schema: string): Root {
  return JSON.parse(schema) as Root;
}

function dialectOf(schema: Root): string {
  const named = typeof schema === 'object' ? schema['$schema'] : undefined;
  return typeof named === 'string' ? named : '';
}

/**
 * Without what Ajv reads in its own way. Which dialect it is has been decided, and one that is not known to
 * Ajv would be refused by name. `$async`, which no dialect has, would turn the result into a promise: every
 * value would fit, and the rejection of one that does not would end the process.
 */
function asStandard(schema: Root): Root {
  if (typeof schema === 'boolean') return schema;
  return Object.fromEntries(
    Object.entries(schema).filter(([keyword]) => keyword !== '$schema' && keyword !== '$async'),
  );
}

function problemOf({ errors }: ValidateFunction): string {
  const [first] = errors ?? [];
  const path = JSON.stringify((first?.instancePath ?? '').slice(0, 100));
  return `The value does not fit its JSON Schema: ${path} ${first?.message ?? 'is invalid'}.`;
}

/** The fields of a call that hold objects of the sender's own making, which schemas often keep as text. */
const openFields = ['properties', 'traits', 'context', 'integrations'];

/** Puts the object in the place of the JSON text that stands for it. */
export function expandJsonText(call: JsonObject): void {
  for (const field of openFields) {
    const text = call[field];
    if (typeof text !== 'string') continue;
    call[field] = text === '' ? null : objectIn(field, text);
  }
}

function objectIn(field: string, text: string): object {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new DecodeError('invalid-json', `The text in ${field} is not JSON.`);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new DecodeError('not-an-object', `The text in ${field} is JSON, but not an object.`);
  }
  // The call around it is the first level.
  if (isDeeper(json, maxDepth - 1)) throw tooDeep();
  return json;
}
