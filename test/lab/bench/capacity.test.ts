import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assumptions, capacityFor, type Load, type Measured } from './capacity.ts';

const measured: Measured = {
  deliveryUs: 50,
  routerUs: 15,
  bodyBytes: 1_000,
  eventBytes: 500,
  attemptBytes: 40,
};
const load = (deliveriesPerSecond: number, destinations = 1_000): Load => ({
  deliveriesPerSecond,
  destinations,
});

describe('a deployment for so many deliveries a second', () => {
  test('has workers for the CPU time, of which each uses half of a core, and one to spare', () => {
    const fast = { ...assumptions, answerMs: 1 };
    const { workers, workersFor, cores } = capacityFor(load(100_000), measured, fast);
    assert.deepEqual([workers, workersFor, cores], [11, 'CPU time', 6.5]);
  });

  test('has workers for what is in flight, where that takes more: three quarters of 1,024 slots', () => {
    const { workers, workersFor } = capacityFor(load(100_000), measured);
    assert.deepEqual([workers, workersFor], [15, 'slots']);
  });

  test('has four partitions for each worker, in steps of twelve', () => {
    assert.equal(capacityFor(load(100), measured).partitions, 12);
    assert.equal(capacityFor(load(100_000), measured).partitions, 60);
  });

  test('keeps ingest and delivery for seven days on three brokers, and attempts up to 512 MB a partition', () => {
    const { diskBytes, partitions } = capacityFor(load(3_000), measured, {
      ...assumptions,
      putOffShare: 0,
    });
    const week = 7 * 86_400;
    const attempts = Math.min(3_000 * 40 * 3 * 86_400, 512 * 1024 * 1024 * partitions);
    assert.equal(diskBytes, 3 * ((1_000 + 3_000) * 500 * week + attempts));
  });

  test('moves each written byte to two more brokers, and reads it once', () => {
    const none = { ...assumptions, putOffShare: 0 };
    const { brokersIn, brokersOut, endpointsOut, endpointsIn } = capacityFor(
      load(3_000),
      measured,
      none,
    );
    const read = (1_000 + 3_000) * 500;
    const written = read + 3_000 * 40;
    assert.equal(brokersIn, 3 * written);
    assert.equal(brokersOut, 2 * written + read);
    assert.deepEqual([endpointsOut, endpointsIn], [3_000 * 1_400, 3_000 * 200]);
  });

  test('has at least as many brokers as replicas, and more for disk', () => {
    const small = capacityFor(load(1_000), measured);
    assert.deepEqual([small.brokers, small.brokersFor], [3, 'replicas']);
    const large = capacityFor(load(1_000_000), measured);
    assert.equal(large.brokersFor, 'disk');
    assert.equal(large.brokers, Math.ceil(large.diskBytes / assumptions.brokerDiskBytes));
  });

  test('needs no more of anything for fewer deliveries', () => {
    const sizes = [1_000, 10_000, 100_000, 1_000_000].map((rate) =>
      capacityFor(load(rate), measured),
    );
    for (const [index, size] of sizes.entries())
      for (const what of [
        'cores',
        'workers',
        'routers',
        'partitions',
        'brokers',
        'diskBytes',
      ] as const)
        assert.ok(size[what] >= (sizes[index - 1]?.[what] ?? 0), what);
  });
});

describe('what breaks first', () => {
  test('is the history in attempts: 512 MB a partition are no three days at a thousand a second', () => {
    const { limits } = capacityFor(load(1_000, 100), measured);
    const broken = limits.filter(({ fullness }) => fullness >= 1);
    assert.deepEqual(
      broken.map(({ what }) => what),
      ['the history in attempts'],
    );
    assert.match(broken[0]?.then ?? '', /^it goes back 44\.7 h, not 3 days/);
  });

  test('is the number of partitions by default, once there are more workers than that', () => {
    const broken = capacityFor(load(100_000), measured).limits.filter(
      ({ fullness }) => fullness >= 1,
    );
    assert.ok(broken.some(({ what }) => what === 'TOPIC_PARTITIONS by default'));
  });

  test('is the topic of states, too, with as many workers and destinations as a million a second have', () => {
    const broken = (destinations: number): string[] =>
      capacityFor(load(1_000_000, destinations), measured)
        .limits.filter(({ fullness }) => fullness >= 1)
        .map(({ what }) => what);
    assert.ok(broken(50_000).includes('the one partition of destination-status'));
    assert.ok(!broken(10_000).includes('the one partition of destination-status'));
  });

  test("is never the group's record: a member takes less than a thousandth of it", () => {
    const { limits, workers } = capacityFor(load(1_000_000, 50_000), measured);
    const group = limits.find(({ what }) => what === "the group's record");
    assert.ok((group?.fullness ?? 1) / workers < 0.001);
  });
});
