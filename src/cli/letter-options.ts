import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../duration.ts';
import { normalizeTimestamp } from '../event/timestamp.ts';
import { parseRate } from '../resources/rate.ts';

/** Parsers of what operators type to name letters. */

/** `2h`: so long ago; or a time in ISO 8601. Epoch milliseconds. */
export function parseTime(text: string): number {
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return Date.now() - agoMs;
  const time = normalizeTimestamp(text);
  if (time !== undefined) return Date.parse(time);
  throw new InvalidArgumentError('Allowed: a duration ago, e.g. 2h, or a time in ISO 8601.');
}

/** Letters a second. */
export function parsePace(text: string): number {
  const perSecond = parseRate(text);
  if (perSecond !== undefined) return perSecond;
  throw new InvalidArgumentError('Allowed: a rate such as 100/s or 30/m.');
}

export function parseLimit(text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit > 0) return limit;
  throw new InvalidArgumentError('Allowed: a whole number from 1 on.');
}

export interface Place {
  readonly partition: number;
  readonly offset: number;
}

export function parsePlace(text: string): Place {
  const match = /^(\d{1,9}):(\d{1,15})$/.exec(text);
  if (match !== null) return { partition: Number(match[1]), offset: Number(match[2]) };
  throw new InvalidArgumentError('Allowed: <partition>:<offset>, as in the list.');
}
