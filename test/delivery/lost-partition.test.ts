import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { PostriderError } from '../../src/errors.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import { failsWith, hangs, minuteMs, SimulatedWorld } from './simulated-world.ts';
import type { Answer } from './simulated-world.ts';

describe('of a partition that somebody else owns now', () => {
  for (const [what, answer] of [
    ['fails', failsWith(503)],
    ['is refused', failsWith(422)],
  ] satisfies [string, Answer][])
    test(`a request on its way that ${what} is not written anywhere`, async () => {
      const world = new SimulatedWorld();
      world.addDestination('crm');
      world.answer = () => answer;
      world.publish('crm');
      world.lose('delivery');
      await world.clock.pass(minuteMs);
      assert.deepEqual([world.requests.length, world.atRetry, world.deadLetters], [1, 0, []]);
      assert.deepEqual([world.released, world.finished], [[], []]);
    });

  test('a request that outlasts the wait for it is not written anywhere either', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => ({ ...hangs, afterMs: 10_000 });
    world.publish('crm');
    world.revoke('delivery');
    await world.clock.pass(8_000);
    assert.equal(world.inWork('delivery'), 1);
    world.lose('delivery');
    await world.clock.pass(minuteMs);
    assert.deepEqual([world.requests.length, world.atRetry, world.deadLetters], [1, 0, []]);
  });

  test('a record that cannot be read makes no dead letter', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => hangs;
    for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`, {}, 'delivery.crm');
    await world.clock.pass(5_300);
    const header = { destinationId: 'crm', events: 2, dueMs: 1, oldestMs: world.clock.now() };
    // Put off as it is; what is in it is looked at when that is refused.
    world.publishRaw({ [envelopeHeader]: encodeBundleHeader(header) }, 'nonsense');
    world.revoke('delivery');
    world.lose('delivery');
    world.refuses = (topic) =>
      topic.startsWith('retry') ? new PostriderError('record-refused', 'too large') : undefined;
    await world.clock.pass(1_000);
    assert.equal(world.metrics.deferrals.get('breaker'), 2);
    assert.deepEqual(world.deadLetters, []);
  });

  test('what waits is released where it was not before', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 1 });
    const [, ...waiting] = [1, 2, 3].map((n) => world.publish('crm', `u${n}`));
    assert.equal(world.lose('delivery').length, 3);
    assert.deepEqual(world.released, waiting);
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.length, 1);
  });

  test('what was gathered to be put off is not written', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => hangs;
    for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(5_300);
    const before = world.atRetry;
    for (let i = 0; i < 5; i++) world.publish('crm', `v${i}`);
    world.lose('delivery');
    await world.clock.pass(1_000);
    assert.equal(world.metrics.deferrals.get('breaker'), 5);
    assert.equal(world.atRetry, before);
    assert.ok(world.engine.isIdle);
  });

  test('what waits for the configuration is not sent', async () => {
    const world = new SimulatedWorld();
    world.publish('new', 'u', { configOffset: 7 });
    const kept = world.publish('new', 'u', { configOffset: 7 }, 'delivery.new');
    world.lose('delivery');
    world.addDestination('new');
    world.configOffset = 7;
    await world.clock.pass(1_000);
    assert.deepEqual(world.delivered, [kept]);
  });
});

test('what is on its way when a worker gives up leaves no trace', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  world.publish('crm', 'a');
  world.engine.stop();
  world.engine.close();
  await world.clock.pass(minuteMs);
  assert.deepEqual([world.requests.length, world.finished, world.atRetry], [1, [], 0]);
});
