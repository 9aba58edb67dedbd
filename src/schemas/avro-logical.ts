import { isoTime } from '../event/timestamp.ts';

/**
 * Converts logical types to the values that people write in JSON. Each takes the value of its underlying
 * type.
 */
export type LogicalConversion = (value: unknown) => unknown;

interface LogicalType {
  readonly on: 'int' | 'long';
  readonly convert: LogicalConversion;
}

const logicalTypes: Readonly<Record<string, LogicalType>> = {
  'timestamp-millis': { on: 'long', convert: (value) => timestamp(value, 1) },
  'timestamp-micros': { on: 'long', convert: (value) => timestamp(value, 1_000) },
  'timestamp-nanos': { on: 'long', convert: (value) => timestamp(value, 1_000_000) },
  'local-timestamp-millis': { on: 'long', convert: (value) => withoutZone(timestamp(value, 1)) },
  'local-timestamp-micros': {
    on: 'long',
    convert: (value) => withoutZone(timestamp(value, 1_000)),
  },
  date: { on: 'int', convert: (value) => date(value) },
  'time-millis': { on: 'int', convert: (value) => timeOfDay(value, 1) },
  'time-micros': { on: 'long', convert: (value) => timeOfDay(value, 1_000) },
};

/** Undefined for an unknown or invalid one: Avro then uses the underlying type. */
export function logicalConversion(
  name: string,
  underlying: string,
  attributes: Readonly<Record<string, unknown>>,
): LogicalConversion | undefined {
  if (name === 'decimal') return decimalConversion(underlying, attributes);
  const known = logicalTypes[name];
  return known?.on === underlying ? known.convert : undefined;
}

function decimalConversion(
  underlying: string,
  { precision, scale = 0 }: Readonly<Record<string, unknown>>,
): LogicalConversion | undefined {
  const isValid =
    ['bytes', 'fixed'].includes(underlying) &&
    typeof precision === 'number' &&
    typeof scale === 'number' &&
    Number.isInteger(scale) &&
    scale >= 0 &&
    scale <= precision;
  return isValid ? (value) => decimal(value, scale) : undefined;
}

const dayMs = 86_400_000;
const mostMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const leastMs = -62_167_219_200_000;

/** ISO 8601, UTC, milliseconds; the number itself if four digits cannot write the year. */
function timestamp(value: unknown, unitsPerMs: number): unknown {
  const timeMs = wholeMs(value, unitsPerMs);
  return timeMs >= leastMs && timeMs <= mostMs ? isoTime(timeMs) : value;
}

/**
 * Text is a long that no double can hold. Converted to one, it might be the next or the previous millisecond.
 */
function wholeMs(value: unknown, unitsPerMs: number): number {
  if (typeof value !== 'string') return Math.floor(Number(value) / unitsPerMs);
  const units = BigInt(value);
  const perMs = BigInt(unitsPerMs);
  // BigInt division truncates towards zero.
  const beforeZero = units < 0n && units % perMs !== 0n;
  return Number(units / perMs) - (beforeZero ? 1 : 0);
}

function withoutZone(time: unknown): unknown {
  return typeof time === 'string' ? time.replace(/Z$/, '') : time;
}

function date(days: unknown): unknown {
  const midnight = timestamp(Number(days) * dayMs, 1);
  return typeof midnight === 'string' ? midnight.slice(0, 10) : days;
}

function timeOfDay(value: unknown, unitsPerMs: number): unknown {
  const timeMs = Math.floor(Number(value) / unitsPerMs);
  return timeMs >= 0 && timeMs < dayMs ? new Date(timeMs).toISOString().slice(11, 23) : value;
}

/** Two's complement, big-endian, as decimal text: a double would not distinguish `0.10` from `0.1`. */
function decimal(base64: unknown, scale: number): unknown {
  const bytes = Buffer.from(String(base64), 'base64');
  if (bytes.length === 0) return '0';
  const unscaled = BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex')}`));
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  const point = digits.length - scale;
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
