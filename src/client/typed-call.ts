import { normalizeTimestamp } from '../event/timestamp.ts';

/** The used part of an avsc type, with every union wrapped: `{ long: 1 }`, and null alone. */
export interface AvroType {
  readonly typeName: string;
  /** The name of the type within a union. */
  readonly branchName: string | undefined;
  readonly fields?: readonly AvroField[];
  readonly types?: readonly AvroType[];
  readonly valuesType?: AvroType;
  readonly itemsType?: AvroType;
  isValid(value: unknown): boolean;
  toBuffer(value: unknown): Buffer;
}

interface AvroField {
  readonly name: string;
  readonly type: AvroType;
  /** Undefined if there is no default. */
  defaultValue(): unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** In these fields, the router reads a text as the JSON object that it contains. */
const textHoldsObject: ReadonlySet<string> = new Set(['properties', 'traits', 'context']);

/**
 * Encodes a call in Avro, so that the router decodes what the JSON has.
 * @param call the parsed JSON
 * @throws Error with the name of a field that does not fit
 */
export function encodeTyped(type: AvroType, call: Fields): Buffer {
  const { fields = [] } = type;
  const names = new Set(fields.map(({ name }) => name));
  const stranger = Object.keys(call).find((name) => !names.has(name) && call[name] !== null);
  if (stranger !== undefined) throw new Error(`the schema has no field ${stranger}`);
  const entries = fields.map((field) => {
    const value = ofField(field, call, field.name);
    if (value !== undefined) return [field.name, value] as const;
    const isGiven = call[field.name] !== undefined;
    throw new Error(isGiven ? `${field.name} does not fit` : `the schema needs ${field.name}`);
  });
  return type.toBuffer(Object.fromEntries(entries));
}

/** @param field of the call, where this is all of it */
function ofField(field: AvroField, values: Fields, name?: string): unknown {
  const given = values[field.name];
  return given === undefined ? field.defaultValue() : valueOf(field.type, given, name);
}

/** avsc 5.7 takes smaller ones, and writes another number: its `2 * -n - 1` is not exact. */
const leastLong = -(2 ** 52);

/** The value in avsc's format; undefined: it does not fit. */
function valueOf(type: AvroType, given: unknown, field?: string): unknown {
  switch (type.typeName) {
    case 'union:wrapped':
      return branchOf(type, given, field);
    case 'record':
      return isObject(given) ? recordOf(type, given) : undefined;
    case 'map':
      return isObject(given) ? mapOf(type, given, field) : undefined;
    case 'array':
      return Array.isArray(given) ? arrayOf(type, given) : undefined;
    case 'string':
      if (field !== undefined && textHoldsObject.has(field) && isObject(given)) {
        return JSON.stringify(given);
      }
      return typeof given === 'string' ? given : undefined;
    case 'long':
      if (!type.isValid(given)) return field === 'timestamp' ? timeOf(type, given) : undefined;
      return Number(given) >= leastLong ? given : undefined;
    case 'float':
      return typeof given === 'number' && Math.fround(given) === given ? given : undefined;
    default:
      return type.isValid(given) ? given : undefined;
  }
}

/** The first branch that fits, so whole numbers are a `long` if it comes before `double`. */
function branchOf({ types = [] }: AvroType, given: unknown, field?: string): unknown {
  for (const type of types) {
    const value = valueOf(type, given, field);
    if (value === undefined) continue;
    return value === null ? null : { [type.branchName ?? type.typeName]: value };
  }
  return undefined;
}

function recordOf({ fields = [] }: AvroType, given: Fields): unknown {
  const names = new Set(fields.map(({ name }) => name));
  if (Object.keys(given).some((name) => !names.has(name))) return undefined;
  const entries = fields.map((field) => [field.name, ofField(field, given)] as const);
  return fitting(entries, ([, value]) => value) && Object.fromEntries(entries);
}

function mapOf({ valuesType }: AvroType, given: Fields, field?: string): unknown {
  if (valuesType === undefined) return undefined;
  const entries = Object.entries(given).map(([key, value]) => {
    // The settings of a destination affect whether it gets the call.
    const plain = field === 'integrations' && isObject(value) ? true : value;
    return [key, valueOf(valuesType, plain)] as const;
  });
  return fitting(entries, ([, value]) => value) && Object.fromEntries(entries);
}

function arrayOf({ itemsType }: AvroType, given: readonly unknown[]): unknown {
  if (itemsType === undefined) return undefined;
  const items = given.map((item) => valueOf(itemsType, item));
  return fitting(items, (item) => item) && items;
}

/** The items, or undefined if one of them does not fit. */
function fitting<T>(items: readonly T[], valueIn: (item: T) => unknown): true | undefined {
  return items.some((item) => valueIn(item) === undefined) ? undefined : true;
}

/** The time as `timestamp-millis`. */
function timeOf(type: AvroType, given: unknown): unknown {
  const text = typeof given === 'string' ? normalizeTimestamp(given) : undefined;
  const timeMs = text === undefined ? NaN : Date.parse(text);
  return type.isValid(timeMs) ? timeMs : undefined;
}

function isObject(given: unknown): given is Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}
