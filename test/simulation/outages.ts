import { seededRandom } from '../delivery/simulated-clock.ts';
import {
  answerOk,
  defaultPolicy,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import type { Answer } from '../delivery/simulated-world.ts';

/** What outages cost, and what is delivered in spite of them: for the tests and for `npm run bench outages`. */

/** What an endpoint does while it is away. */
export type Trouble = 'answers 503' | 'hangs';

export interface OutageCost {
  readonly trouble: Trouble;
  /** To retry topics during the outage, a record. */
  readonly writes: number;
  /** Of what arrived during the outage, what was attempted within max(1 min, half the outage) after it. */
  readonly attempted: number;
}

/** One outage for each seed from 1 on, of an endpoint that answers 503 and of one that hangs in turn. */
export async function outageCosts(minutes: number, seeds: number): Promise<OutageCost[]> {
  const costs: OutageCost[] = [];
  for (let seed = 1; seed <= seeds; seed++)
    costs.push(await outageCost(minutes, seed % 2 === 0 ? 'hangs' : 'answers 503', seed));
  return costs;
}

/** Three records a second arrive while the endpoint is away. */
async function outageCost(minutes: number, trouble: Trouble, seed: number): Promise<OutageCost> {
  const world = new SimulatedWorld({ seed });
  world.addDestination('crm');
  const endMs = world.clock.now() + minutes * minuteMs;
  const away: Answer = trouble === 'hangs' ? hangs : failsWith(503);
  world.answer = (_url, _sending, nowMs) => (nowMs < endMs ? away : answerOk);
  let published = 0;
  for (let second = 0; second < minutes * 60; second++) {
    for (let n = 0; n < 3; n++) world.publish('crm', `u${published++}`);
    await world.clock.pass(1_000);
  }
  const writes = world.retries.length / published;
  await world.clock.pass(Math.max(minuteMs, (minutes * minuteMs) / 2));
  const attempted = new Set(
    world.requests.filter(({ atMs }) => atMs >= endMs).map(({ messageId }) => messageId),
  );
  return { trouble, writes, attempted: attempted.size / published };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** So often, from so many minutes to so many: the last is longer than the retry window. */
const distribution = [
  [60, 0.5, 2],
  [20, 2, 10],
  [8, 10, 40],
  [2, 60, 180],
  [1, 250, 330],
] as const;

/** Of the time, with what lies between the outages, and so of first tries too. */
export const upShare = 0.934;

export interface Coverage {
  readonly published: number;
  /** Arrived while the endpoint was there. */
  readonly firstTries: number;
  /** What one would deliver who tries continuously inside the window. */
  readonly oracle: number;
  /** Of the oracle's; the clock of what was put off unattempted begins later, so others may be delivered too. */
  readonly delivered: number;
}

/** Records that arrive evenly over the outages of the distribution, in an order and of lengths by the seed. */
export async function coverage(seed: number, betweenRecordsMs = 15_000): Promise<Coverage> {
  const random = seededRandom(seed);
  const world = new SimulatedWorld({ seed });
  world.addDestination('crm');
  const { outages, endMs } = timetable(random, world.clock.now());
  const upAgainMs = whenUp(outages);
  world.answer = (_url, _sending, nowMs) => (upAgainMs(nowMs) > nowMs ? failsWith(503) : answerOk);
  const oracle: string[] = [];
  let firstTries = 0;
  let published = 0;
  while (world.clock.now() < endMs) {
    const waitMs = upAgainMs(world.clock.now()) - world.clock.now();
    const messageId = world.publish('crm', `u${published++}`);
    if (waitMs === 0) firstTries += 1;
    if (waitMs <= defaultPolicy.windowMs) oracle.push(messageId);
    await world.clock.pass(betweenRecordsMs);
  }
  await world.clock.pass(defaultPolicy.windowMs + hourMs);
  const all = new Set(world.delivered);
  const delivered = oracle.filter((messageId) => all.has(messageId)).length;
  return { published, firstTries, oracle: oracle.length, delivered };
}

interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The outages in an order by chance, with gaps of one length before, between and after them. */
function timetable(
  random: () => number,
  startMs: number,
): { readonly outages: readonly Outage[]; readonly endMs: number } {
  const durationsMs = distribution
    .flatMap(([times, from, to]) =>
      Array.from({ length: times }, () => (from + (to - from) * random()) * minuteMs),
    )
    .map((durationMs) => ({ durationMs, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ durationMs }) => Math.round(durationMs));
  const downMs = durationsMs.reduce((sum, durationMs) => sum + durationMs, 0);
  const gapMs = Math.round((downMs * upShare) / (1 - upShare) / durationsMs.length);
  const outages: Outage[] = [];
  let atMs = startMs + gapMs;
  for (const durationMs of durationsMs) {
    outages.push({ fromMs: atMs, untilMs: atMs + durationMs });
    atMs += durationMs + gapMs;
  }
  return { outages, endMs: atMs };
}

/** When the endpoint is there next, from a time on; asked for later and later times. */
function whenUp(outages: readonly Outage[]): (nowMs: number) => number {
  let current = 0;
  return (nowMs) => {
    while ((outages[current]?.untilMs ?? Infinity) <= nowMs) current += 1;
    const outage = outages[current];
    return outage !== undefined && outage.fromMs <= nowMs ? outage.untilMs : nowMs;
  };
}
