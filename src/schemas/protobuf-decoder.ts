import protobuf from 'protobufjs';
import { DecodeError, misfit, Output } from './output.ts';
import { ProtobufJson } from './protobuf-json.ts';
import type { RegisteredSchema } from './registered-schema.ts';

/**
 * Decodes messages of a Protobuf schema as Protobuf's own JSON mapping does, except that 64-bit integers are
 * numbers if they are safe. The bytes before the message identify it within its file.
 */
export function createProtobufDecoder({ schema, references }: RegisteredSchema): (
  payload: Buffer,
) => {
  readonly value: unknown;
  readonly output: Output;
} {
  const { root, package: packageName, imports, weakImports } = protobuf.parse(schema);
  const file = packageName === undefined ? root : root.lookup(packageName);
  if (!(file instanceof protobuf.Namespace)) throw new Error('The file has no message.');
  // Computed before anything else is added, because a message is identified by its place in its file.
  const messages = messagesOf(file);
  const allImports = [...(imports ?? []), ...(weakImports ?? [])];
  for (const reference of references) {
    allImports.push(...(protobuf.parse(reference.schema, root).imports ?? []));
  }
  for (const name of new Set(allImports)) {
    const common = protobuf.common.get(name);
    if (common?.nested !== undefined) root.addJSON(common.nested);
  }
  dropOptionExtensions(root);
  root.resolveAll();
  const json = new ProtobufJson();
  return (payload) => {
    const { path, at } = readIndexes(payload);
    const type = messageAt(messages, path);
    const output = new Output(payload.length);
    let message: protobuf.Message;
    try {
      message = type.decode(payload.subarray(at));
    } catch (error) {
      // The library's messages contain offsets, fields and wire types, never the content of a field.
      throw misfit(`The message cannot be read: ${String(error).slice(0, 200)}.`);
    }
    return { value: json.of(type, message, output), output };
  };
}

/**
 * Options of schemas are not part of messages, and descriptor.proto, which they extend, is not available
 * here.
 */
function dropOptionExtensions(root: protobuf.Root): void {
  for (const field of [...root.deferred]) {
    if (/^\.?google\.protobuf\.\w+Options$/.test(field.extend ?? '')) field.parent?.remove(field);
  }
}

function messagesOf(namespace: protobuf.NamespaceBase): readonly protobuf.Type[] {
  return namespace.nestedArray.filter((nested) => nested instanceof protobuf.Type);
}

function messageAt(messages: readonly protobuf.Type[], path: readonly number[]): protobuf.Type {
  let among = messages;
  let found: protobuf.Type | undefined;
  for (const index of path) {
    found = among[index];
    if (found === undefined) break;
    among = messagesOf(found);
  }
  if (found === undefined) {
    throw new DecodeError('undecodable', 'The schema has no message at the index that is given.');
  }
  return found;
}

/** The number of indexes, then each index, as zigzag varints. A single 0 stands for the first message. */
function readIndexes(payload: Buffer): { readonly path: readonly number[]; readonly at: number } {
  let at = 0;
  const count = next();
  if (count === 0) return { path: [0], at };
  if (count < 0 || count > payload.length) throw misfit('The message indexes are out of range.');
  const path = Array.from({ length: count }, next);
  return { path, at };

  function next(): number {
    let zigzag = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = payload[at];
      if (byte === undefined) break;
      at += 1;
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    throw misfit('The message indexes cannot be read.');
  }
}
