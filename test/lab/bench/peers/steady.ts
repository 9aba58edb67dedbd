import { setTimeout as delay } from 'node:timers/promises';
import { createKafka } from '../../../../src/kafka/client.ts';
import { createProducer } from '../../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../../src/ops/log.ts';
import { topologyOf } from './matrix.ts';
import type { Peer, RunningPeer, Work } from './peer.ts';
import { postrider, prepareTopics } from './postrider.ts';
import type { PathArrived, Receiver } from './receiver-process.ts';
import { SteadyLoad } from './steady-load.ts';

/**
 * All peers beside each other, each as a group of its own on the same topic: every event goes to all of them at
 * the same moment, so that what the machine does otherwise hits them alike.
 */

export interface SteadyOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  readonly receiver: Receiver;
  readonly peers: readonly Peer[];
}

/** Where a peer's events for the healthy destination go to, and for the one that never answers. */
type DestinationId = 'healthy' | 'hang';

const inFlight = 256;
/** Postrider's default. */
const inFlightPerDestination = 64;
const mostStartMs = 120_000;
const pollMs = 20;

export class SteadyPeers {
  readonly load: SteadyLoad;
  readonly #options: SteadyOptions;
  readonly #works: ReadonlyMap<Peer, Work>;
  readonly #close: () => Promise<void>;
  #running: RunningPeer[] = [];

  private constructor(
    options: SteadyOptions,
    works: ReadonlyMap<Peer, Work>,
    load: SteadyLoad,
    close: () => Promise<void>,
  ) {
    this.#options = options;
    this.#works = works;
    this.#close = close;
    this.load = load;
  }

  /**
   * With events for the healthy destination only; resolves once every peer delivers them as they come, or has
   * had two minutes for that.
   * @throws Error if one delivers nothing
   */
  static async start(options: SteadyOptions, eventsPerSecond: number): Promise<SteadyPeers> {
    const { brokers, prefix, receiver, peers } = options;
    const topic = topologyOf(prefix).topics.delivery;
    const works = new Map(
      peers.map((peer): [Peer, Work] => [
        peer,
        {
          brokers,
          prefix,
          topic,
          reads: 'events',
          group: `${prefix}${peers.indexOf(peer)}`,
          destinations: (['healthy', 'hang'] as const).map((id) => ({
            id,
            // Each a host of its own.
            url: receiver.url('http', id === 'hang' ? 1 : 0, pathOf(peers, peer, id)),
          })),
          inFlight,
          inFlightPerDestination,
          caFile: receiver.caFile,
        },
      ]),
    );
    await prepareTopics(prefix, works.get(postrider)?.destinations ?? []);
    await receiver.reset();
    const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
    const producer = await createProducer(kafka, { log: silentLogger });
    const load = new SteadyLoad(producer, topic, ['healthy'], eventsPerSecond);
    const started = new SteadyPeers(options, works, load, () => producer.close(10_000));
    await started.startPeers();
    await started.until(
      ({ unique }) => unique > 0 && unique >= started.#healthyWritten - eventsPerSecond,
      mostStartMs,
    );
    for (const [peer, { unique }] of await started.arrived())
      if (unique === 0) throw new Error(`${peer.name} delivers nothing`);
    return started;
  }

  get #healthyWritten(): number {
    return this.load.written.get('healthy') ?? 0;
  }

  async startPeers(): Promise<void> {
    this.#running = await Promise.all(
      Array.from(this.#works, async ([peer, work]) => peer.start(work)),
    );
  }

  async kill(): Promise<void> {
    await Promise.all(this.#running.map((peer) => peer.end('SIGKILL')));
  }

  async stop(): Promise<void> {
    await this.load.stop();
    await this.kill();
    await this.#close();
  }

  /** At the healthy destination. */
  async arrived(): Promise<ReadonlyMap<Peer, PathArrived>> {
    const { receiver, peers } = this.#options;
    const { paths } = await receiver.arrived();
    return new Map(
      peers.map((peer) => [
        peer,
        paths[pathOf(peers, peer, 'healthy')] ?? { unique: 0, repeated: 0 },
      ]),
    );
  }

  /** Or until it has taken too long. */
  async until(check: (arrived: PathArrived) => boolean, mostMs: number): Promise<void> {
    const untilMs = performance.now() + mostMs;
    while (performance.now() < untilMs) {
      if ([...(await this.arrived()).values()].every(check)) return;
      for (const peer of this.#running) peer.assertRuns();
      await delay(pollMs);
    }
  }

  /** From now on, latencies are those of events that are written from now on. */
  async mark(): Promise<void> {
    await this.#options.receiver.mark(this.load.nextNumber);
  }

  /** Of the healthy destination's events since the last mark. */
  async latenciesMs(): Promise<ReadonlyMap<Peer, number[]>> {
    const { receiver, peers } = this.#options;
    const latencies = new Map<Peer, number[]>();
    for (const peer of peers)
      latencies.set(peer, await receiver.latenciesMs(pathOf(peers, peer, 'healthy')));
    return latencies;
  }
}

function pathOf(peers: readonly Peer[], peer: Peer, id: DestinationId): string {
  return `${id}-${peers.indexOf(peer)}`;
}

/** NaN of nothing. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? NaN;
}
