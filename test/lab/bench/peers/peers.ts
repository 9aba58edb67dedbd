import { createRequire } from 'node:module';
import type { BenchResult } from '../measure.ts';
import { chosenCells, variable } from '../variables.ts';
import { plainBento, tunedBento } from './bento.ts';
import { buildBento } from './build-bento.ts';
import type { Cell } from './cells.ts';
import { measureCrash, measureHanging, measureLatency } from './experiments.ts';
import { batchedKafkajs, plainKafkajs } from './kafkajs.ts';
import { runMatrix } from './matrix.ts';
import type { Peer } from './peer.ts';
import { postrider } from './postrider.ts';
import { startReceiver } from './receiver-process.ts';
import { crashResult, hangingResult, latencyResult, matrixResults } from './results.ts';

/** Postrider beside what else delivers from Kafka to HTTP, on the same events, endpoints, broker and machine. */

export interface PeersBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

export async function benchPeers(options: PeersBenchOptions): Promise<BenchResult[]> {
  const { prefix, log = () => undefined } = options;
  const rounds = variable('PEERS_ROUNDS');
  const events = variable('PEERS_EVENTS');
  const bento = await buildBento(log);
  const receiver = await startReceiver();
  const plain = plainBento(bento);
  const tuned = tunedBento(bento);
  const all = [postrider, plain, tuned, plainKafkajs, batchedKafkajs];
  const peersOf = ({ destinations, batchOf }: Cell): Peer[] => {
    // The loops over kafkajs are what they are: a request for each event.
    if (batchOf !== undefined) return [postrider, plain, tuned];
    // Many destinations are many hosts: two idle connections for each are enough.
    return destinations === 1 ? all : all.filter((peer) => peer !== tuned);
  };
  try {
    const matrix = await runMatrix({
      ...options,
      receiver,
      cells: chosenCells(),
      peersOf,
      rounds,
      amount: { warmUpEvents: events / 2, events },
      log,
    });
    const steady = {
      ...options,
      receiver,
      peers: [postrider, plain, plainKafkajs, batchedKafkajs],
    };
    const found = [
      ...matrixResults(matrix, all, {
        Bento: bento.version,
        kafkajs: versionOf('kafkajs'),
        'Node.js': process.version,
      }),
    ];
    log('latency: all of them beside each other');
    found.push(latencyResult(await measureLatency({ ...steady, prefix: `${prefix}l.` }, rounds)));
    log('one destination hangs');
    found.push(hangingResult(await measureHanging({ ...steady, prefix: `${prefix}h.` })));
    log('kill -9');
    found.push(crashResult(await measureCrash({ ...steady, prefix: `${prefix}c.` })));
    return found;
  } finally {
    await receiver.close();
  }
}

function versionOf(name: string): string {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { version: string };
  return version;
}
