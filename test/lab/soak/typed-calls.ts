import avro from 'avsc';
import type { TestRegistry } from '../../harness/registry.ts';

/** Calls as Avro records, in the framing of schema registries. */
export interface TypedCalls {
  /** From now on with a schema that no router has read yet. */
  useNewSchema(): Promise<void>;
  encode(call: Readonly<Record<string, string>>): Buffer;
}

const fields = ['type', 'event', 'messageId', 'userId'];
/** A byte 0, and the id. */
const headBytes = 5;

export async function startTypedCalls(registry: TestRegistry): Promise<TypedCalls> {
  let schemas = 0;
  const register = async (): Promise<{ head: Buffer; type: avro.Type }> => {
    schemas += 1;
    const schema: avro.schema.RecordType = {
      type: 'record',
      name: `Soaked${schemas}`,
      fields: fields.map((name) => ({ name, type: 'string' })),
    };
    const head = Buffer.alloc(headBytes);
    head.writeInt32BE(await registry.add(JSON.stringify(schema)), 1);
    return { head, type: avro.Type.forSchema(schema) };
  };
  let current = await register();
  return {
    useNewSchema: async () => {
      current = await register();
    },
    encode: (call) => {
      const { head, type } = current;
      return Buffer.concat([head, type.toBuffer(call)]);
    },
  };
}
