import { createKafka } from '../../../../src/kafka/client.ts';
import { createProducer } from '../../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../../src/ops/log.ts';
import { createTopology } from '../../../../src/topology.ts';
import kafkajs from '../bare-kafkajs.ts';
import {
  amountIn,
  measure,
  perCpuSecond,
  perSecond,
  writtenFor,
  type Amount,
  type Cell,
  type Run,
} from './cells.ts';
import { callFor, eventFor } from './events.ts';
import type { Peer, PeerDestination, Work } from './peer.ts';
import { partitions, postrider, prepareTopics } from './postrider.ts';
import type { Receiver } from './receiver-process.ts';

/** By cell and peer, one run for each round; a peer is left out where it is another peer's equal. */
export type Matrix = ReadonlyMap<Cell, ReadonlyMap<Peer, readonly Run[]>>;

export interface MatrixOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  readonly receiver: Receiver;
  readonly cells: readonly Cell[];
  readonly peersOf: (cell: Cell) => readonly Peer[];
  readonly rounds: number;
  readonly amount: Amount;
  readonly log: (line: string) => void;
}

/** Every peer in every cell, in turn; every other round goes backwards. */
export async function runMatrix(options: MatrixOptions): Promise<Matrix> {
  const { cells, peersOf, rounds, log } = options;
  const topics = new Topics(options);
  const matrix = new Map(cells.map((cell) => [cell, new Map(peersOf(cell).map(noRuns))]));
  for (const [cell, runs] of matrix) {
    for (let round = 0; round < rounds; round += 1) {
      for (const peer of round % 2 === 0 ? runs.keys() : [...runs.keys()].reverse()) {
        const work = await topics.workFor(cell, `${round}`);
        const run = await measure(peer, work, {
          receiver: options.receiver,
          answering: cell.answering,
          amount: amountIn(cell, options.amount),
        });
        // Postrider's group has its name from the prefix: it reads from the beginning if there is none.
        if (peer === postrider) await topics.forgetGroups(work.prefix);
        runs.get(peer)?.push(run);
        log(`${cell.name}: ${peer.name}, ${describe(run)}`);
      }
    }
  }
  return matrix;
}

function noRuns(peer: Peer): [Peer, Run[]] {
  return [peer, []];
}

/** Topics with the same events are made once. */
class Topics {
  readonly #options: MatrixOptions;
  readonly #made = new Map<string, Pick<Work, 'prefix' | 'topic' | 'destinations'>>();
  #groups = 0;

  constructor(options: MatrixOptions) {
    this.#options = options;
  }

  async workFor(cell: Cell, round: string): Promise<Work> {
    const { brokers, receiver, prefix } = this.#options;
    const { scheme, destinations, reads, inFlight, batchOf } = cell;
    // A router that starts anew would write everything once more into the delivery topic.
    const parts = [scheme, destinations, reads, reads === 'calls' ? round : '', batchOf ?? ''];
    const key = parts.join('-');
    const made = this.#made.get(key) ?? (await this.#make(`${prefix}${key}.`, cell));
    this.#made.set(key, made);
    this.#groups += 1;
    const group = `${prefix}peer-${this.#groups}`;
    const { caFile } = receiver;
    const inFlightPerDestination = inFlight;
    const work = { ...made, brokers, reads, group, inFlight, inFlightPerDestination, caFile };
    return batchOf === undefined ? work : { ...work, batchOf };
  }

  async forgetGroups(prefix: string): Promise<void> {
    const admin = new kafkajs.Kafka({
      brokers: [...this.#options.brokers],
      logLevel: kafkajs.logLevel.NOTHING,
    }).admin();
    await admin.connect();
    try {
      const { groups } = await admin.listGroups();
      const own = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
      await admin.deleteGroups(own);
    } finally {
      await admin.disconnect();
    }
  }

  async #make(
    prefix: string,
    cell: Cell,
  ): Promise<Pick<Work, 'prefix' | 'topic' | 'destinations'>> {
    const { receiver, brokers, amount } = this.#options;
    const destinations = Array.from({ length: cell.destinations }, (_, index): PeerDestination => ({
      id: `d${index}`,
      url: receiver.url(cell.scheme, index, `d${index}`),
    }));
    await prepareTopics(prefix, destinations, cell.batchOf);
    const { ingest, delivery } = topologyOf(prefix).topics;
    const topic = cell.reads === 'calls' ? ingest : delivery;
    await fill(brokers, writtenFor(cell, amount), (n) =>
      cell.reads === 'calls'
        ? callFor(topic, n)
        : eventFor(topic, destinations[n % destinations.length]?.id ?? '', n),
    );
    return { prefix, topic, destinations };
  }
}

export function topologyOf(prefix: string): ReturnType<typeof createTopology> {
  return createTopology({
    prefix,
    partitions,
    replicationFactor: 1,
    retryTiersMs: [10_000],
    extraIngestTopics: [],
  });
}

async function fill(
  brokers: readonly string[],
  events: number,
  recordOf: (n: number) => ReturnType<typeof callFor>,
): Promise<void> {
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const chunk = 5_000;
  for (let from = 0; from < events; from += chunk) {
    const length = Math.min(chunk, events - from);
    await producer.send(Array.from({ length }, (_, offset) => recordOf(from + offset)));
  }
  await producer.close(10_000);
}

function describe(run: Run): string {
  const { deliveries, cpuUs, rssBytes, connections, resumed } = run;
  const parts = [
    `${perCpuSecond(run).toFixed(0)} a CPU second`,
    `${(cpuUs / deliveries).toFixed(1)} µs`,
    `${perSecond(run).toFixed(0)}/s`,
    `${(rssBytes / 1_048_576).toFixed(0)} MB`,
    `${connections.toFixed(3)} connections each, ${(100 * resumed).toFixed(0)} % resumed`,
  ];
  return parts.join(', ');
}
