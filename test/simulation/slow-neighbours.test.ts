import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, hangs } from '../delivery/simulated-world.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { Scene } from './scene.ts';

const runMs = 30_000;

interface Slow {
  readonly count: number;
  readonly perSecond: number;
  readonly changes?: Partial<Destination>;
}

/** Forty healthy endpoints beside slow ones, which answer in 900 ms: just in time not to count as slow. */
async function beside({ count, perSecond, changes }: Slow): Promise<Scene> {
  const scene = new Scene();
  const healthy = scene.addDestinations(40, 'healthy');
  const slow = scene.addDestinations(count, 'slow', changes);
  scene.world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 900 : 20 });
  await scene.run(runMs, [
    ...healthy.map((destination) => ({ destination, perSecond: 5 })),
    ...slow.map((destination) => ({ destination, perSecond })),
  ]);
  return scene;
}

describe('endpoints that are slow, and get more than they can take', () => {
  for (const slow of [
    { count: 20, perSecond: 100 },
    { count: 1, perSecond: 500, changes: { maxInFlight: 256 } },
  ])
    test(`delay no other one: ${slow.count} with ${slow.perSecond} events/s`, async () => {
      const scene = await beside(slow);
      const { world } = scene;
      const startMs = world.clock.now() - runMs;
      const p99Ms = scene.p99Ms('healthy', startMs + 15_000);
      assert.ok(p99Ms <= 200, `p99 of the healthy ones: ${p99Ms} ms`);
      assert.equal(scene.deferrals('healthy'), 0);
      const slots = Math.min(slow.count * (slow.changes?.maxInFlight ?? 64), 1_024);
      const mostPossible = (slots / 900) * runMs;
      const delivered = scene.delivered(0, 'slow');
      assert.ok(delivered >= 0.6 * mostPossible, `${delivered} of ${mostPossible}`);
    });

  for (const behind of [2, 6])
    test(`delay no other one where slots are free: ${behind} that get thousands of events at once`, async () => {
      const scene = new Scene({ partitions: 1 });
      const healthy = { destination: 'healthy-0', perSecond: 2 };
      scene.addDestinations(1, 'healthy');
      scene.addDestinations(behind, 'behind', { maxInFlight: 8 });
      scene.world.answer = (url) => ({ ...answerOk, afterMs: url.includes('behind') ? 500 : 20 });
      await scene.run(5_000, [healthy]);
      for (let n = 0; n < 3_000; n++)
        for (let of = 0; of < behind; of++) scene.publish(`behind-${of}`);
      await scene.run(120_000, [healthy]);
      const p99Ms = scene.p99Ms('healthy');
      assert.ok(p99Ms <= 20_000, `p99 of the healthy one: ${p99Ms} ms`);
      const delivered = scene.delivered(0, 'behind');
      assert.ok(delivered >= 0.7 * behind * 16 * 120, `${delivered} of theirs`);
      assert.equal(scene.deferrals('healthy'), 0);
    });

  for (const { of, users, others, maxInFlight } of [
    { of: 'many users', users: 100_000, others: 0, maxInFlight: 64 },
    { of: 'a few users', users: 10, others: 0, maxInFlight: 64 },
    {
      of: 'a few users, and attempts for others begin all the time',
      users: 50,
      others: 50,
      maxInFlight: 256,
    },
  ])
    test(`delay no other one of their partition for long when they begin to hang with many events of ${of}`, async () => {
      const scene = new Scene({ partitions: 1 });
      scene.addDestinations(1, 'healthy');
      scene.addDestinations(1, 'hanging', { maxInFlight });
      const traffic = [
        { destination: 'healthy-0', perSecond: 1_000 },
        { destination: 'hanging-0', perSecond: 1_000 - others, users },
        { destination: 'hanging-0', perSecond: others, users: 100_000 },
      ];
      scene.world.answer = (url) =>
        url.includes('hanging') ? hangs : { ...answerOk, afterMs: 20 };
      await scene.run(10_000, traffic);
      const mostMs = scene.mostMs('healthy');
      assert.ok(mostMs <= 2_000, `the healthy one: ${mostMs} ms`);
      assert.equal(scene.deferrals('healthy'), 0);
    });

  test('delay no other one of their partition for long where one attempt in twenty hangs, and a few users have many events', async () => {
    const scene = new Scene({ partitions: 1 });
    scene.addDestinations(1, 'healthy');
    scene.addDestinations(1, 'hanging');
    const traffic = [
      { destination: 'healthy-0', perSecond: 200 },
      { destination: 'hanging-0', perSecond: 1_000, users: 20 },
    ];
    let attempts = 0;
    scene.world.answer = (url) =>
      url.includes('hanging') && ++attempts % 20 === 0 ? hangs : { ...answerOk, afterMs: 20 };
    await scene.run(15_000, traffic);
    const mostMs = scene.mostMs('healthy');
    assert.ok(mostMs <= 4_000, `the healthy one: ${mostMs} ms`);
    assert.equal(scene.deferrals('healthy'), 0);
  });

  test('but one that is merely slower than others, and keeps up, is left alone', async () => {
    const scene = new Scene();
    const healthy = scene.addDestinations(20, 'healthy');
    scene.addDestinations(1, 'slower');
    scene.world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slower') ? 200 : 20 });
    for (let burst = 0; burst < 4; burst++) {
      for (let n = 0; n < 2_500; n++) scene.publish('slower-0');
      await scene.run(
        10_000,
        healthy.map((destination) => ({ destination, perSecond: 10 })),
      );
    }
    assert.equal(scene.deferrals(), 0);
    assert.equal(scene.delivered(0, 'slower'), 4 * 2_500);
    const p99Ms = scene.p99Ms('healthy');
    assert.ok(p99Ms <= 100, `p99 of the healthy ones: ${p99Ms} ms`);
  });
});
