import protobuf from 'protobufjs';
import { exact, shortest } from './avro-input.ts';
import { misfit, setKey, type Output } from './output.ts';

type Fields = Readonly<Record<string, unknown>>;
type ToJson = (value: unknown, output: Output) => unknown;

interface Member {
  readonly name: string;
  readonly key: string;
  readonly toJson: ToJson;
}

/** Messages as plain objects. Fields that a message does not have are left out. */
export class ProtobufJson {
  readonly #messages = new Map<protobuf.Type, ToJson>();

  of(type: protobuf.Type, message: protobuf.Message, output: Output): unknown {
    return this.#message(type)(message, output);
  }

  #message(type: protobuf.Type): ToJson {
    const known = this.#messages.get(type);
    if (known !== undefined) return known;
    const toJson = wellKnown[type.fullName] ?? this.#plainMessage(type);
    this.#messages.set(type, toJson);
    return toJson;
  }

  #plainMessage(type: protobuf.Type): ToJson {
    let members: readonly Member[] | undefined;
    return (message, output) => {
      // At the first use: types may contain themselves.
      members ??= type.fieldsArray.map((field) => this.#member(field));
      const object: Record<string, unknown> = {};
      output.enter();
      for (const { name, key, toJson } of members) {
        if (!Object.hasOwn(message as Fields, name)) continue;
        const value = (message as Fields)[name];
        if (value === null || value === undefined) continue;
        output.record(1, key.length);
        setKey(object, key, toJson(value, output));
        output.leave();
      }
      output.leave();
      return object;
    };
  }

  #member(field: protobuf.Field): Member {
    const one = this.#value(field);
    const key = field.options?.['json_name'] as string | undefined;
    const toJson =
      field instanceof protobuf.MapField
        ? mapOf(one, keyReader(field.keyType))
        : field.repeated
          ? listOf(one)
          : one;
    return { name: field.name, key: key ?? field.name, toJson };
  }

  #value({ resolvedType, type }: protobuf.Field): ToJson {
    if (resolvedType instanceof protobuf.Type) return this.#message(resolvedType);
    if (resolvedType instanceof protobuf.Enum) {
      const { valuesById } = resolvedType;
      return (value) => valuesById[value as number] ?? value;
    }
    if (type === 'float') return (value) => shortest(value as number);
    if (type === 'bytes') return (value) => Buffer.from(value as Uint8Array).toString('base64');
    return scalar;
  }
}

/** A 64-bit integer comes as an object. */
function scalar(value: unknown): unknown {
  return typeof value === 'object' ? integer(value) : value;
}

function integer(value: unknown): number | string {
  return exact(BigInt(String(value)));
}

function listOf(one: ToJson): ToJson {
  return (values, output) => {
    output.enter();
    const list = (values as readonly unknown[]).map((value) => {
      output.value();
      return one(value, output);
    });
    output.leave();
    return list;
  };
}

/** Keys of 64 bits come packed into eight characters. */
function keyReader(type: string): (key: string) => string {
  if (!type.endsWith('64')) return (key) => key;
  const unsigned = type === 'uint64' || type === 'fixed64';
  return (key) => {
    const { lo, hi } = protobuf.util.LongBits.fromHash(key);
    const bits = (BigInt(hi >>> 0) << 32n) | BigInt(lo >>> 0);
    return String(unsigned ? bits : BigInt.asIntN(64, bits));
  };
}

function mapOf(one: ToJson, keyOf: (key: string) => string = (key) => key): ToJson {
  return (values, output) => {
    output.enter();
    const map: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(values as Fields)) {
      output.value();
      setKey(map, keyOf(key), one(value, output));
    }
    output.leave();
    return map;
  };
}

/** The types of google.protobuf that have a form of their own in JSON. */
const wellKnown: Readonly<Record<string, ToJson>> = {
  '.google.protobuf.Timestamp': (message) => timestamp(message as Fields),
  '.google.protobuf.Duration': (message) => duration(message as Fields),
  '.google.protobuf.Struct': (message, output) => struct(message as Fields, output),
  '.google.protobuf.ListValue': (message, output) => list(message as Fields, output),
  '.google.protobuf.Value': (message, output) => value(message as Fields, output),
  ...Object.fromEntries(
    ['Double', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String'].map((name) => [
      `.google.protobuf.${name}Value`,
      (message: unknown) => scalar((message as Fields)['value']),
    ]),
  ),
  '.google.protobuf.FloatValue': (message) => shortest((message as { value: number }).value),
  '.google.protobuf.BytesValue': (message) =>
    Buffer.from((message as { value: Uint8Array }).value).toString('base64'),
};

function timestamp({ seconds, nanos }: Fields): string {
  const date = new Date(Number(seconds) * 1_000 + Math.floor(Number(nanos) / 1e6));
  if (Number.isNaN(date.getTime())) throw misfit('A Timestamp is out of range.');
  return date.toISOString();
}

function duration({ seconds, nanos }: Fields): string {
  const sign = Number(seconds) < 0 || Number(nanos) < 0 ? '-' : '';
  const fraction = Math.abs(Number(nanos)).toString().padStart(9, '0').replace(/0+$/, '');
  const whole = String(seconds).replace('-', '');
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}s`;
}

function struct({ fields }: Fields, output: Output): unknown {
  return mapOf(value as ToJson)(fields ?? {}, output);
}

function list({ values }: Fields, output: Output): unknown {
  return listOf(value as ToJson)(values ?? [], output);
}

function value(message: Fields, output: Output): unknown {
  for (const kind of ['stringValue', 'numberValue', 'boolValue']) {
    if (Object.hasOwn(message, kind)) return message[kind];
  }
  if (Object.hasOwn(message, 'structValue'))
    return struct(message['structValue'] as Fields, output);
  if (Object.hasOwn(message, 'listValue')) return list(message['listValue'] as Fields, output);
  return null;
}
