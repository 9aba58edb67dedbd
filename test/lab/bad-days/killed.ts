import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { livesThrough } from '../../bad-days/day.ts';
import { extent } from '../../bad-days/extent.ts';
import { roleNames, startStand, watchedOf, type Stand } from '../../bad-days/stand.ts';
import { eventually } from '../../harness/eventually.ts';

/** What is killed, hangs or goes away for as long as in life. A soak does the same in any order. */

const { callsPerSecond, quietMs } = extent;
const nodeIds = [1, 2, 3];
/** Longer than a member's session with its group, which is 10 s. */
const hangMs = 40_000;
const awayMs = 15_000;
let stand: Stand;

before(async () => {
  stand = await startStand();
});

after(() => stand.close());

test('a quiet day repeats nothing', async (t) => {
  const { lost, repeated } = await livesThrough(t, stand, 'a quiet day', () => delay(quietMs));
  assert.equal(lost, 0);
  assert.equal(repeated, 0);
});

/** What half of the calls, which is what one process has, amount to in a time. */
const workOf = (ms: number): number => (callsPerSecond / 2) * (ms / 1_000);
/** Answers take 10 ms; a machine that others use too takes its time. */
const mostInFlight = workOf(200);
/** A fifth of a second between commits, and as much again for such a machine. */
const mostRepeated = mostInFlight + workOf(400);

for (const name of roleNames)
  test(`kill -9 of ${name} loses nothing, and repeats what was in flight and a moment's work`, async (t) => {
    const { lost, extra } = await livesThrough(t, stand, `${name} killed`, async (day) => {
      await stand.end(name, 'SIGKILL');
      await stand.start(name);
      const watched = watchedOf(name);
      if (watched !== undefined)
        await eventually(() => stand.kafka.owners(watched.group, watched.topic, 2), 60_000);
      await day.goesOn();
    });
    assert.equal(lost, 0);
    assert.ok(extra <= mostRepeated, `${extra} deliveries repeated`);
  });

test('a broker that hangs, and goes on where it hung, loses nothing and repeats nothing', async (t) => {
  const { lost, repeated } = await livesThrough(t, stand, 'a broker hangs', async (day) => {
    const nodeId = await busiestBroker();
    stand.cluster.hang(nodeId);
    await delay(hangMs);
    stand.cluster.resume(nodeId);
    await day.goesOn();
  });
  assert.equal(lost, 0);
  assert.equal(repeated, 0);
});

test('all brokers gone at the same time lose nothing and repeat nothing', async (t) => {
  const { lost, repeated } = await livesThrough(t, stand, 'all brokers gone', async (day) => {
    await Promise.all(nodeIds.map((nodeId) => stand.cluster.kill(nodeId)));
    await delay(awayMs);
    await Promise.all(nodeIds.map((nodeId) => stand.cluster.start(nodeId)));
    await day.goesOn();
  });
  assert.equal(lost, 0);
  assert.equal(repeated, 0);
});

/** Who leads most partitions of `ingest` and `delivery`. */
async function busiestBroker(): Promise<number> {
  const leaders = [
    ...(await stand.kafka.leaders('ingest')).values(),
    ...(await stand.kafka.leaders('delivery')).values(),
  ];
  const led = (nodeId: number): number => leaders.filter((leader) => leader === nodeId).length;
  return nodeIds.toSorted((a, b) => led(b) - led(a))[0] ?? 1;
}
