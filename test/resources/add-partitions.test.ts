import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { effectsOf, planGrowth, type Growth } from '../../src/resources/add-partitions.ts';
import { createTopology } from '../../src/topology.ts';

const topology = createTopology({
  prefix: 'p.',
  partitions: 12,
  replicationFactor: 1,
  retryTiersMs: [10_000, 60_000],
  extraIngestTopics: ['orders'],
});
const { topics } = topology;
const others = ['orders', 'p.orders'].map((name) => ({ ...topology.dedicatedTopic('x'), name }));
const former = { ...topology.dedicatedTopic('x', 12), name: topology.retryTopic(5_000) };
const existing = [...topology.all, topology.dedicatedTopic('big'), former, ...others];

const together = [
  topics.delivery,
  ...[5_000, 10_000, 60_000].map((tierMs) => topology.retryTopic(tierMs)),
].toSorted();

function namesOf(growth: readonly Growth[]): string[] {
  return growth.map(({ name }) => name).toSorted();
}

test('whoever names one of the topics of deliveries and retries means all of them', () => {
  for (const name of together) {
    const growth = planGrowth(topology, existing, { names: [name], partitions: 24 });
    assert.deepEqual(namesOf(growth), together);
    assert.ok(growth.every(({ from, to }) => from === 12 && to === 24));
  }
});

test('any other topic grows alone, and without a name every topic that may but those of destinations', () => {
  for (const name of [topics.ingest, topics.attempts, 'p.delivery.big']) {
    const growth = planGrowth(topology, existing, { names: [name], partitions: 24 });
    assert.deepEqual(namesOf(growth), [name]);
  }
  const all = namesOf(planGrowth(topology, existing, { names: [], partitions: 24 }));
  for (const name of [...together, topics.ingest, topics.deadLetter])
    assert.ok(all.includes(name), name);
  for (const name of [
    topics.config,
    topics.deletions,
    topics.audienceMembers,
    'p.delivery.big',
    'orders',
    'p.orders',
  ])
    assert.ok(!all.includes(name), name);
});

test('a run that was cut off anywhere is taken up by the next', () => {
  fc.assert(
    fc.property(fc.subarray(together), (done) => {
      const half = existing.map((topic) =>
        done.includes(topic.name) ? { ...topic, partitions: 24 } : topic,
      );
      const growth = planGrowth(topology, half, { names: [topics.delivery], partitions: 24 });
      assert.deepEqual(
        namesOf(growth),
        together.filter((name) => !done.includes(name)),
      );
    }),
  );
});

test('what cannot be done is refused with the reason', () => {
  const refused = (names: readonly string[], partitions: number, message: RegExp): void => {
    assert.throws(() => planGrowth(topology, existing, { names, partitions }), { message });
  };
  refused([topics.delivery], 6, /has 12 already, and partitions cannot be removed/);
  refused([topics.config], 24, /keeps its number of partitions/);
  refused([topics.deletions], 24, /keeps its number of partitions/);
  refused(['p.deliver'], 24, /no topic p\.deliver of ours; did you mean p\.delivery\?/);
  refused(['orders'], 24, /no topic orders of ours/);
});

test('the effects that are told are those of the topics that grow', () => {
  const effects = (names: readonly string[]): string =>
    effectsOf(topology, planGrowth(topology, existing, { names, partitions: 24 })).join('\n');
  assert.match(effects([topics.delivery]), /Keys move.*\n.*rate limit/);
  assert.match(effects(['p.delivery.big']), /rate limit/);
  assert.match(effects([topics.ingest]), /Keys move(?:.|\n)*duplicate/);
  assert.doesNotMatch(effects([topics.ingest]), /rate limit|--user/);
  assert.match(effects([topics.deadLetter]), /--scan/);
  assert.doesNotMatch(effects([topics.deadLetter]), /Keys move/);
});
