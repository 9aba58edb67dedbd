import { setTimeout as delay } from 'node:timers/promises';
import { createKafka } from '../../../src/kafka/client.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { capacityResult } from './capacity-result.ts';
import type { Measured } from './capacity.ts';
import { cpuPerUnit } from './compare.ts';
import { loadTopology } from './delivery-load.ts';
import {
  base,
  burstEvents,
  costUs,
  rangeResult,
  ranges,
  type Range,
  type Sampled,
} from './growth-ranges.ts';
import { buildGrowthStand, startReceiver, type GrowthStand } from './growth-stand.ts';
import { medianOf, type BenchResult, type Measurement } from './measure.ts';
import { withRouterLoad } from './router.ts';
import type { RoleWork } from './stand.ts';
import { storedBytes } from './stored-bytes.ts';

/** What a delivery costs as everything around it grows. Takes 15 minutes. */

export interface GrowthBenchOptions {
  readonly brokers: readonly string[];
  /** Of topics and groups that nobody else uses. */
  readonly prefix: string;
  /** Default 7. */
  readonly rounds?: number;
  readonly log?: (line: string) => void;
}

export async function benchGrowth(options: GrowthBenchOptions): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const range of ranges) results.push(rangeResult(range, await sample(range, options)));
  return [...results, capacityResult(await measureBase(options))];
}

const restSeconds = 5;
const routerCalls = 40_000;
/** Lines of attempts are written after a second. */
const linesMs = 2_000;

/** What capacity is computed from. */
async function measureBase({
  brokers,
  prefix,
  rounds = 7,
  log = () => undefined,
}: GrowthBenchOptions): Promise<Measured> {
  const kafka = createKafka({ brokers, clientId: 'bench' }, silentLogger);
  const ofRouter = `${prefix}router.`;
  const routers: Measurement[] = [];
  const router = { brokers, prefix: ofRouter, calls: routerCalls, warmUp: routerCalls };
  await withRouterLoad(router, async (run) => {
    while (routers.length < rounds)
      routers.push(await run('router-role.ts', `${ofRouter}${routers.length}`));
  });
  const receiver = await startReceiver();
  const ofDelivery = `${prefix}capacity.`;
  const { port: receiverPort } = receiver;
  const stand = await buildGrowthStand({ brokers, prefix: ofDelivery, point: base, receiverPort });
  const deliveries: RoleWork[] = [];
  while (deliveries.length < rounds) deliveries.push(await stand.burst(burstEvents));
  await delay(linesMs);
  await stand.stop();
  receiver.close();
  const { topics } = loadTopology(ofDelivery);
  const events = await storedBytes(kafka, topics.delivery);
  const attempts = await storedBytes(kafka, topics.attempts);
  const measured = {
    deliveryUs: costUs(deliveries),
    routerUs: medianOf(routers.map(cpuPerUnit)),
    bodyBytes: base.bodyBytes,
    eventBytes: events.bytesPerRecord,
    attemptBytes: (attempts.bytesPerRecord * attempts.records) / events.records,
  };
  log(JSON.stringify(measured));
  return measured;
}

/** All points stand at the same time and are measured in turn; every other round goes backwards. */
async function sample(range: Range, options: GrowthBenchOptions): Promise<Sampled[]> {
  const { brokers, rounds = 7, log = () => undefined } = options;
  const receiver = await startReceiver();
  const arms: Arm[] = [];
  const prefix = `${options.prefix}${range.name.replaceAll(' ', '-')}.`;
  const stand = (name: string, index: number, script?: string): Promise<GrowthStand> => {
    const { point } = range.points[index] ?? {};
    if (point === undefined) throw new Error('no such point');
    return buildGrowthStand({
      brokers,
      prefix: `${prefix}${name}${index}.`,
      point,
      receiverPort: receiver.port,
      script,
    });
  };
  for (const index of range.points.keys()) {
    arms.push({ index, isBare: false, stand: await stand('role', index), samples: [] });
    if (range.withBareLoop === true)
      arms.push({
        index,
        isBare: true,
        stand: await stand('bare', index, 'growth-bare.ts'),
        samples: [],
      });
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const arm of round % 2 === 0 ? arms : arms.toReversed()) {
      const { point } = range.points[arm.index] ?? {};
      if (point !== undefined) arm.samples.push(await range.measure(arm.stand, point));
    }
    log(
      `${range.name}: ${arms.map(({ samples }) => costUs(samples.slice(-1)).toFixed(1)).join(', ')} µs`,
    );
  }
  const rests = await Promise.all(arms.map((arm) => arm.stand.rest(restSeconds)));
  for (const arm of arms) await arm.stand.stop();
  receiver.close();
  const of = (index: number, isBare: boolean): readonly RoleWork[] =>
    arms.find((arm) => arm.index === index && arm.isBare === isBare)?.samples ?? [];
  return range.points.map((point, index) => ({
    ...point,
    samples: of(index, false),
    bare: of(index, true),
    atRestMs:
      (rests[arms.findIndex((arm) => arm.index === index && !arm.isBare)]?.cpuUs ?? 0) /
      1_000 /
      restSeconds,
  }));
}

interface Arm {
  readonly index: number;
  readonly isBare: boolean;
  readonly stand: GrowthStand;
  readonly samples: RoleWork[];
}
