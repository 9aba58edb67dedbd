import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { makeAuthority, makeCertificate } from '../../delivery/http/certificates.ts';
import { poison, type BatchReceiverCounts } from './batch-receiver.ts';
import { cpuPerUnit } from './compare.ts';
import { withDeliveryLoad, writeEvents } from './delivery.ts';
import { destinationId, eventRecord, filler, loadTopology } from './delivery-load.ts';
import type { DeliveryLoad } from './delivery-load.ts';
import { medianOf, runMeasured, summarize, type BenchResult, type Measurement } from './measure.ts';
import type { ReceiverOptions } from './tls-receiver.ts';
import { variable } from './variables.ts';

export interface BatchBenchOptions {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log?: (line: string) => void;
}

const batch = { events: 100, wait: '1s', bytes: '256KB' } as const;
const waitMs = 1_000;
const role = 'delivery-role.ts';

/** Events in requests of 100: against single requests, over new TLS connections, at rest, and with poisonous ones. */
export async function benchBatch(options: BatchBenchOptions): Promise<BenchResult[]> {
  const speed = await benchSpeed(options);
  return [
    ...speed,
    await benchMany(options),
    await benchLatency(options),
    await benchPoison(options),
  ];
}

interface Round {
  readonly single: Measurement;
  readonly batched: Measurement;
  readonly overTls: Measurement;
}

async function benchSpeed(options: BatchBenchOptions): Promise<BenchResult[]> {
  const { prefix, log = () => undefined } = options;
  const [rounds, events] = [variable('BATCH_ROUNDS'), variable('BATCH_EVENTS')];
  const folder = await mkdtemp(join(tmpdir(), 'postrider-batch-'));
  const authority = makeAuthority('Bench Authority');
  const authorityFile = join(folder, 'authority.pem');
  await writeFile(authorityFile, authority.cert);
  const certificate = makeCertificate({ by: authority, hosts: ['127.0.0.1'] });
  const tlsOptions: ReceiverOptions = { ...certificate, closes: true, forgets: true };
  const [tlsReceiver, tlsPort] = await startReceiver('tls-receiver.ts', tlsOptions);
  // The measured processes inherit it.
  process.env['NODE_EXTRA_CA_CERTS'] = authorityFile;
  const load = { ...options, events, warmUp: events / 4 };
  const measured: Round[] = [];
  try {
    await withDeliveryLoad(load, async (run) => {
      for (let round = 0; round < rounds; round += 1) {
        const single = await run(role, `${prefix}single-${round}`);
        const batched = await run(role, `${prefix}batched-${round}`, [], { batch });
        const tls = { batch, overTls: true, receiverPort: tlsPort } as const;
        const overTls = await run(role, `${prefix}tls-${round}`, [], tls);
        measured.push({ single, batched, overTls });
        log(
          `single ${textOf(single)}; batched ${textOf(batched)}; new TLS connections ${textOf(overTls)}`,
        );
      }
    });
  } finally {
    delete process.env['NODE_EXTRA_CA_CERTS'];
    tlsReceiver.kill();
    await rm(folder, { recursive: true });
  }
  return speedResults(measured);
}

function speedResults(rounds: readonly Round[]): BenchResult[] {
  const ratios = rounds.map(({ single, batched }) => cpuPerUnit(single) / cpuPerUnit(batched));
  const cpuUs = rounds.map(({ batched }) => cpuPerUnit(batched));
  const tlsUs = rounds.map(({ overTls }) => cpuPerUnit(overTls));
  return [
    {
      name: 'Batches of 100, an endpoint that answers at once: deliveries a CPU second, against single requests',
      required: 'at least 5',
      ...summarize(ratios),
      passed: medianOf(ratios) >= 5,
      absolutes: {
        'single requests, CPU µs an event': medianOf(
          rounds.map(({ single }) => cpuPerUnit(single)),
        ).toFixed(2),
      },
    },
    {
      name: 'Batches of 100: CPU µs an event, without attempts',
      required: 'at most 6',
      ...summarize(cpuUs),
      passed: medianOf(cpuUs) <= 6,
      absolutes: {
        'events a CPU second': Math.round(1e6 / medianOf(cpuUs)).toLocaleString('en-US'),
        'events a second, as measured beside the broker and the endpoint on this machine':
          Math.round(
            medianOf(rounds.map(({ batched }) => (batched.deliveries / batched.wallMs) * 1_000)),
          ).toLocaleString('en-US'),
      },
    },
    {
      name: 'Batches of 100, a new TLS connection with a full handshake for each request: CPU µs an event',
      required: 'at most 15',
      ...summarize(tlsUs),
      passed: medianOf(tlsUs) <= 15,
      absolutes: {},
    },
  ];
}

/** Hundreds of destinations whose batches would take long to fill, when more comes than may wait for that. */
async function benchMany(options: BatchBenchOptions): Promise<BenchResult> {
  const { log = () => undefined } = options;
  const prefix = `${options.prefix}many-`;
  const events = variable('BATCH_EVENTS') / 2;
  const destinations = 400;
  const load = { ...options, prefix, events, warmUp: events / 4, destinations };
  const perSecond = ({ deliveries, wallMs }: Measurement): number => (deliveries / wallMs) * 1_000;
  const rounds = await withDeliveryLoad(load, async (run) => {
    const measured: { readonly single: number; readonly batched: number }[] = [];
    for (let round = 0; round < variable('BATCH_ROUNDS'); round += 1) {
      const single = perSecond(await run(role, `${prefix}single-${round}`));
      const batched = perSecond(await run(role, `${prefix}batched-${round}`, [], { batch }));
      measured.push({ single, batched });
      log(
        `${destinations} destinations: single ${single.toFixed(0)}/s; batched ${batched.toFixed(0)}/s`,
      );
    }
    return measured;
  });
  const ratios = rounds.map(({ single, batched }) => batched / single);
  return {
    name: `Batches of ${destinations} destinations, which fill slowly: events a second, against single requests`,
    required: 'at least 1',
    ...summarize(ratios),
    passed: medianOf(ratios) >= 1,
    absolutes: {
      'events a second': Math.round(medianOf(rounds.map(({ batched }) => batched))).toLocaleString(
        'en-US',
      ),
    },
  };
}

/** The 99th percentile of the time from Kafka's producer to the endpoint, at 100 events/s to one destination. */
async function benchLatency(options: BatchBenchOptions): Promise<BenchResult> {
  const { brokers } = options;
  const prefix = `${options.prefix}rest-`;
  const [receiver, receiverPort] = await startReceiver('batch-receiver.ts', {});
  const events = 3_000;
  const common = { brokers, prefix, destinations: 1, inFlight: 256, receiverPort };
  const load: DeliveryLoad = { ...common, events, warmUp: 500, group: `${prefix}g`, batch };
  await writeEvents({ ...load, events: 0 });
  const running = runMeasured(new URL(role, import.meta.url), load);
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const producer = await createProducer(kafka, { log: silentLogger });
  const topic = loadTopology(prefix).topics.delivery;
  for (let n = 0; n < events; n += 1) {
    void producer.send([eventRecord(topic, destinationId(0), n, { madeMs: Date.now() })]);
    await delay(10);
  }
  await producer.close(10_000);
  await running;
  const { agesMs } = await countsOf(receiver);
  receiver.disconnect();
  // The first ones waited for the role to start.
  const sorted = agesMs.slice(1_000).toSorted((a, b) => a - b);
  const p99Ms = sorted[Math.floor(sorted.length * 0.99)] ?? NaN;
  return {
    name: 'Batches, 100 events/s: p99 of the time from the producer to the endpoint, ms',
    required: `at most ${waitMs + 20}: wait, and 20 ms`,
    ...summarize([p99Ms]),
    passed: p99Ms <= waitMs + 20,
    absolutes: { 'median, ms': String(sorted[Math.floor(sorted.length / 2)]) },
  };
}

/** Requests with one event in 10,000 that the endpoint refuses together with its batch, against none. */
async function benchPoison(options: BatchBenchOptions): Promise<BenchResult> {
  const { brokers, log = () => undefined } = options;
  const events = 100_000;
  const requestsOf = async (isPoisonous: boolean): Promise<number> => {
    const prefix = `${options.prefix}${isPoisonous ? 'poison' : 'clean'}-`;
    const [receiver, receiverPort] = await startReceiver('batch-receiver.ts', {});
    const common = { brokers, prefix, destinations: 1, inFlight: 256, receiverPort };
    const poisonous = isPoisonous ? events / 10_000 : 0;
    const load: DeliveryLoad = {
      ...common,
      events: events - poisonous,
      warmUp: 1_000,
      group: `${prefix}g`,
      batch,
    };
    await writeEvents({ ...load, events }, (n) =>
      isPoisonous && n % 10_000 === 5_000 ? { note: poison } : { filler: filler() },
    );
    await runMeasured(new URL(role, import.meta.url), load);
    const { requests } = await countsOf(receiver);
    receiver.disconnect();
    return requests;
  };
  const clean = await requestsOf(false);
  const poisoned = await requestsOf(true);
  log(`${clean} requests; with poisonous events ${poisoned}`);
  const ratio = poisoned / clean;
  return {
    name: 'Batches of 100, one event in 10,000 refused: requests, against none refused',
    required: 'below 1.05',
    ...summarize([ratio]),
    passed: ratio < 1.05,
    absolutes: { 'more requests for each refused event': ((poisoned - clean) / 10).toFixed(1) },
    notes: [
      'The endpoint answers 422 to the whole batch. Finding one event of 100 by yes and no takes at least log₂ 100 = 6.6 requests, so fewer than 5 more for each 100 need an endpoint that answers for each event.',
    ],
  };
}

async function startReceiver(script: string, options: object): Promise<[ChildProcess, number]> {
  const receiver = fork(new URL(script, import.meta.url), [JSON.stringify(options)]);
  const [port] = (await once(receiver, 'message')) as [number];
  return [receiver, port];
}

async function countsOf(receiver: ChildProcess): Promise<BatchReceiverCounts> {
  receiver.send('counts');
  const [counts] = (await once(receiver, 'message')) as [BatchReceiverCounts];
  return counts;
}

function textOf(measurement: Measurement): string {
  const perSecond = Math.round((measurement.deliveries / measurement.wallMs) * 1_000);
  return `${cpuPerUnit(measurement).toFixed(2)} µs, ${perSecond}/s`;
}
