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

const daySeconds = dayMs / 1_000;
const dateLength = 'yyyy-mm-dd'.length;

const twoDigits = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'));
const ends = Array.from({ length: 1_000 }, (_, i) => `.${String(i).padStart(3, '0')}Z`);
let lastSecond = NaN;
let lastStart = '';
let lastDay = NaN;
let lastDate = '';

/**
 * The same as `toISOString`, but faster, because most times are of the same second as the one before, and
 * almost all of the same day.
 * @param timeMs a whole number, in the years 0 to 9999
 */
export function isoTime(timeMs: number): string {
  const second = Math.floor(timeMs / 1_000);
  if (second !== lastSecond) [lastSecond, lastStart] = [second, startOf(second)];
  return lastStart + (ends[timeMs - second * 1_000] ?? '');
}

/** The beginning of all times of this second. */
function startOf(second: number): string {
  const day = Math.floor(second / daySeconds);
  if (day !== lastDay) {
    lastDate = new Date(day * daySeconds * 1_000).toISOString().slice(0, dateLength);
    lastDay = day;
  }
  const ofDay = second - day * daySeconds;
  const minutes = Math.floor(ofDay / 60);
  const hour = twoDigits[Math.floor(minutes / 60)] ?? '';
  return `${lastDate}T${hour}:${twoDigits[minutes % 60] ?? ''}:${twoDigits[ofDay % 60] ?? ''}`;
}

let lastText = '';
let lastMidnightMs = NaN;

/** Epoch milliseconds of what `isoTime` returns. Most times are of the same day as the one before. */
export function isoTimeMs(text: string): number {
  const date = text.slice(0, dateLength);
  if (date !== lastText) [lastText, lastMidnightMs] = [date, Date.parse(date)];
  const minutes = 60 * twoDigitsAt(text, 11) + twoDigitsAt(text, 14);
  const milliseconds = 10 * twoDigitsAt(text, 20) + digitAt(text, 22);
  return lastMidnightMs + 1_000 * (60 * minutes + twoDigitsAt(text, 17)) + milliseconds;
}

function twoDigitsAt(text: string, at: number): number {
  return 10 * digitAt(text, at) + digitAt(text, at + 1);
}

function digitAt(text: string, at: number): number {
  return text.charCodeAt(at) - 0x30;
}
