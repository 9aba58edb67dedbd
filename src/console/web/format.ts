import { filled, language, locale, t } from './texts/texts.ts';

/** Made once for each language: making one takes longer than using it. */
function made<Formatter>(make: () => Formatter): () => Formatter {
  const known = new Map<string, Formatter>();
  return () => {
    const present = known.get(language) ?? make();
    known.set(language, present);
    return present;
  };
}

const whole = made(() => new Intl.NumberFormat(language, { maximumFractionDigits: 0 }));
const oneDigit = made(() => new Intl.NumberFormat(language, { maximumFractionDigits: 1 }));
const compact = made(
  () => new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }),
);

export function count(number: number): string {
  return whole().format(number);
}

/** `1.2M`: where there is little room. */
export function short(number: number): string {
  return Math.abs(number) < 10_000 ? count(number) : compact().format(number);
}

/** For staff's screens, which are English. */
export function counted(number: number, one: string, many: string = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function rate(perMinute: number): string {
  return perMinute < 10 ? oneDigit().format(perMinute) : short(perMinute);
}

/** 99.97 % is not 100 %, and what was delivered once is not 0 %. */
export function percent(share: number): string {
  if (share > 0.999 && share < 1) return `> ${oneDigit().format(99.9)} %`;
  if (share > 0 && share < 0.001) return `< ${oneDigit().format(0.1)} %`;
  return `${oneDigit().format(share * 100)} %`;
}

export function milliseconds(ms: number): string {
  if (ms < 1_000) return `${count(ms)} ms`;
  return ms < 60_000 ? `${oneDigit().format(ms / 1_000)} s` : duration(ms);
}

/** `42 min`, `3 h 18 min`, `5 d`. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 10 && minutes % 60 > 0) return `${hours} h ${minutes % 60} min`;
  if (hours < 48) return `${hours} h`;
  return filled(t.times.days, { n: Math.floor(hours / 24) });
}

/** The distance of a time in the past or in the future. Clocks differ: a few seconds are now. */
export function relative(atMs: number, nowMs: number): string {
  const gone = nowMs - atMs;
  if (Math.abs(gone) < 3_000) return t.times.now;
  return gone > 0
    ? filled(t.times.ago, { time: duration(gone) })
    : filled(t.times.later, { time: duration(-gone) });
}

const full = made(
  () => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }),
);
const clock = made(() => new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }));

/** The reader's own time, with its zone. */
export function fullTime(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : full().format(date);
}

/** The reader's own time, and as Kafka's tools and logs have it. */
export function absolute(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : `${full().format(date)}\n${date.toISOString()}`;
}

export function clockTime(ms: number): string {
  return clock().format(ms);
}

const shortDate = made(() => new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' }));

/** `31 Jan 14:03:22`, in the reader's zone. */
export function clockText(ms: number): string {
  return `${shortDate().format(ms)} ${clockTime(ms)}`;
}

/** The reader's time zone, which all times of a page are in. */
export const zone: string = Intl.DateTimeFormat().resolvedOptions().timeZone;

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g;

/** A text in which commands name times in UTC, with the reader's times instead. */
export function inOwnZone(text: string): string {
  return text.replaceAll(isoTime, (iso) => {
    const ms = Date.parse(iso);
    return Number.isNaN(ms) ? iso : clockText(ms);
  });
}

const dayName = made(
  () => new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
);

export function dayText(day: string): string {
  const date = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? day : dayName().format(date);
}

const shortClock = made(
  () => new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' }),
);

/** `14:03`, for the axis of a chart. */
export function shortClockTime(date: Date): string {
  return shortClock().format(date);
}

/** `31 Jan`, in the reader's zone. */
export function shortDay(date: Date): string {
  return shortDate().format(date);
}
