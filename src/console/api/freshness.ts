import type { Said } from '../../event/destination-health.ts';
import type { Index } from '../index/index.ts';
import type { LiveState } from '../index/live-state.ts';
import type { Concern, Freshness } from './answers/deployment.ts';

/** Epoch milliseconds. */
interface SourceTimes {
  /** The small topics are read until this time. */
  readonly liveMs: number;
  /** Attempts, dead letters and rejected calls until then are in the index; undefined: it has no end of them yet. */
  readonly indexMs: number | undefined;
}

/** The age of everything that answers are made of. Epoch milliseconds. */
export interface Times extends SourceTimes {
  /** The time of the last report of any worker. */
  readonly heardMs: number | undefined;
  /** Workers that live. */
  readonly workers: number;
}

/** Followers ask every second. */
const kafkaAwayMs = 6_000;
/** Workers report every five seconds, and may miss one. */
const reportsOldMs = 12_000;
/** Commits of the index take a second or two. */
const indexBehindMs = 10_000;
/** Younger answers count as new. */
const oldMs = 10_000;

/** The reasons why the pages may be wrong, the cause before its consequences. Each is a red banner. */
export function concernsOf(times: Times, nowMs: number): readonly Concern[] {
  const { liveMs, indexMs, heardMs, workers } = times;
  if (nowMs - liveMs >= kafkaAwayMs)
    return [
      {
        kind: 'kafka-away',
        ...since(liveMs),
        text: 'Kafka does not answer the console, so what you see is old.',
        advice: 'Check the brokers and the network. Events may not be delivered meanwhile.',
      },
    ];
  const concerns: Concern[] = [];
  if (workers === 0)
    concerns.push({
      kind: 'no-worker',
      ...since(heardMs),
      text: 'No delivery worker reports: none runs, or none can reach Kafka.',
      advice: 'Start postrider delivery, or read its log. Events wait in Kafka until then.',
    });
  else if (heardMs === undefined || nowMs - heardMs >= reportsOldMs)
    concerns.push({
      kind: 'reports-old',
      ...since(heardMs),
      text: 'The delivery workers have stopped reporting, so the states of destinations are old.',
      advice: 'Look whether postrider delivery still runs, and read its log.',
    });
  if (indexMs === undefined || nowMs - indexMs >= indexBehindMs)
    concerns.push({
      kind: 'index-behind',
      ...since(indexMs),
      text: 'The console has not read all attempts and dead letters yet, so figures are too low.',
      advice: 'Wait until it has; if it falls further behind, give the console more CPU time.',
    });
  return concerns;
}

/** True while workers' reports reach the console. */
export function isHeard({ liveMs }: Pick<SourceTimes, 'liveMs'>, nowMs: number): boolean {
  return nowMs - liveMs < kafkaAwayMs;
}

function since(ms: number | undefined): { readonly since?: string } {
  return ms === undefined || !Number.isFinite(ms) ? {} : { since: new Date(ms).toISOString() };
}

/** The age that every answer states: the time until which everything is known, and a sentence if that is long ago. */
export function datedAt(
  { liveMs, indexMs }: SourceTimes,
  nowMs: number,
): { readonly asOf?: string; readonly old?: string } {
  const atMs = Math.min(liveMs, indexMs ?? -Infinity);
  if (!Number.isFinite(atMs)) return { old: 'This is not complete yet: it is still being read.' };
  const asOf = new Date(atMs).toISOString();
  if (nowMs - atMs < oldMs) return { asOf };
  return { asOf, old: `This is old: nothing that happened after ${asOf} is in it.` };
}

interface Sources {
  readonly live: Pick<LiveState, 'asOfMs'>;
  readonly index: Pick<Index, 'asOfMs'>;
}

export function sourceTimesOf({ live, index }: Sources): SourceTimes {
  return { liveMs: live.asOfMs(), indexMs: index.asOfMs() };
}

export function freshnessOf(sources: Sources, { workers, heard }: Said, nowMs: number): Freshness {
  const times: Times = {
    ...sourceTimesOf(sources),
    heardMs: heard === undefined ? undefined : Date.parse(heard),
    workers: workers.length,
  };
  return { ...datedAt(times, nowMs), concerns: concernsOf(times, nowMs) };
}
