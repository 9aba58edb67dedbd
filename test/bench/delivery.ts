import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { ensureTopics } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { destinationId, loadTopology } from './delivery-load.ts';
import type { DeliveryLoad, DeliveryMeasurement } from './delivery-load.ts';

export interface DeliveryBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  /** Default 5. */
  readonly pairs?: number;
  readonly events?: number;
  readonly log?: (line: string) => void;
}

export interface BenchResult {
  readonly name: string;
  /** What must be reached; every sample is one alternating pair of runs. */
  readonly required: string;
  readonly ratios: readonly number[];
  readonly median: number;
  /** Smallest and largest. */
  readonly spread: readonly [number, number];
  readonly passed: boolean;
  /** Absolute figures beside the ratio, for a person. */
  readonly absolutes: Readonly<Record<string, string>>;
}

const requiredRatio = 0.75;

/** Deliveries per CPU second of the delivery role, as a share of the bare loop's, in alternating pairs. */
export async function benchDelivery(options: DeliveryBenchOptions): Promise<BenchResult> {
  const { brokers, prefix, pairs = 5, events = 60_000, log = () => undefined } = options;
  const receiver = fork(new URL('raw-receiver.ts', import.meta.url), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  try {
    const receiverPort = Number(await firstLine(receiver));
    const load = {
      brokers,
      prefix,
      receiverPort,
      destinations: 10,
      events,
      warmUp: events / 4,
      inFlight: 256,
    };
    await writeEvents(load);
    const ratios: number[] = [];
    const bareUs: number[] = [];
    const roleUs: number[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      const bare = await run('delivery-bare.ts', { ...load, group: `${prefix}bare-${pair}` });
      const role = await run('delivery-role.ts', { ...load, group: `${prefix}role-${pair}` });
      bareUs.push(cpuPerDelivery(bare));
      roleUs.push(cpuPerDelivery(role));
      ratios.push(cpuPerDelivery(bare) / cpuPerDelivery(role));
      log(`bare ${describe(bare)}, role ${describe(role)}, ratio ${format(ratios.at(-1))}`);
    }
    const median = medianOf(ratios);
    return {
      name: 'deliveries per CPU second, role against bare loop',
      required: `at least ${requiredRatio}`,
      ratios,
      median,
      spread: [Math.min(...ratios), Math.max(...ratios)],
      passed: median >= requiredRatio,
      absolutes: {
        'bare loop, CPU µs a delivery': format(medianOf(bareUs)),
        'role, CPU µs a delivery': format(medianOf(roleUs)),
      },
    };
  } finally {
    receiver.disconnect();
  }
}

async function writeEvents(load: Omit<DeliveryLoad, 'group'>): Promise<void> {
  const topology = loadTopology(load.prefix);
  await ensureTopics(
    createKafka({ brokers: load.brokers, clientId: 'bench' }, silentLogger),
    topology.all,
  );
  const kafka = createKafka({ brokers: load.brokers, clientId: 'bench' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const chunk = 5_000;
  for (let from = 0; from < load.events; from += chunk) {
    await producer.send(
      Array.from({ length: Math.min(chunk, load.events - from) }, (_, offset) => {
        const index = from + offset;
        const id = destinationId(index % load.destinations);
        const user = `user-${index % 9_973}`;
        const envelope = {
          destinationId: id,
          sourceId: 'bench',
          messageId: `bench-${index}`,
          type: 'track',
          configOffset: 1,
          appendTimeMs: Date.now(),
          attempts: 0,
        } as const;
        return {
          topic: topology.topics.delivery,
          key: deliveryKey(id, user),
          value: JSON.stringify({
            version: 1,
            type: 'track',
            userId: user,
            event: 'Order Completed',
            properties: { filler: filler() },
          }),
          headers: { [envelopeHeader]: encodeEnvelope(envelope) },
        };
      }),
    );
  }
  await producer.close(10_000);
}

/** 300 bytes that compress to about half, as real events do. */
function filler(): string {
  return randomBytes(150).toString('hex');
}

async function run(file: string, load: DeliveryLoad): Promise<DeliveryMeasurement> {
  const child = fork(new URL(file, import.meta.url), [JSON.stringify(load)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const line = await firstLine(child);
  if (child.exitCode === null) await once(child, 'exit');
  return JSON.parse(line) as DeliveryMeasurement;
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('its output is not a pipe');
  for await (const line of createInterface({ input: child.stdout })) return line;
  throw new Error(`it ended without a result: ${child.spawnargs.join(' ')}`);
}

function cpuPerDelivery({ cpuUs, deliveries }: DeliveryMeasurement): number {
  return cpuUs / deliveries;
}

function describe(measurement: DeliveryMeasurement): string {
  const perSecond = Math.round((measurement.deliveries / measurement.wallMs) * 1_000);
  const rssMb = Math.round(measurement.rssBytes / 1_048_576);
  return `${format(cpuPerDelivery(measurement))} µs, ${perSecond}/s, ${rssMb} MB`;
}

function medianOf(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

function format(value: number = NaN): string {
  return value.toFixed(2);
}

if (import.meta.main) {
  const brokers = process.env['KAFKA_BROKERS']?.split(',') ?? [];
  const prefix = `bench${process.pid}.`;
  const pairs = Number(process.argv[2] ?? 5);
  const result = await benchDelivery({ brokers, prefix, pairs, log: console.log });
  console.log(JSON.stringify(result, null, 2));
}
