import { maxDepth } from '../event/limits.ts';
import { isDeeper, type JsonObject } from '../event/read-json.ts';
import { DecodeError, tooDeep } from './decode-error.ts';

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
