import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../../src/event/envelope.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { createTopology } from '../../../src/topology.ts';
import { install, type Installation, type RunningRole } from '../../harness/postrider.ts';
import { roleArgv, type BenchResult } from './measure.ts';
import { originHost } from './stand.ts';

/**
 * The heap of each role with the production flags: with many destinations, with all of them failing, and with
 * dedicated topics that have a backlog.
 */

export interface HeapBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

const limitMb = 300;
const destinations = 20_000;
const dedicatedTopics = 30;
const dedicatedPartitions = 12;
const backlogOfEach = 5_000;
const eventsOfEach = 5;
/** The least of a few looks is what collections leave. */
const lookMs = 1_000;
const looks = 25;
const looksTogether = 8;
const filler = 'x'.repeat(900);

/** A configuration, and how its endpoints answer. */
interface Situation {
  readonly name: string;
  readonly destinations: number;
  readonly isDedicated: boolean;
  readonly status: number;
  /** For each destination; 0: nothing is to be done. */
  readonly events: number;
}

const situations: readonly Situation[] = [
  { name: 'nothing configured', destinations: 0, isDedicated: false, status: 200, events: 0 },
  many('all answer 200', 200),
  many('all answer 503', 503),
  dedicated('no backlog', 200, 0),
  dedicated('a backlog, all answer 200', 200, backlogOfEach),
  dedicated('a backlog, all answer 503', 503, backlogOfEach),
];

function many(what: string, status: number): Situation {
  const name = `${destinations} destinations, ${what}`;
  return { name, destinations, isDedicated: false, status, events: eventsOfEach };
}

function dedicated(what: string, status: number, events: number): Situation {
  const name = `${dedicatedTopics} dedicated topics of ${dedicatedPartitions} partitions, ${what}`;
  return { name, destinations: dedicatedTopics, isDedicated: true, status, events };
}

/** The most that collections leave, in MB. */
interface Heaps {
  readonly gateway: number;
  readonly router: number;
  readonly delivery: number;
}

export async function benchHeap({ brokers, prefix, log }: HeapBenchOptions): Promise<BenchResult> {
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const rows: (readonly [Situation, Heaps])[] = [];
  for (const [index, situation] of situations.entries()) {
    const heaps = await heapsIn(situation, `${prefix}${index}.`, producer);
    log?.(`heap: ${situation.name}: ${JSON.stringify(heaps)} MB`);
    rows.push([situation, heaps]);
  }
  await producer.close(5_000);
  const ratios = rows.map(([, { delivery }]) => delivery / limitMb);
  const most = Math.max(...ratios);
  return {
    name: `heap: what collections leave of a worker's, as a share of ${limitMb} MB`,
    required: 'at most 0.8 in each situation',
    ratios,
    median: most,
    spread: [Math.min(...ratios), most],
    passed: most <= 0.8,
    absolutes: {},
    tables: [
      {
        title: 'Heap in MB after collections, at most',
        columns: ['situation', 'gateway', 'router', 'worker'],
        rows: rows.map(([{ name }, { gateway, router, delivery }]) => [
          name,
          ...[gateway, router, delivery].map((mb) => mb.toFixed(0)),
        ]),
      },
    ],
  };
}

async function heapsIn(situation: Situation, prefix: string, producer: Producer): Promise<Heaps> {
  const installation = await install({
    TOPIC_PREFIX: prefix,
    TOPIC_PARTITIONS: '12',
    RETRY_TIERS: '10s,1m,5m,15m,30m,1h',
    RETRY_WINDOW: '4h',
  });
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(situation.status).end();
    });
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await must(installation, ['topics', '--create'], '');
  await must(installation, ['apply', '-f', '-'], resourcesOf(situation, port));
  const flags = { NODE_OPTIONS: roleArgv.join(' ') };
  const gateway = await installation.start('gateway', flags);
  const router = await installation.start('router', flags);
  await produceBacklog(situation, prefix, producer);
  const delivery = await installation.start('delivery', flags);
  const roles = [gateway, router, delivery];
  const heaps = await Promise.all(roles.map(watchHeap));
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  server.close();
  server.closeAllConnections();
  const [ofGateway = NaN, ofRouter = NaN, ofDelivery = NaN] = heaps;
  return { gateway: ofGateway, router: ofRouter, delivery: ofDelivery };
}

async function must(
  installation: Installation,
  args: readonly string[],
  stdin: string,
): Promise<void> {
  const { code, stderr } = await installation.run(args, { stdin });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
}

function resourcesOf({ destinations: count, isDedicated }: Situation, port: number): string {
  const own = isDedicated ? { topic: 'dedicated', partitions: dedicatedPartitions } : {};
  return JSON.stringify([
    { kind: 'Source', id: 'bench', name: 'Bench', writeKeys: ['bench'] },
    ...Array.from({ length: count }, (_, index) => ({
      kind: 'Destination',
      id: `d${index}`,
      name: `d${index}`,
      sources: ['bench'],
      webhooks: [{ url: `http://${originHost(index)}:${port}/` }],
      ...own,
    })),
  ]);
}

async function produceBacklog(
  { destinations: count, isDedicated, events }: Situation,
  prefix: string,
  producer: Producer,
): Promise<void> {
  const topology = createTopology({
    prefix,
    partitions: 12,
    replicationFactor: 1,
    retryTiersMs: [],
    extraIngestTopics: [],
  });
  for (let n = 0; n < events; n += 1) {
    const records = Array.from({ length: count }, (_, index) => {
      const id = `d${index}`;
      const envelope = {
        destinationId: id,
        sourceId: 'bench',
        messageId: `m${n}-${index}`,
        type: 'track' as const,
        configOffset: 0,
        appendTimeMs: Date.now(),
        attempts: 0,
      };
      return {
        topic: isDedicated ? topology.dedicatedTopic(id).name : topology.topics.delivery,
        key: deliveryKey(id, `u${n}`),
        value: JSON.stringify({ n, filler }),
        headers: { [envelopeHeader]: encodeEnvelope(envelope) },
      };
    });
    await producer.send(records);
  }
}

/** @returns in MB; rejects if the role ends */
async function watchHeap(role: RunningRole): Promise<number> {
  const used: number[] = [];
  const died = role.ended.then((code) => {
    throw new Error(`a role has ended with ${code ?? 'a signal'}:\n${role.log().slice(-2_000)}`);
  });
  died.catch(() => undefined);
  const watch = async (): Promise<void> => {
    while (used.length < looks) {
      await delay(lookMs);
      const metrics = await (await fetch(`${role.url}/metrics`)).text();
      const [, value = ''] = /^nodejs_heap_size_used_bytes (\S+)$/m.exec(metrics) ?? [];
      used.push(Number(value) / 1_000_000);
    }
  };
  await Promise.race([watch(), died]);
  const left = used
    .slice(0, -looksTogether)
    .map((_, at) => Math.min(...used.slice(at, at + looksTogether)));
  return Math.max(...left);
}
