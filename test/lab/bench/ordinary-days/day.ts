import { setTimeout as delay } from 'node:timers/promises';
import { mostWaitMs } from './healthy-load.ts';
import type { Platform } from './platform.ts';

/** A day of the first year of any operator. */
export interface Day {
  /** `ORDINARY_DAYS` chooses by its beginning. */
  readonly name: string;
  live(scene: Scene): Promise<Felt | readonly Felt[]>;
}

export interface Scene {
  /** The broker that all days use which need no broker of their own. */
  readonly brokers: readonly string[];
  /** Of topics and groups that no other day uses. */
  readonly prefix: string;
  readonly log: (line: string) => void;
}

/** What healthy destinations felt on a day. */
export interface Felt {
  readonly what: string;
  readonly aloneP99Ms: number;
  readonly p99Ms: number;
  /** Of the day, and when the destinations were alone. */
  readonly events: readonly [number, number];
  readonly told: string;
  /** Whether all else was as it has to be; what it says then is in `told`. */
  readonly isWell: boolean;
  /** Absent: true. False where things are slow because somebody has set that, so that the p99 has no bar. */
  readonly hasBar?: boolean;
}

/** Trouble that has begun. */
export interface Trouble {
  /** Resolves with what there is to tell of it, once there is no more of it. */
  end(): Promise<Pick<Felt, 'told'> & Partial<Pick<Felt, 'isWell'>>>;
}

export interface DaySpec {
  readonly what: string;
  readonly aloneSeconds?: number;
  readonly daySeconds?: number;
  begin(): Promise<Trouble>;
  /** Whether healthy destinations are alone again after the end, so that they are measured a second time. */
  readonly isOverThen?: boolean;
}

const warmUpMs = 5_000;
const settlingMs = 3_000;

/** The healthy destinations of one platform when they are alone, on the day, and where it ends, alone again. */
export async function feltOn(platform: Platform, spec: DaySpec): Promise<Felt> {
  const { what, aloneSeconds = 10, daySeconds = 20, isOverThen = false } = spec;
  const { healthy } = platform;
  await delay(warmUpMs);
  const alone = await healthy.latenciesMs(() => delay(aloneSeconds * 1_000));
  let trouble: Trouble | undefined;
  const day = await healthy.latenciesMs(async () => {
    const endMs = performance.now() + daySeconds * 1_000;
    trouble = await spec.begin();
    await delay(Math.max(0, endMs - performance.now()));
  });
  const { told = '', isWell = true } = (await trouble?.end()) ?? {};
  if (isOverThen) {
    await delay(settlingMs);
    alone.push(...(await healthy.latenciesMs(() => delay(aloneSeconds * 1_000))));
  }
  if (isLate(alone)) throw new Error(`${what}: events do not arrive even when nothing happens`);
  return {
    what,
    aloneP99Ms: p99Of(alone),
    p99Ms: p99Of(day),
    events: [day.length, alone.length],
    told: isLate(day) ? `${told}; some of the healthy destinations' events did not arrive` : told,
    isWell: isWell && !isLate(day),
  };
}

function isLate(latenciesMs: readonly number[]): boolean {
  return latenciesMs.some((ms) => ms >= mostWaitMs);
}

/** Whether a day is as the bar wants it. */
export function isPassed(felt: Felt): boolean {
  return felt.isWell && (!hasBar(felt) || felt.p99Ms <= mostMs(felt.aloneP99Ms));
}

export function hasBar({ hasBar = true }: Felt): boolean {
  return hasBar;
}

/** The most that the p99 of healthy destinations may be on a day. */
export function mostMs(aloneP99Ms: number): number {
  return 1.5 * aloneP99Ms + 100;
}

export function p99Of(latenciesMs: readonly number[]): number {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? NaN;
}
