import type { DuckDBValue } from '@duckdb/node-api';
import {
  deadLetter,
  delivered,
  dropped,
  hashOf,
  kept,
  lineOfRow,
  refused,
  type AttemptRow,
} from './attempt-rows.ts';
import { writable } from '../../event/sought.ts';
import { idIn } from '../../event/uid.ts';
import type { AttemptRow as AttemptAnswer } from '../api/answers/destinations.ts';
import type { FoundEvent } from '../api/answers/events.ts';
import { outcomes, type EventOutcome } from '../api/choices.ts';
import type { OpenIndex } from './index.ts';
import { bucketMs } from './schema.ts';

export interface AttemptQuestion {
  /** Its `identityText`. */
  readonly destination: string;
  /** Nothing that was delivered. */
  readonly failed?: boolean | undefined;
  readonly url?: string | undefined;
  readonly message?: string | undefined;
  readonly user?: string | undefined;
  /** Only what was indexed later. */
  readonly afterSeq?: number | undefined;
  /** Only what is older than the last row of the page before. */
  readonly before?: AttemptPlace | undefined;
  readonly limit: number;
}

/** A row's place among the others: newest first, and of the same time the last indexed first. */
export interface AttemptPlace {
  readonly atMs: number;
  readonly seq: number;
}

export interface FoundAttempts {
  readonly items: readonly AttemptAnswer[];
  readonly next: AttemptPlace | undefined;
}

const rowColumns = `seq::double as seq, at_ms::double as "atMs", destination, what, latency as "latencyClass",
  source, type, event_name as "eventName", message, message_hash as "messageHash", usr as "user", user_hash as "userHash", attempt, url,
  status, took_ms as "tookMs", cause, rest`;

/**
 * `found`: rows with a text, by its hash first and then by itself. Asked for both at once, DuckDB would unpack the
 * texts of all rows, which takes four times as long with a hundred million. Into the scan of a materialized
 * table it puts no condition of the query around it.
 */
function found(column: 'message' | 'usr', conditions: readonly string[] = []): string {
  const hash = { message: 'message_hash', usr: 'user_hash' }[column];
  const where = [`${hash} = $hash`, ...conditions].join(' and ');
  return `with hashed as materialized (select * from attempts where ${where}),
     found as (select * from hashed where ${column} = $text)`;
}

export async function findAttempts(
  index: OpenIndex,
  question: AttemptQuestion,
): Promise<FoundAttempts> {
  const { words, database } = index;
  const { failed, afterSeq, before, limit } = question;
  const [message, user] = [question.message, question.user].map((id) => id && writable(id));
  const destination = words.find(question.destination);
  const url = question.url === undefined ? undefined : words.find(question.url);
  const isUnknown = destination === undefined || (question.url !== undefined && url === undefined);
  if (isUnknown) return { items: [], next: undefined };
  const values: Record<string, DuckDBValue> = { destination };
  // Of attempts and of buckets alike.
  const both = ['destination = $destination'];
  if (failed === true) both.push('what <> 0');
  if (url !== undefined) {
    both.push('url = $url');
    values['url'] = url;
  }
  const where = [...both];
  if (afterSeq !== undefined) where.push(`seq > ${afterSeq}`);
  if (before !== undefined) {
    where.push(`at_ms <= ${before.atMs}`);
    where.push(`(at_ms < ${before.atMs} or seq < ${before.seq})`);
  }
  if (message === undefined && user === undefined && afterSeq === undefined) {
    const reachMs = await reachingBack(index, both, values, before?.atMs, limit);
    where.push(`at_ms >= ${reachMs}`);
  }
  const text = message ?? user;
  if (text !== undefined) Object.assign(values, { hash: hashOf(text), text });
  const isBoth = message !== undefined && user !== undefined;
  if (isBoth) values['user'] = user;
  const [prelude, from] =
    text === undefined
      ? ['', `attempts where ${where.join(' and ')}`]
      : [
          found(message === undefined ? 'usr' : 'message', where),
          isBoth ? 'found where usr = $user' : 'found',
        ];
  const rows = await database.rows<AttemptRow>(
    `${prelude} select ${rowColumns} from ${from} order by at_ms desc, seq desc limit ${limit + 1}`,
    values,
  );
  const items = rows
    .slice(0, limit)
    .map((row) => ({ ...lineOfRow(row, words), seq: String(row.seq) }));
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { items, next: last === undefined ? undefined : { atMs: last.atMs, seq: last.seq } };
}

/** The time from which the buckets count as many rows as a page needs, so that a page looks through no more. */
export async function reachingBack(
  { database, countedSeq }: OpenIndex,
  conditions: readonly string[],
  values: Readonly<Record<string, DuckDBValue>>,
  beforeMs: number | undefined,
  limit: number,
): Promise<number> {
  const where = conditions.join(' and ');
  const rows = await database.rows<{ bucket: number; count: number }>(
    `select bucket, sum(count)::double as count from (
       select bucket, count from buckets where ${where}
       union all
       select (at_ms // ${bucketMs})::integer, 1 from attempts where seq > ${countedSeq} and ${where}
     ) group by bucket order by bucket desc`,
    values,
  );
  let count = 0;
  for (const each of rows) {
    // Of the bucket in which the page before ended, some are gone.
    if (beforeMs !== undefined && each.bucket >= Math.floor(beforeMs / bucketMs)) continue;
    count += each.count;
    if (count > limit) return each.bucket * bucketMs;
  }
  return 0;
}

/**
 * The user that the newest line of this message names.
 * @param destination its word: of its lines alone
 */
export async function whoseMessage(
  { database, words }: OpenIndex,
  message: string,
  destination?: string,
): Promise<string | undefined> {
  const word = destination === undefined ? undefined : words.find(destination);
  if (destination !== undefined && word === undefined) return undefined;
  const sought = writable(message);
  const where = word === undefined ? [] : [`destination = ${word}`];
  const [row] = await database.rows<{ user: string | null }>(
    `${found('message', where)} select usr as "user" from found order by at_ms desc limit 1`,
    { hash: hashOf(sought), text: sought },
  );
  return row?.user ?? undefined;
}

export interface FoundEvents {
  readonly items: readonly FoundEvent[];
  readonly nextAtMs: number | undefined;
}

/**
 * An event's outcome at a destination, by its rows there: the number of an outcome in `outcomes`.
 * What came last decides, but an attempt at another URL may end after it was delivered.
 */
const rankSql = `case when bool_or(what = ${delivered}) then 0 else
  case arg_max(what, seq) when ${dropped} then 1 when ${kept} then 2
    when ${refused} then 4 when ${deadLetter} then 4 else 3 end end`;

export interface EventQuestion {
  readonly user: string;
  readonly outcome?: EventOutcome | undefined;
  /** The `identityText` of a destination that has to do with it. */
  readonly destination?: string | undefined;
  /** By when something last happened to it: not before. Epoch milliseconds. */
  readonly sinceMs?: number | undefined;
  /** And not at or after. */
  readonly beforeMs?: number | undefined;
  readonly limit: number;
}

/** The events of a user of which lines are kept, the newest first. */
export async function eventsOfUser(
  { database, words }: OpenIndex,
  { user: sought, outcome, destination, sinceMs = 0, beforeMs, limit }: EventQuestion,
): Promise<FoundEvents> {
  const user = writable(sought);
  const wanted = destination === undefined ? undefined : words.find(destination);
  if (destination !== undefined && wanted === undefined) return { items: [], nextAtMs: undefined };
  const having = ['max(at_ms) < $before', 'max(at_ms) >= $since'];
  if (outcome !== undefined) having.push(`max(rank) = ${outcomes.indexOf(outcome)}`);
  if (wanted !== undefined) having.push(`bool_or(destination = ${wanted})`);
  const rows = await database.rows<{
    message: string;
    atMs: number;
    source: number;
    type: number;
    eventName: string | null;
    rank: number;
    destinations: number[];
  }>(
    `${found('usr')}, fates as (
       select message, destination, max(at_ms) as at_ms, any_value(source) as source,
         any_value(type) as type, any_value(event_name) as event_name, ${rankSql} as rank
       from found where message is not null group by message, destination)
     select message, max(at_ms)::double as "atMs", any_value(source) as source, any_value(type) as type,
       any_value(event_name) as "eventName", max(rank)::integer as rank, list(destination) as destinations
     from fates group by message having ${having.join(' and ')} order by 2 desc, 1 limit $limit`,
    {
      hash: hashOf(user),
      text: user,
      before: BigInt(beforeMs ?? Number.MAX_SAFE_INTEGER),
      since: BigInt(sinceMs),
      limit: limit + 1,
    },
  );
  const items = rows
    .slice(0, limit)
    .map(({ message, atMs, source, type, eventName, rank, destinations }) => ({
      messageId: message,
      user,
      source: words.of(source),
      type: words.of(type),
      eventName,
      at: new Date(atMs).toISOString(),
      outcome: outcomes[rank] ?? 'waiting',
      destinations: [...new Set(destinations.map((id) => idIn(words.of(id))))].sort(),
    }));
  return { items, nextAtMs: rows.length > limit ? rows[limit - 1]?.atMs : undefined };
}

/** Counts of the last minute, by the number of `what` in attempt-rows. */
export async function countsOfLastMinute(
  { database }: OpenIndex,
  nowMs: number,
): Promise<ReadonlyMap<number, number>> {
  const rows = await database.rows<{ what: number; count: number }>(
    `select what, count(*)::integer as count from attempts where at_ms > ${nowMs - 60_000} group by what`,
  );
  return new Map(rows.map(({ what, count }) => [what, count]));
}

/**
 * Events that were kept for paused destinations, by their `identityText`.
 * @param since when each was paused, in epoch milliseconds, by the same
 */
export async function keptSince(
  { database, words }: Pick<OpenIndex, 'database' | 'words'>,
  since: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const paused = Array.from(since).flatMap(([word, sinceMs]) => {
    const id = words.find(word);
    return id === undefined ? [] : [`(${id}, ${sinceMs})`];
  });
  if (paused.length === 0) return new Map();
  // One event may be kept by two workers when a partition moves.
  const rows = await database.rows<{ destination: number; count: number }>(
    `select destination, count(distinct (message, usr))::integer as count
     from attempts join (values ${paused.join(', ')}) as paused(id, since_ms) on destination = id
     where what = ${kept} and at_ms >= since_ms group by destination`,
  );
  return new Map(rows.map(({ destination, count }) => [words.of(destination), count]));
}
