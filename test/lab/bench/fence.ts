import { Registry } from 'prom-client';
import { DeliveryEvents } from '../../../src/delivery/events.ts';
import { Fencing } from '../../../src/delivery/fencing.ts';
import { Job, newClaim } from '../../../src/delivery/job.ts';
import { DeliveryMetrics } from '../../../src/delivery/metrics.ts';
import { deliveryKey, type Envelope } from '../../../src/event/envelope.ts';
import { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import { FollowerProgress } from '../../../src/kafka/follow/follower-progress.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { DeletedUsers } from '../../../src/resources/fence/deleted-users.ts';
import { fencedBy } from '../../../src/resources/fence/fence.ts';
import { withDeliveryLoad, type DeliveryBenchOptions } from './delivery.ts';
import { medianOf, type BenchResult } from './measure.ts';

const most = 0.01;
const samples = 15;
const deletedUsers = 1_000_000;
const mostBytes = 100;
const eventsPerSample = 200_000;
/** Of the topic with the deletions. */
const partitions = 12;

/**
 * What the delete fence adds to a delivery while nobody is deleted, as a share of the whole, by CPU time:
 * whole runs with and without it differ by less than they differ by themselves. And what a million deleted
 * users take.
 */
export async function benchFence(options: DeliveryBenchOptions): Promise<BenchResult[]> {
  const { prefix, events = 60_000, log = () => undefined } = options;
  const deliveryUs = await withDeliveryLoad(
    { ...options, events, warmUp: events / 4 },
    async (run) => {
      const { cpuUs, deliveries } = await run('delivery-role.ts', `${prefix}role`);
      return cpuUs / deliveries;
    },
  );
  const deleted = new DeletedUsers(Infinity);
  const emptyUs = measure(deleted, 'stays');
  const startMs = performance.now();
  for (let i = 0; i < deletedUsers; i += 1) deleted.add(Buffer.from(`bench:gone-${i}`), i + 1);
  const loadMs = performance.now() - startMs;
  const missUs = measure(deleted, 'stays');
  const hitUs = measure(deleted, 'gone');
  const bytes = deleted.bytes / deleted.size;
  log(`delivery ${deliveryUs.toFixed(2)} µs; fence ${medianOf(emptyUs).toFixed(3)} µs`);
  const shares = emptyUs.map((us) => us / deliveryUs);
  const share = medianOf(shares);
  const ns = (us: readonly number[]): string => (medianOf(us) * 1_000).toFixed(0);
  return [
    {
      name: 'fence: CPU time of a delivery that it takes while nobody is deleted',
      required: `at most ${most}`,
      ratios: shares,
      median: share,
      spread: [Math.min(...shares), Math.max(...shares)],
      passed: share <= most,
      absolutes: {
        'a delivery, CPU µs': deliveryUs.toFixed(2),
        'the fence, CPU ns a delivery, nobody deleted': ns(emptyUs),
        'a million deleted, and none of them met': ns(missUs),
        'a million deleted, and all events theirs': ns(hitUs),
      },
    },
    {
      name: 'fence: bytes a source and deleted user',
      required: `at most ${mostBytes}`,
      ratios: [bytes],
      median: bytes,
      spread: [bytes, bytes],
      passed: bytes <= mostBytes,
      absolutes: { 'a million of them are loaded in, s': (loadMs / 1_000).toFixed(1) },
    },
  ];
}

/** CPU µs for each of several rounds of what the engine does with an event: looked at twice, and whether it may go. */
function measure(deleted: DeletedUsers, user: 'stays' | 'gone'): number[] {
  const progress = new FollowerProgress(30_000);
  const askedAtMs = performance.now();
  for (let partition = 0; partition < partitions; partition += 1)
    progress.reached(partition, 0, askedAtMs);
  progress.refreshed(partitions, askedAtMs);
  const events = new DeliveryEvents(silentLogger, new DeliveryMetrics(new Registry()), systemClock);
  const fencing = new Fencing(
    {
      covers: (envelope, key) => fencedBy(envelope, key, deleted),
      isFresh: () => progress.isFresh(performance.now()),
      size: 0,
    },
    events,
  );
  const jobs = Array.from({ length: 1_000 }, (_, i) => jobOf(`${user}-${i * 997}`));
  const us: number[] = [];
  let dropped = 0;
  // The first round warms up.
  for (let sample = 0; sample <= samples; sample += 1) {
    const before = process.cpuUsage();
    for (let i = 0; i < eventsPerSample; i += 1) {
      const job = jobs[i % jobs.length];
      if (job === undefined) break;
      if (fencing.covers(job) !== undefined) dropped += 1;
      fencing.isFresh();
      if (fencing.covers(job) !== undefined) dropped += 1;
    }
    const { user: userUs, system } = process.cpuUsage(before);
    if (sample > 0) us.push((userUs + system) / eventsPerSample);
  }
  if (dropped > 0 !== (user === 'gone')) throw new Error(`${dropped} of ${user} were dropped`);
  return us;
}

function jobOf(user: string): Job {
  const envelope: Envelope = {
    destinationId: 'destination-3',
    sourceId: 'bench',
    messageId: 'm',
    type: 'track',
    configOffset: 1,
    appendTimeMs: 0,
    attempts: 0,
  };
  const value = Buffer.from('{}');
  const record = {
    topic: 'delivery',
    partition: 0,
    offset: 0,
    timestampMs: 0,
    headers: {},
    value,
    key: Buffer.from(deliveryKey(envelope.destinationId, user)),
  };
  const owner = { finish: () => undefined, release: () => undefined };
  const claim = newClaim({ topic: 'delivery', partition: 0 }, false);
  return new Job(new TakenRecord(record, owner, 0), claim, envelope, value);
}
