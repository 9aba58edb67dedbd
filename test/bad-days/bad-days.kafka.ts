import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../harness/eventually.ts';
import { livesThrough, seconds, type Day } from './day.ts';
import { extent } from './extent.ts';
import type { Owners } from '../harness/kafka-view.ts';
import {
  between,
  longestSilenceMs,
  percentileOf,
  whileAccepting,
  type Call,
} from '../harness/ledger.ts';
import { starvePartition } from './starve-partition.ts';
import {
  allPartitions,
  deliveryPartition,
  roleNames,
  startStand,
  watchedOf,
  type RoleName,
  type Stand,
} from './stand.ts';

/**
 * A deployment on its bad days, as the endpoint of a customer sees them. What else may happen is in
 * `test/lab/bad-days`; `npm run bad-days` runs all of it, for as long as it lasts in life.
 */

const { quietMs, noiseMs, silenceNoiseMs } = extent;
/** Twice as long as between two requests of the load. */
const acceptsEveryMs = 200;
let stand: Stand;

before(async () => {
  stand = await startStand();
});

after(() => stand.close());

test('one partition without enough replicas delays its own events and repeats none, and the others do not feel it', async (t) => {
  const partition = 5;
  // What the trouble is compared with: before it, and when what waited for its end is delivered.
  const quiet: Call[] = [];
  const troubled: Call[] = [];
  const { lost, repeated } = await livesThrough(t, stand, 'one partition starved', async (day) => {
    const others = async (during: () => Promise<unknown>): Promise<readonly Call[]> => {
      const fromMs = performance.now();
      await during();
      const calls = between(day.ledger.calls, fromMs, performance.now());
      return calls.filter((call) => deliveryPartition(call) !== partition);
    };
    quiet.push(...(await others(() => delay(quietMs))));
    const endTrouble = await starvePartition(stand.kafka, 'delivery', partition);
    troubled.push(...(await others(() => delay(extent.starvedMs))));
    await endTrouble();
    await day.goesOn();
    quiet.push(...(await others(() => delay(quietMs))));
  });
  const [quietP99Ms, troubledP99Ms] = [percentileOf(quiet, 0.99), percentileOf(troubled, 0.99)];
  t.diagnostic(
    `the others: p99 ${quietP99Ms.toFixed(0)} ms when all is quiet, ${troubledP99Ms.toFixed(0)} ms in the trouble; ` +
      `longest silence ${seconds(longestSilenceMs(quiet))} and ${seconds(longestSilenceMs(troubled))}`,
  );
  assert.equal(lost, 0);
  assert.equal(repeated, 0);
  assert.ok(troubledP99Ms <= 2 * quietP99Ms + noiseMs, 'the others felt it');
});

test('a broker that is killed and started again loses nothing, and makes no role repeat its work', async (t) => {
  const { lost, extra } = await livesThrough(t, stand, 'brokers killed', async (day) => {
    for (const nodeId of extent.killedBrokers) {
      await stand.cluster.kill(nodeId);
      await day.goesOn().finally(() => stand.cluster.start(nodeId));
      await stand.kafka.allInSync();
    }
  });
  assert.equal(lost, 0);
  assert.ok(extra <= extent.mostRepeated, `${extra} deliveries repeated`);
});

test('every role stopped by SIGTERM and started again loses nothing and repeats nothing, and partitions that stay where they are go on', async (t) => {
  const watches: Watch[] = [];
  const { lost, repeated } = await livesThrough(t, stand, 'every role stopped', async (day) => {
    const quietFromMs = performance.now();
    await delay(quietMs);
    watches.push({
      what: 'all, when nothing happens',
      calls: between(day.ledger.calls, quietFromMs, performance.now()),
      partitionOf: deliveryPartition,
      among: allPartitions,
    });
    for (const name of roleNames) watches.push(...(await stopAndStart(day, name)));
  });
  const silences = watches.map(longestSilenceOf);
  const told = `longest silence of partitions that stay: ${watches.map(({ what }, i) => `${what} ${seconds(silences[i] ?? 0)}`).join(', ')}`;
  t.diagnostic(told);
  assert.equal(lost, 0);
  assert.equal(repeated, 0);
  const [quiet = 0, ...stayed] = silences;
  const mostMs = Math.max(500, quiet + silenceNoiseMs);
  assert.ok(Math.max(...stayed) < mostMs, told);
});

/** Calls of a time, and the partitions in which they must not wait long. */
interface Watch {
  readonly what: string;
  readonly calls: readonly Call[];
  readonly partitionOf: (call: Call) => number;
  readonly among: readonly number[];
}

/** The longest that one of the partitions had something to deliver and did not, while calls came in. */
function longestSilenceOf({ calls, partitionOf, among }: Watch): number {
  const counted = whileAccepting(calls, acceptsEveryMs);
  const silences = among.map((partition) =>
    longestSilenceMs(counted.filter((call) => partitionOf(call) === partition)),
  );
  return Math.max(0, ...silences);
}

/** Watches the partitions that stay with their member, while another one goes, and comes back. */
async function stopAndStart(day: Day, name: RoleName): Promise<Watch[]> {
  const watched = watchedOf(name);
  if (watched === undefined) {
    assert.equal(await stand.end(name, 'SIGTERM'), 0);
    await stand.start(name, 'proxies');
    await day.goesOn();
    return [];
  }
  const { group, topic, partitionOf } = watched;
  const owners = (members: number): Promise<Owners> =>
    eventually(() => stand.kafka.owners(group, topic, members), 60_000);
  const watch = (what: string, fromMs: number, was: Owners, is: Owners): Watch => {
    const among = [...was.keys()].filter((partition) => was.get(partition) === is.get(partition));
    const calls = between(day.ledger.calls, fromMs, performance.now());
    return { what: `${among.length} when ${name} ${what}`, calls, partitionOf, among };
  };
  const before = await owners(2);
  const stoppedMs = performance.now();
  assert.equal(await stand.end(name, 'SIGTERM'), 0);
  const alone = await owners(1);
  await day.goesOn();
  const stopped = watch('stops', stoppedMs, before, alone);
  const startedMs = performance.now();
  // Through proxies, which let everything pass until the next test.
  await stand.start(name, 'proxies');
  const after = await owners(2);
  await day.goesOn();
  return [stopped, watch('starts', startedMs, alone, after)];
}

test('connections that are cut after the broker has appended and before it answers repeat nothing', async (t) => {
  const { lost, repeated } = await livesThrough(t, stand, 'cut connections', async () => {
    const { cuts } = stand.proxies;
    stand.proxies.cutEvery(8);
    await eventually(() => {
      assert.ok(stand.proxies.cuts - cuts >= extent.leastCuts, `${stand.proxies.cuts - cuts} cuts`);
    }, 90_000);
    stand.proxies.cutEvery(undefined);
    t.diagnostic(`${stand.proxies.cuts - cuts} connections cut`);
  });
  assert.equal(lost, 0);
  assert.equal(repeated, 0);
});
