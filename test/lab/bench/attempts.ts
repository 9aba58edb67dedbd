import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { AttemptJournal } from '../../../src/delivery/journal/journal.ts';
import { attemptLine } from '../../../src/delivery/journal/lines.ts';
import { deliveredWith } from '../../../src/delivery/outcome.ts';
import { deliveryKey, type Envelope } from '../../../src/event/envelope.ts';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { cpuPerUnit } from './compare.ts';
import { loadTopology } from './delivery-load.ts';
import { withDeliveryLoad, type DeliveryBenchOptions } from './delivery.ts';
import { medianOf, summarize, type BenchResult } from './measure.ts';

const most = 0.06;
const samples = 7;
const linesPerSample = 120_000;
/** Between two turns of the event loop, as with events. */
const linesPerTurn = 64;
/** Lines come faster here than any endpoint answers. */
const mostAhead = 20_000;

/**
 * What writing down every attempt adds to a delivery, by CPU time: from the line's text to Kafka's
 * acknowledgement of its record. Whole runs with and without it differ by less than by themselves.
 */
export async function benchAttempts(options: DeliveryBenchOptions): Promise<BenchResult[]> {
  const { brokers, prefix, rounds = 5, events = 60_000, log = () => undefined } = options;
  const deliveries: number[] = [];
  const lines: number[] = [];
  await withDeliveryLoad({ ...options, events, warmUp: events / 4 }, async (run) => {
    for (let round = 0; round < rounds; round += 1)
      deliveries.push(cpuPerUnit(await run('delivery-role.ts', `${prefix}role-${round}`)));
    const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
    const producer = await createProducer(kafka, { log: silentLogger });
    const topic = loadTopology(prefix).topics.attempts;
    const count = await producer.partitionCount(topic);
    const partitions = (): number => count;
    const common = { producer, topic, partitions, clock: systemClock, keeps: 'all' } as const;
    for (let sample = -1; sample < samples; sample += 1) {
      const lineUs = await measure(new AttemptJournal(common));
      // The first one is V8's.
      if (sample >= 0) lines.push(lineUs);
    }
    await producer.close(10_000);
  });
  const deliveryUs = medianOf(deliveries);
  log(`delivery ${deliveryUs.toFixed(2)} µs; line ${medianOf(lines).toFixed(2)} µs`);
  const shares = lines.map((lineUs) => lineUs / deliveryUs);
  return [
    {
      name: 'attempts: CPU time that writing every attempt down adds to a delivery',
      ...summarize(shares),
      required: `at most ${most}`,
      passed: medianOf(shares) <= most,
      absolutes: {
        'a delivery, CPU µs': deliveryUs.toFixed(2),
        'a line, CPU µs': medianOf(lines).toFixed(2),
      },
    },
  ];
}

/** CPU microseconds a line. */
async function measure(journal: AttemptJournal): Promise<number> {
  const subjects = Array.from({ length: 9_973 }, (_, index) => subject(index));
  const outcome = deliveredWith(200);
  const before = process.cpuUsage();
  for (let index = 0; index < linesPerSample; index += 1) {
    const about = subjects[index % subjects.length] ?? subject(0);
    const url = 'http://127.0.0.1:9000/d1';
    journal.write(about.key, attemptLine(Date.now(), about, url, outcome, 12.3));
    if (index % linesPerTurn === 0) await turn();
    while (index - journal.written > mostAhead) await delay(2);
  }
  await journal.close(30_000);
  const { user, system } = process.cpuUsage(before);
  if (journal.written < linesPerSample) throw new Error('lines were dropped');
  return (user + system) / linesPerSample;
}

function subject(index: number): { readonly key: Buffer; readonly envelope: Envelope } {
  const destinationId = `d${index % 10}`;
  return {
    key: Buffer.from(deliveryKey(destinationId, `user-${index}`)),
    envelope: {
      destinationId,
      sourceId: 'bench',
      messageId: `bench-${index}`,
      type: 'track',
      previousId: undefined,
      configOffset: 1,
      appendTimeMs: Date.now(),
      redrivenMs: undefined,
      attempts: 0,
      deadlineMs: undefined,
      dueMs: undefined,
    },
  };
}
