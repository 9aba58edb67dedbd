import { fork } from 'node:child_process';
import { ensureTopics } from '../../../src/kafka/admin.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { destinationId, eventRecord, loadTopology } from './delivery-load.ts';
import type { DeliveryLoad } from './delivery-load.ts';
import { compare } from './compare.ts';
import { firstLine, runMeasured, type BenchResult, type Measurement } from './measure.ts';

export interface DeliveryBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  /** Default 5. */
  readonly rounds?: number;
  readonly events?: number;
  readonly log?: (line: string) => void;
}

/** Deliveries per CPU second of the delivery role, as a share of each bare loop's, in alternating rounds. */
export async function benchDelivery(options: DeliveryBenchOptions): Promise<BenchResult[]> {
  const { prefix, rounds = 5, events = 120_000, log = () => undefined } = options;
  return withDeliveryLoad({ ...options, events, warmUp: events / 4 }, (run) =>
    compare({
      name: 'delivery: deliveries',
      rounds,
      stock: {
        required: { above: 1 },
        run: (round) => run('delivery-bare-stock.ts', `${prefix}stock-${round}`),
      },
      own: {
        required: { atLeast: 0.9 },
        run: (round) => run('delivery-bare-own.ts', `${prefix}own-${round}`),
      },
      role: (round) => run('delivery-role.ts', `${prefix}role-${round}`),
      notes: [
        "Without the history of attempts, which costs what its section says, and with V8's usual heap for all three.",
      ],
      log,
    }),
  );
}

type RunScript = (
  script: string,
  group: string,
  execArgv?: readonly string[],
  changes?: Partial<DeliveryLoad>,
) => Promise<Measurement>;

/**
 * With a receiver, and the events in the delivery topic, which every run's group reads from its beginning.
 * By default for ten destinations.
 */
export async function withDeliveryLoad<T>(
  options: Pick<DeliveryLoad, 'brokers' | 'prefix' | 'events' | 'warmUp'> &
    Partial<Pick<DeliveryLoad, 'destinations'>>,
  use: (run: RunScript) => Promise<T>,
): Promise<T> {
  const { brokers, prefix, events, warmUp, destinations = 10 } = options;
  const receiver = fork(new URL('raw-receiver.ts', import.meta.url), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  try {
    const receiverPort = Number(await firstLine(receiver));
    const common = { brokers, prefix, events, warmUp, receiverPort };
    const load = { ...common, destinations, inFlight: 256 };
    await writeEvents(load);
    return await use((script, group, execArgv, changes) =>
      runMeasured(
        new URL(script, import.meta.url),
        { ...load, group, ...changes } satisfies DeliveryLoad,
        execArgv,
      ),
    );
  } finally {
    receiver.disconnect();
  }
}

export async function writeEvents(
  load: Omit<DeliveryLoad, 'group'>,
  propertiesOf?: (n: number) => object,
): Promise<void> {
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
        return eventRecord(topology.topics.delivery, id, index, propertiesOf?.(index));
      }),
    );
  }
  await producer.close(10_000);
}

if (import.meta.main) {
  const brokers = process.env['KAFKA_BROKERS']?.split(',') ?? [];
  const prefix = `bench${process.pid}.`;
  const rounds = Number(process.argv[2] ?? 5);
  const results = await benchDelivery({ brokers, prefix, rounds, log: console.log });
  console.log(JSON.stringify(results, null, 2));
}
