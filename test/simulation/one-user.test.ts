import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hourMs } from '../delivery/simulated-world.ts';
import { Scene } from './scene.ts';
import type { Traffic } from './scene.ts';

/** Twenty others with little traffic. */
function neighboursOf(scene: Scene): Traffic[] {
  const ids = scene.addDestinations(20, 'neighbour');
  return ids.map((destination) => ({ destination, perSecond: 2 }));
}

describe('very many events of one user', () => {
  test('go out in their order, as fast as the endpoint takes them', async () => {
    const scene = new Scene();
    const neighbours = neighboursOf(scene);
    scene.addDestinations(1, 'crm');
    await scene.run(2_000, neighbours);
    for (let n = 0; n < 400; n++) scene.publish('crm-0', 'busy');
    await scene.run(9_000, neighbours);
    assert.equal(scene.delivered(0, 'crm'), 400);
    assert.deepEqual([scene.inversions(), scene.deferrals()], [0, 0]);
    const p99Ms = scene.p99Ms('neighbour');
    assert.ok(p99Ms <= 100, `p99 of the others: ${p99Ms} ms`);
  });

  for (const [events, users, answerMs] of [
    [20_000, 5, 1],
    [12_000, 600, 5],
  ] as const)
    test(`are all delivered in order: ${events} of ${users} at once`, async () => {
      const scene = new Scene();
      scene.addDestinations(1, 'crm');
      scene.world.answer = () => ({ ...answerOk, afterMs: answerMs });
      for (let n = 0; n < events; n++) scene.publish('crm-0', `u${n % users}`);
      await scene.world.clock.pass(60_000);
      assert.equal(scene.delivered(), events);
      assert.deepEqual([scene.inversions(), scene.deferrals()], [0, 0]);
    });

  test('at an endpoint that is slow delay nobody else', async () => {
    const scene = new Scene();
    const neighbours = neighboursOf(scene);
    scene.addDestinations(1, 'slow');
    scene.world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 800 : 20 });
    await scene.run(2_000, neighbours);
    for (let n = 0; n < 1_500; n++) scene.publish('slow-0', 'busy');
    await scene.run(3_000, neighbours);
    const sinceMs = scene.world.clock.now();
    await scene.run(20_000, neighbours);
    const p99Ms = scene.p99Ms('neighbour', sinceMs);
    assert.ok(p99Ms <= 500, `p99 of the others: ${p99Ms} ms`);
    await scene.world.clock.pass(4 * hourMs);
    assert.equal(scene.delivered(0, 'slow'), 1_500);
  });
});

describe('a backlog', () => {
  test('of many destinations is worked off in order, and nothing of it is put off', async () => {
    const scene = new Scene();
    const ids = scene.addDestinations(30, 'crm');
    scene.world.answer = () => ({ ...answerOk, afterMs: 10 });
    for (let n = 0; n < 20_000; n++) scene.publish(`crm-${n % 30}`, `u${n % 7_000}`);
    await scene.run(
      8_000,
      ids.map((destination) => ({ destination, perSecond: 2 })),
    );
    assert.ok(scene.delivered() >= 20_000);
    assert.deepEqual([scene.inversions(), scene.deferrals()], [0, 0]);
  });

  for (const busyShare of [0, 1])
    test(`of one destination ${busyShare === 0 ? 'is put off' : 'waits in Kafka where the worker has no time left'}`, async () => {
      const scene = new Scene({ busyShare });
      const neighbours = neighboursOf(scene);
      scene.addDestinations(1, 'slow');
      scene.world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 800 : 20 });
      for (let n = 0; n < 5_000; n++) scene.publish('slow-0', 'busy');
      await scene.run(20_000, neighbours);
      assert.equal(scene.deferrals('slow') > 0, busyShare === 0);
      assert.equal(scene.deferrals('neighbour'), 0);
    });

  test('is worked off in order beside endpoints that are dead', async () => {
    const scene = new Scene();
    const ids = [...scene.addDestinations(4, 'crm'), ...scene.addDestinations(4, 'dead')];
    scene.world.answer = (url) =>
      url.includes('dead') ? failsWith(503) : { ...answerOk, afterMs: 400 };
    for (let n = 0; n < 3_000; n++) for (const id of ids) scene.publish(id, `u${n % 7_000}`);
    await scene.run(
      30_000,
      ids.map((destination) => ({ destination, perSecond: 2 })),
    );
    assert.deepEqual([scene.inversions('crm'), scene.deferrals('crm')], [0, 0]);
    assert.ok(scene.delivered(0, 'crm') >= 12_000);
  });
});
