const dayMs = 86_400_000;
const minMs = Date.parse('0000-01-01T00:00:00.000Z');
const maxMs = Date.parse('9999-12-31T23:59:59.999Z');

/** The form that most clients send. Days 29 to 31 take the long way, where the month's length is checked. */
const canonical =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

const zone = '[Zz]|([+-])([01]\\d|2[0-3])(?::?([0-5]\\d))?';
const iso8601 = new RegExp(
  `^(\\d{4}-\\d\\d-\\d\\d)(?:[Tt ](\\d\\d):([0-5]\\d)(?::([0-5]\\d|60)(?:[.,](\\d+))?)?(?:${zone})?)?$`,
);

/**
 * An ISO 8601 time as UTC with milliseconds and `Z`; undefined for anything else.
 *
 * Taken: a date alone (its midnight), no seconds, fractions of any length (cut to milliseconds),
 * `Z`, `+01:00`, `-0500`, `+02`, no zone (UTC), a space for the `T`. `24:00:00` is the next
 * midnight. Second 60 is taken where leap seconds occur, before UTC midnight, and is the second
 * after. Refused: days that do not exist (`02-30`), numbers, and what is outside the years 0 to
 * 9999 in UTC, which four digits cannot write.
 */
export function normalizeTimestamp(text: string): string | undefined {
  if (canonical.test(text)) return text;
  const timeMs = parse(text);
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

function parse(text: string): number | undefined {
  const match = iso8601.exec(text);
  if (match === null) return undefined;
  const [, date = '', hour = '0', minute = '0', second = '0', fraction = '', ...zoned] = match;
  const [sign, zoneHour = '0', zoneMinute = '0'] = zoned;
  const midnightMs = parseDate(date);
  if (midnightMs === undefined) return undefined;

  const timeOfDayMs = (Number(hour) * 60 + Number(minute)) * 60_000 + Number(second) * 1_000;
  const fractionMs = Number(fraction.slice(0, 3).padEnd(3, '0'));
  const offsetMs = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === '-' ? -60_000 : 60_000);
  const wholeMs = midnightMs + timeOfDayMs - offsetMs;

  if (Number(hour) > 23 && (timeOfDayMs !== dayMs || /[1-9]/.test(fraction))) return undefined;
  if (second === '60' && wholeMs % dayMs !== 0) return undefined;
  const timeMs = wholeMs + fractionMs;
  return timeMs >= minMs && timeMs <= maxMs ? timeMs : undefined;
}

/** Midnight UTC. V8 rolls days that do not exist over into the next month; here they are refused. */
function parseDate(date: string): number | undefined {
  const midnightMs = Date.parse(`${date}T00:00:00.000Z`);
  const exists = new Date(midnightMs).getUTCDate() === Number(date.slice(8));
  return exists ? midnightMs : undefined;
}

/** The latest that a Date can be. */
const latestTimeMs = 8.64e15;

/** Tells whether something can have happened, or be meant to happen, at this time: epoch milliseconds. */
export function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= latestTimeMs;
}
