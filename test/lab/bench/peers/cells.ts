import { setTimeout as delay } from 'node:timers/promises';
import type { Peer, Work } from './peer.ts';
import { usageOf } from './proc-stat.ts';
import type { Answering, Arrived, Receiver, Scheme } from './receiver-process.ts';

/** Everything is there when a peer starts, and it delivers as fast as it can. */

export interface Cell {
  readonly name: string;
  readonly scheme: Scheme;
  readonly destinations: 1 | 100;
  readonly answering: Answering;
  readonly inFlight: number;
  readonly reads: Work['reads'];
  /** Events in a request; one without it. */
  readonly batchOf?: number;
}

const kept = { closes: false };
const base = { scheme: 'http', destinations: 1, inFlight: 64, reads: 'events' } as const;

/** Requests in flight are as many as an endpoint with that latency needs: the same for every peer. */
export const cells: readonly Cell[] = [
  { ...base, name: 'http, 0 ms', answering: { ...kept, afterMs: 0 } },
  { ...base, name: 'http, 20 ms', answering: { ...kept, afterMs: 20 } },
  { ...base, name: 'http, 500 ms', answering: { ...kept, afterMs: 500 }, inFlight: 1_024 },
  { ...base, name: 'https, 0 ms', scheme: 'https', answering: { ...kept, afterMs: 0 } },
  {
    ...base,
    name: 'https, 0 ms, closed after each',
    scheme: 'https',
    answering: { afterMs: 0, closes: true },
  },
  {
    ...base,
    name: 'http, 0 ms, 100 destinations',
    destinations: 100,
    inFlight: 256,
    answering: { ...kept, afterMs: 0 },
  },
  {
    ...base,
    name: 'https, 20 ms, 100 destinations',
    scheme: 'https',
    destinations: 100,
    inFlight: 256,
    answering: { ...kept, afterMs: 20 },
  },
  { ...base, name: 'http, 0 ms, from calls', reads: 'calls', answering: { ...kept, afterMs: 0 } },
  {
    ...base,
    name: 'http, 0 ms, batches of 100',
    batchOf: 100,
    answering: { ...kept, afterMs: 0 },
  },
];

/** What one run of a peer found. */
export interface Run {
  readonly deliveries: number;
  readonly cpuUs: number;
  readonly wallMs: number;
  /** At its end. */
  readonly rssBytes: number;
  /** Connections for each delivery, TLS sessions resumed for each connection: from its first request on. */
  readonly connections: number;
  readonly resumed: number;
}

export interface Amount {
  readonly warmUpEvents: number;
  readonly events: number;
}

/** All is counted in events, not in time: V8 and Go need as many of them on a busy machine as on a quiet one. */
const mostWaitMs = 60_000;
/** A peer that makes one request at a time gets as many events as it delivers in so long. */
const sequentialMs = 4_000;
/** An endpoint that takes longer gets half as many events. */
const slowMs = 100;
/** A connection costs as much as a dozen deliveries. */
const closedShare = 0.1;
const pollMs = 10;
/** In batches, the usual number of events would be over in a moment. */
const batchedShare = 10;
/** The last batch waits for others to fill it, so a few more events are there than are measured. */
const spareShare = 0.1;

/** The events of a whole run in that cell. */
export function amountIn({ batchOf }: Pick<Cell, 'batchOf'>, amount: Amount): Amount {
  const { warmUpEvents, events } = amount;
  return batchOf === undefined
    ? amount
    : { warmUpEvents: batchedShare * warmUpEvents, events: batchedShare * events };
}

/** The events that are written for a cell. */
export function writtenFor(cell: Pick<Cell, 'batchOf'>, amount: Amount): number {
  const { warmUpEvents, events } = amountIn(cell, amount);
  return Math.round((warmUpEvents + events) * (cell.batchOf === undefined ? 1 : 1 + spareShare));
}

/** What a peer is measured with at endpoints with that latency. */
export function amountFor(
  { isSequential = false }: Pick<Peer, 'isSequential'>,
  { afterMs, closes }: Answering,
  { warmUpEvents, events }: Amount,
): Amount {
  const share = (afterMs >= slowMs ? 0.5 : 1) * (closes ? closedShare : 1);
  const most = isSequential && afterMs > 0 ? Math.ceil(sequentialMs / afterMs) : Infinity;
  return {
    warmUpEvents: Math.min(warmUpEvents * share, Math.ceil(most / 2)),
    events: Math.min(events * share, most),
  };
}

/**
 * Measures from outside, and all alike: what has arrived, and what the kernel says of the processes.
 * @throws Error if the peer ends, or delivers nothing for a minute
 */
export async function measure(
  peer: Peer,
  work: Work,
  options: { receiver: Receiver; answering: Answering; amount: Amount },
): Promise<Run> {
  const { receiver, answering } = options;
  const { warmUpEvents, events } = amountFor(peer, answering, options.amount);
  await receiver.reset(answering);
  const running = await peer.start(work);
  const reach = async (count: number): Promise<Arrived> => {
    const untilMs = performance.now() + mostWaitMs;
    for (;;) {
      const arrived = await receiver.arrived();
      if (uniqueOf(arrived) >= count || performance.now() > untilMs) return arrived;
      running.assertRuns();
      await delay(pollMs);
    }
  };
  try {
    if (uniqueOf(await reach(1)) === 0)
      throw new Error(`${peer.name} has delivered nothing for ${mostWaitMs / 1_000} s`);
    const first = await reach(warmUpEvents);
    const before = usageOf(running.pids);
    const startedMs = performance.now();
    const last = await reach(warmUpEvents + events);
    const after = usageOf(running.pids);
    return {
      deliveries: uniqueOf(last) - uniqueOf(first),
      cpuUs: after.cpuUs - before.cpuUs,
      wallMs: performance.now() - startedMs,
      rssBytes: after.rssBytes,
      connections: last.opened / uniqueOf(last),
      resumed: last.resumed / last.opened,
    };
  } finally {
    await running.end('SIGTERM');
  }
}

function uniqueOf({ paths }: Arrived): number {
  return Object.values(paths).reduce((sum, { unique }) => sum + unique, 0);
}

/** Deliveries in a second of CPU time. */
export function perCpuSecond({ deliveries, cpuUs }: Run): number {
  return (deliveries / cpuUs) * 1_000_000;
}

export function perSecond({ deliveries, wallMs }: Run): number {
  return (deliveries / wallMs) * 1_000;
}
