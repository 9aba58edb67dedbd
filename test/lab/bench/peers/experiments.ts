import { setTimeout as delay } from 'node:timers/promises';
import type { Peer } from './peer.ts';
import { percentile, SteadyPeers, type SteadyOptions } from './steady.ts';

/** What is measured at a steady rate far below what any of them can do. */

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export const latencyEventsPerSecond = 100;
const settleMs = 8_000;
const sampleMs = 6_000;

/** By peer, one for each round. */
export async function measureLatency(
  options: SteadyOptions,
  rounds: number,
): Promise<ReadonlyMap<Peer, readonly Latency[]>> {
  const steady = await SteadyPeers.start(options, latencyEventsPerSecond);
  const found = new Map(options.peers.map((peer): [Peer, Latency[]] => [peer, []]));
  await delay(settleMs);
  for (let round = 0; round < rounds; round += 1) {
    await steady.mark();
    await delay(sampleMs);
    for (const [peer, latencies] of await steady.latenciesMs())
      found.get(peer)?.push(latencyOf(latencies));
  }
  await steady.stop();
  return found;
}

function latencyOf(latenciesMs: readonly number[]): Latency {
  return { p50Ms: percentile(latenciesMs, 0.5), p99Ms: percentile(latenciesMs, 0.99) };
}

export interface Beside extends Latency {
  /** Of the healthy destination's events of that time. */
  readonly deliveredShare: number;
}

export const hangingEventsPerSecond = 100;
export const hangingSeconds = 20;
const graceMs = 5_000;

/** What a healthy destination gets while another one, with as many events, never answers. */
export async function measureHanging(options: SteadyOptions): Promise<ReadonlyMap<Peer, Beside>> {
  const steady = await SteadyPeers.start(options, hangingEventsPerSecond);
  await delay(settleMs);
  await steady.mark();
  const writtenBefore = steady.load.written.get('healthy') ?? 0;
  steady.load.destinations = ['healthy', 'hang'];
  await delay(hangingSeconds * 1_000);
  await steady.load.stop();
  const written = (steady.load.written.get('healthy') ?? 0) - writtenBefore;
  await delay(graceMs);
  const found = await steady.latenciesMs();
  await steady.stop();
  return new Map(
    Array.from(found, ([peer, latenciesMs]) => {
      const deliveredShare = latenciesMs.length / written;
      return [peer, { ...latencyOf(latenciesMs), deliveredShare }];
    }),
  );
}

export interface Crash {
  /** From the kill to the next delivery; Infinity where there was none for as long as was waited. */
  readonly silentMs: number;
  readonly repeated: number;
  /** Not delivered `mostCatchUpMs` after all of them deliver again. */
  readonly lost: number;
}

export const crashEventsPerSecond = 100;
export const restartAfterMs = 2_000;
const mostSilentMs = 90_000;
const mostCatchUpMs = 120_000;

/** All are killed at the same moment, and started again after `restartAfterMs`. */
export async function measureCrash(options: SteadyOptions): Promise<ReadonlyMap<Peer, Crash>> {
  const steady = await SteadyPeers.start(options, crashEventsPerSecond);
  await delay(settleMs);
  await steady.kill();
  const killedMs = performance.timeOrigin + performance.now();
  await delay(restartAfterMs);
  await steady.mark();
  await steady.startPeers();
  await steady.until(({ firstAfterMarkMs }) => firstAfterMarkMs !== undefined, mostSilentMs);
  await steady.load.stop();
  const written = steady.load.written.get('healthy') ?? 0;
  await steady.until(({ unique }) => unique >= written, mostCatchUpMs);
  const arrived = await steady.arrived();
  await steady.stop();
  return new Map(
    Array.from(arrived, ([peer, { firstAfterMarkMs = Infinity, repeated, unique }]) => [
      peer,
      { silentMs: firstAfterMarkMs - killedMs, repeated, lost: written - unique },
    ]),
  );
}
