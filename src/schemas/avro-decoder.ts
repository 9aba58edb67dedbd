import avro from 'avsc';
import { AvroInput } from './avro-input.ts';
import { logicalConversion } from './avro-logical.ts';
import { misfit, setKey } from './output.ts';
import type { RegisteredSchema } from './registered-schema.ts';

type Read = (input: AvroInput) => unknown;

/**
 * Decodes values of an Avro schema into what JSON has: bytes become base64, enums their symbols, unions the
 * value alone. avsc parses the schema but does not decode the values: its unions come wrapped where they are
 * ambiguous, its longs fail beyond 2^53, and a large count can make it fill the memory.
 * @throws Error if the schema is invalid
 */
export function createAvroDecoder({ schema, references }: RegisteredSchema): (payload: Buffer) => {
  readonly value: unknown;
  readonly input: AvroInput;
} {
  const registry: Record<string, avro.Type> = {};
  const options = { registry, logicalTypes, wrapUnions: true, omitRecordMethods: true };
  for (const reference of references) avro.Type.forSchema(parse(reference.schema), options);
  const read = new Compiler().compile(avro.Type.forSchema(parse(schema), options));
  return (payload) => {
    const input = new AvroInput(payload);
    const value = read(input);
    if (input.left > 0) throw misfit(`${input.left} bytes are left over behind the value.`);
    return { value, input };
  };
}

/** Keeps the schema's logical type; `logicalConversion` converts the values. */
class KnownLogicalType extends avro.types.LogicalType {
  readonly attributes: Readonly<Record<string, unknown>>;

  constructor(schema: avro.Schema, options?: unknown) {
    super(schema, options);
    this.attributes = schema as unknown as Readonly<Record<string, unknown>>;
  }

  // avsc requires both methods, although it decodes no value here.
  protected override _fromValue(value: unknown): unknown {
    return value;
  }

  protected override _toValue(value: unknown): unknown {
    return value;
  }
}

const logicalTypes = Object.fromEntries(
  [
    'timestamp-millis',
    'timestamp-micros',
    'timestamp-nanos',
    'date',
    'decimal',
    'local-timestamp-millis',
    'local-timestamp-micros',
    'time-millis',
    'time-micros',
  ].map((name) => [name, KnownLogicalType]),
);

/**
 * Text that is not JSON is the name of a primitive type. Defaults are removed: they are for readers with
 * another schema than the writer's, and avsc would check them more strictly than registries do.
 */
function parse(schema: string): avro.Schema {
  try {
    return JSON.parse(schema, (key, value: unknown) =>
      key === 'default' ? undefined : value,
    ) as avro.Schema;
  } catch {
    return schema;
  }
}

class Compiler {
  /** Schemas may be recursive. */
  readonly #records = new Map<avro.Type, Read>();

  compile(type: avro.Type): Read {
    const primitive = primitives[type.typeName];
    if (primitive !== undefined) return primitive;
    if (type instanceof avro.types.RecordType) return this.#record(type);
    if (type instanceof avro.types.WrappedUnionType) {
      return readUnion(type.types.map((branch) => this.compile(branch)));
    }
    if (type instanceof avro.types.ArrayType) return readArray(this.compile(type.itemsType));
    if (type instanceof avro.types.MapType) {
      return readMap(this.compile(type.valuesType as avro.Type));
    }
    if (type instanceof avro.types.EnumType) return readEnum(type.symbols);
    if (type instanceof avro.types.FixedType) return readFixed(type.size);
    if (type instanceof KnownLogicalType) return this.#logical(type);
    throw new Error(`Avro's type ${type.typeName} is not known`);
  }

  #record(type: avro.types.RecordType): Read {
    const known = this.#records.get(type);
    if (known !== undefined) return known;
    const own: { read?: Read } = {};
    this.#records.set(type, (input) => own.read?.(input));
    const names = type.fields.map(({ name }) => name);
    const reads = type.fields.map((field) => this.compile(field.type));
    const read = recordReader(names, reads);
    own.read = read;
    this.#records.set(type, read);
    return read;
  }

  #logical(type: KnownLogicalType): Read {
    const read = this.compile(type.underlyingType);
    const name = type.typeName.slice('logical:'.length);
    const convert = logicalConversion(name, type.underlyingType.typeName, type.attributes);
    if (convert === undefined) return read;
    if (name !== 'decimal') return (input) => convert(read(input));
    // A decimal has all the digits of its scale, whatever its bytes are.
    const digits = Number(type.attributes['scale'] ?? 0);
    return (input) => {
      input.output.text(digits);
      return convert(read(input));
    };
  }
}

function readNull({ output }: AvroInput): null {
  output.value();
  return null;
}

function readBoolean(input: AvroInput): boolean {
  input.output.value();
  return input.boolean();
}

function readInteger(input: AvroInput): number | string {
  input.output.value();
  return input.integer();
}

function readFloat(input: AvroInput): number {
  input.output.value();
  return input.float();
}

function readDouble(input: AvroInput): number {
  input.output.value();
  return input.double();
}

function readBytes(input: AvroInput): string {
  input.output.value();
  return input.bytes().toString('base64');
}

function readText(input: AvroInput): string {
  input.output.value();
  return input.text();
}

const primitives: Readonly<Record<string, Read>> = {
  null: readNull,
  boolean: readBoolean,
  int: readInteger,
  long: readInteger,
  float: readFloat,
  double: readDouble,
  bytes: readBytes,
  string: readText,
};

function readFixed(size: number): Read {
  return (input) => {
    input.output.value();
    return input.take(size).toString('base64');
  };
}

function readEnum(symbols: readonly string[]): Read {
  const longest = symbols.reduce((most, { length }) => Math.max(most, length), 0);
  return (input) => {
    input.output.record(0, longest);
    input.output.leave();
    const symbol = symbols[input.count()];
    if (symbol === undefined) throw misfit('An enum has a symbol that its schema lacks.');
    return symbol;
  };
}

function readUnion(branches: readonly Read[]): Read {
  return (input) => {
    const read = branches[input.count()];
    if (read === undefined) throw misfit('A union has a branch that its schema lacks.');
    return read(input);
  };
}

/**
 * Generates a function for the record, because an object literal has its shape from the start, which is
 * faster than assigning one field after the other. The names are Avro's, letters and digits, and quoted all
 * the same; in brackets even `__proto__` is an ordinary field.
 */
function recordReader(names: readonly string[], reads: readonly Read[]): Read {
  const namesBytes = names.reduce((sum, name) => sum + name.length, 0);
  const parameters = names.map((_, i) => `read${i}`);
  const members = names.map((name, i) => `[${JSON.stringify(name)}]: read${i}(input)`);
  const body = `return (input) => {
    input.output.record(${names.length}, ${namesBytes});
    const record = { ${members.join(', ')} };
    input.output.leave();
    return record;
  };`;
  // eslint-disable-next-line @typescript-eslint/no-implied-eval, @typescript-eslint/no-unsafe-call
  return new Function(...parameters, body)(...reads) as Read;
}

function readArray(read: Read): Read {
  return (input) => {
    const items: unknown[] = [];
    input.output.enter();
    for (let left = blockLength(input); left > 0; left = blockLength(input)) {
      for (; left > 0; left -= 1) items.push(read(input));
    }
    input.output.leave();
    return items;
  };
}

/** Maps of one schema tend to have the same keys in the same order, so the keys of the last one are kept. */
const keptKeys = 64;

function readMap(read: Read): Read {
  const lastKeys: string[] = [];
  return (input) => {
    let index = 0;
    const map: Record<string, unknown> = {};
    input.output.enter();
    for (let left = blockLength(input); left > 0; left = blockLength(input)) {
      for (; left > 0; left -= 1) {
        const key = input.key(lastKeys[index]);
        if (index < keptKeys) lastKeys[index] = key;
        index += 1;
        setKey(map, key, read(input));
      }
    }
    input.output.leave();
    return map;
  };
}

/** A negative count is followed by the block's size in bytes, for readers that skip it. */
function blockLength(input: AvroInput): number {
  const count = input.count();
  if (count >= 0) return count;
  input.integer();
  return -count;
}
