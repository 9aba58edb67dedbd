import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  answerOk,
  failsWith,
  hourMs,
  minuteMs,
  SimulatedWorld,
  type WorldOptions,
} from './simulated-world.ts';
import type { Destination } from '../../src/resources/resource.ts';

const topic = 'delivery.crm';

function ordered(changes: Partial<Destination> = {}, options: WorldOptions = {}): SimulatedWorld {
  const world = new SimulatedWorld(options);
  world.addDestination('crm', { topic: 'dedicated', order: 'user', ...changes });
  return world;
}

/** Events of one user fail until then, and all others are taken. */
function refuse(world: SimulatedWorld, ids: readonly string[], untilMs = Infinity): void {
  world.answer = (_url, { messageId }, nowMs) =>
    ids.includes(messageId) && nowMs < untilMs ? failsWith(503) : answerOk;
}

describe('with order: user, an event that fails', () => {
  test('is tried again in its place: later ones of its user wait, and others go on', async () => {
    const world = ordered();
    const first = 'm1';
    refuse(world, [first], world.clock.now() + minuteMs);
    world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(50);
    const [second, other] = [
      world.publish('crm', 'ann', {}, topic),
      world.publish('crm', 'bob', {}, topic),
    ];
    await world.clock.pass(30_000);
    assert.deepEqual(world.delivered, [other]);
    const third = world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(5 * minuteMs);
    assert.deepEqual(world.delivered, [other, first, second, third]);
    assert.equal(world.atRetry, 0);
    const tries = world.requests.filter(({ messageId }) => messageId === first);
    assert.ok(tries.length >= 3 && tries.length <= 4, `${tries.length} attempts`);
  });

  test('leaves the line after orderFor, is tried once more at its end, and the line goes on', async () => {
    const world = ordered({ orderFor: '20m' });
    refuse(world, ['m1'], world.clock.now() + hourMs);
    const fromMs = world.clock.now();
    world.publish('crm', 'ann', {}, topic);
    const second = world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(20 * minuteMs - 1_000);
    assert.deepEqual(world.delivered, []);
    assert.equal(world.atRetry, 0);
    await world.clock.pass(3_000);
    assert.deepEqual(world.delivered, [second]);
    assert.equal(world.metrics.leftLine, 1);
    const left = world.retries.find(({ envelope }) => envelope.messageId === 'm1');
    assert.ok(left !== undefined && left.envelope.attempts >= 5);
    assert.ok(Math.abs((left.envelope.deadlineMs ?? 0) - fromMs - 4 * hourMs) < 1_000);
    await world.clock.pass(2 * hourMs);
    assert.deepEqual(world.delivered, [second, 'm1']);
  });

  test('and is refused for good is a dead letter, and the line goes on at once', async () => {
    const world = ordered();
    world.answer = (_url, { messageId }) => (messageId === 'm1' ? failsWith(422) : answerOk);
    world.publish('crm', 'ann', {}, topic);
    const second = world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(100);
    assert.deepEqual(world.delivered, [second]);
    assert.equal(world.deadLetters[0]?.messageId, 'm1');
  });

  test('and is given up lets the line go on once Kafka has its copy', async () => {
    const world = ordered();
    world.answer = (_url, { messageId }) => (messageId === 'm1' ? failsWith(422) : answerOk);
    world.writtenAfterMs = () => 3_000;
    world.publish('crm', 'ann', {}, topic);
    const second = world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(2_900);
    assert.equal(world.requests.length, 1);
    await world.clock.pass(200);
    assert.deepEqual(world.delivered, [second]);
  });

  test('keeps no other user from being read while more later ones wait behind it than a window holds', async () => {
    const world = ordered();
    refuse(world, ['m1'], world.clock.now() + 10 * minuteMs);
    for (let n = 0; n < 2_000; n++) world.publish('crm', 'ann', {}, topic);
    const others = Array.from({ length: 500 }, (_, n) => world.publish('crm', `u${n}`, {}, topic));
    await world.clock.pass(5_000);
    assert.deepEqual(world.delivered.toSorted(), others.toSorted());
    await world.clock.pass(30 * minuteMs);
    assert.equal(world.delivered.length, 2_500);
    const ofAnn = world.delivered.filter((id) => !others.includes(id));
    assert.deepEqual(
      ofAnn,
      Array.from({ length: 2_000 }, (_, n) => `m${n + 1}`),
    );
  });

  test('holds up nobody when its partition is lost before it can be copied, and comes back', async () => {
    const world = ordered();
    world.answer = () => failsWith(422);
    const first = world.publish('crm', 'ann', {}, topic);
    const records = world.lose(topic);
    await world.clock.pass(1_000);
    world.answer = () => answerOk;
    for (const record of records) world.take(record);
    const second = world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(1_000);
    assert.deepEqual(world.delivered, [first, second]);
  });

  test('stays unfinished for the next owner when its partition moves', async () => {
    const world = ordered();
    world.answer = () => ({ ...failsWith(503), afterMs: 500 });
    world.publish('crm', 'ann', {}, topic);
    world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(100);
    world.revoke(topic);
    await world.clock.pass(1_000);
    assert.deepEqual(world.released.toSorted(), ['m1', 'm2']);
    assert.equal(world.atRetry, 0);
  });

  test('is tried at once when an operator has its destination tried', async () => {
    const world = ordered();
    let isWell = false;
    world.answer = () => (isWell ? answerOk : failsWith(503));
    world.publish('crm', 'ann', {}, topic);
    await world.clock.pass(3 * minuteMs);
    isWell = true;
    world.recall('crm');
    await world.clock.pass(100);
    assert.deepEqual(world.delivered, ['m1']);
  });
});

test('with order: user, the next event waits for what is on its way to further URLs', async () => {
  const webhooks = ['a', 'b'].map((id) => ({ url: `https://${id}.example/`, headers: {} }));
  const world = ordered({ webhooks });
  world.answer = (url) => ({ ...answerOk, afterMs: url.includes('b.') ? 2_000 : 10 });
  world.publish('crm', 'ann', {}, topic);
  const second = world.publish('crm', 'ann', {}, topic);
  await world.clock.pass(1_900);
  assert.ok(world.requests.every(({ messageId }) => messageId !== second));
  assert.deepEqual(world.finished, ['m1']);
  await world.clock.pass(200);
  assert.equal(world.requests.filter(({ messageId }) => messageId === second).length, 2);
});

test('with order: user, events of a paused destination wait in their topic, one that fails meanwhile first', async () => {
  const world = ordered();
  world.answer = () => ({ ...failsWith(503), afterMs: 500 });
  const ids = [1, 2, 3].map(() => world.publish('crm', 'ann', {}, topic));
  await world.clock.pass(100);
  world.pause('crm');
  ids.push(world.publish('crm', 'ann', {}, topic));
  await world.clock.pass(hourMs);
  ids.push(world.publish('crm', 'ann', {}, topic));
  await world.clock.pass(hourMs);
  assert.deepEqual(world.kept, []);
  assert.equal(world.requests.length, 1);
  world.answer = () => answerOk;
  world.resume('crm');
  await world.clock.pass(10_000);
  assert.deepEqual(world.delivered, ids);
});

test('with order: user, what waits for a resume moves before Kafka would remove it', async () => {
  const world = ordered();
  world.pause('crm');
  const old = { appendTimeMs: world.clock.now() - 83 * hourMs };
  world.publish('crm', 'ann', old, topic);
  const young = world.publish('crm', 'ann', {}, topic);
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.kept, []);
  await world.clock.pass(2 * hourMs);
  assert.deepEqual(
    world.kept.map(({ messageId }) => messageId),
    ['m1'],
  );
  world.resume('crm');
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, [young]);
});

test('what waits in its place goes as ever once its destination has no order any more', async () => {
  const world = ordered();
  refuse(world, ['m1']);
  world.publish('crm', 'ann', {}, topic);
  const second = world.publish('crm', 'ann', {}, topic);
  await world.clock.pass(2_000);
  world.addDestination('crm', { topic: 'dedicated' });
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, [second]);
  assert.equal(world.retries[0]?.envelope.messageId, 'm1');
});
