import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Envelope } from '../../src/event/envelope.ts';
import { answerOk, failsWith, hangs, minuteMs, SimulatedWorld } from './simulated-world.ts';
import type { WorldOptions } from './simulated-world.ts';

/** A user of the shop, whose events go to the CRM. */
const user = 'u:1';

function worldWith(options: WorldOptions = {}): SimulatedWorld {
  const world = new SimulatedWorld(options);
  world.addDestination('crm');
  return world;
}

function publish(world: SimulatedWorld, changes: Partial<Envelope> = {}): string {
  return world.publish('crm', user, changes);
}

/** The user is deleted at the shop, now. */
function deleteUser(world: SimulatedWorld): void {
  world.fence.delete('shop', user, world.clock.now());
}

function requestsOf(world: SimulatedWorld, id: string): number {
  return world.requests.filter(({ messageId }) => messageId === id).length;
}

function droppedBy(world: SimulatedWorld): Record<string, number> {
  return Object.fromEntries(world.metrics.fenced);
}

test('an event whose call came before the deletion is dropped, counted and finished; a later one is sent', async () => {
  const world = worldWith();
  const appendTimeMs = world.clock.now();
  await world.clock.pass(10);
  deleteUser(world);
  const old = publish(world, { appendTimeMs });
  const late = publish(world);
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, [late]);
  assert.deepEqual(world.finished, [old, late]);
  assert.deepEqual(droppedBy(world), { user: 1 });
  assert.deepEqual([world.deadLetters.length, world.retries.length], [0, 0]);
});

test('a retry that comes after the deletion is dropped', async () => {
  const world = worldWith();
  world.answer = () => failsWith(503);
  const old = publish(world);
  await world.clock.pass(1_000);
  deleteUser(world);
  await world.clock.pass(10 * minuteMs);
  assert.equal(requestsOf(world, old), 1);
  assert.equal(world.finished.filter((id) => id === old).length, 2, 'the event and its retry');
  assert.deepEqual(droppedBy(world), { user: 1 });
});

test('an event that waits in its lane while its user is deleted is dropped when its turn comes', async () => {
  const world = worldWith({ maxInFlight: 1 });
  world.answer = () => ({ ...answerOk, afterMs: 500 });
  const first = world.publish('crm', 'other');
  const old = publish(world);
  await world.clock.pass(100);
  deleteUser(world);
  await world.clock.pass(minuteMs);
  assert.deepEqual([requestsOf(world, first), requestsOf(world, old)], [1, 0]);
  assert.ok(world.engine.isIdle);
});

test("what waits behind a dropped event of its user goes on, and so do other users' events", async () => {
  const world = worldWith({ maxInFlight: 1 });
  const [other, , , again] = [
    world.publish('crm', 'other'),
    publish(world),
    publish(world),
    world.publish('crm', 'other'),
  ];
  await world.clock.pass(1);
  deleteUser(world);
  const late = publish(world);
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered.toSorted(), [other, again, late].toSorted());
  assert.deepEqual(droppedBy(world), { user: 2 });
  assert.equal(world.engine.state().queued, 0);
});

test('neither a disabled destination nor an open breaker keeps an event of a deleted user', async () => {
  const world = worldWith();
  const appendTimeMs = world.clock.now() - 1;
  world.answer = () => hangs;
  for (let n = 0; n < 8; n += 1) world.publish('crm', `u${n}`);
  await world.clock.pass(6_000);
  assert.equal(world.engine.state().breakers.open, 1);
  const retries = world.retries.length;
  deleteUser(world);
  publish(world, { appendTimeMs });
  world.addDestination('off', { enabled: false });
  world.publish('off', user, { appendTimeMs });
  await world.clock.pass(100);
  assert.deepEqual(droppedBy(world), { user: 2 });
  assert.deepEqual([world.retries.length, world.deadLetters.length], [retries, 0]);
});

test('an alias is dropped by the id that it replaces', async () => {
  const world = worldWith();
  const appendTimeMs = world.clock.now() - 1;
  deleteUser(world);
  world.publish('crm', 'new', { type: 'alias', previousId: user, appendTimeMs });
  const other = world.publish('crm', 'new', { type: 'alias', previousId: 'old', appendTimeMs });
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, [other]);
  assert.deepEqual(droppedBy(world), { 'previous-id': 1 });
});

test('while deletions may be unknown nothing is sent, and nothing is lost; then everything is', async () => {
  const world = worldWith();
  world.answer = () => failsWith(503);
  const retried = publish(world);
  await world.clock.pass(1_000);
  world.fence.unknown = 1;
  world.answer = () => answerOk;
  const ids = Array.from({ length: 200 }, (_, n) => world.publish('crm', `u${n}`));
  await world.clock.pass(minuteMs);
  assert.equal(world.requests.length, 1);
  assert.equal(world.engine.state().queued, 201);
  world.fence.unknown = 0;
  await world.clock.pass(2_000);
  assert.deepEqual(world.delivered.toSorted(), [retried, ...ids].toSorted());
  assert.equal(world.deadLetters.length, 0);
});

test('what is on its way when deletions become unknown ends, and starts nothing more', async () => {
  const world = worldWith({ maxInFlight: 1 });
  const [first, second] = [publish(world), publish(world)];
  world.fence.unknown = 1;
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, [first]);
  world.fence.unknown = 0;
  await world.clock.pass(2_000);
  assert.deepEqual(world.delivered, [first, second]);
});

test("a deletion's notification waits out an attempt and the fence, whatever clock wrote it", async () => {
  const world = worldWith();
  const topic = world.topology.retryTopic(10_000);
  const writtenMs = world.clock.now();
  const notification = { type: 'delete', appendTimeMs: writtenMs } as const;
  const early = world.publish('crm', user, { ...notification, dueMs: writtenMs - 60_000 }, topic);
  const usual = world.publish('crm', user, { ...notification, dueMs: writtenMs + 9_500 }, topic);
  await world.clock.pass(20_000);
  const sentAfterMs = new Map(
    world.requests.map(({ messageId, atMs }) => [messageId, atMs - writtenMs]),
  );
  assert.deepEqual([sentAfterMs.get(early), sentAfterMs.get(usual)], [7_000, 9_500]);
});

test('a notification that failed is tried again although its user was deleted after it', async () => {
  const world = worldWith();
  world.answer = () => failsWith(503);
  const id = publish(world, { type: 'delete', dueMs: world.clock.now() });
  await world.clock.pass(8_000);
  deleteUser(world);
  world.answer = () => answerOk;
  await world.clock.pass(minuteMs);
  assert.deepEqual([requestsOf(world, id), world.delivered], [2, [id]]);
});

test('thousands of lanes whose only event was dropped are passed over in one go', async () => {
  const world = new SimulatedWorld();
  const lanes = 20_000;
  for (let n = 0; n < lanes; n += 1) world.addDestination(`d${n}`);
  world.fence.unknown = 1;
  for (let n = 0; n < lanes; n += 1) world.publish(`d${n}`, user);
  await world.clock.pass(500);
  deleteUser(world);
  world.fence.unknown = 0;
  await world.clock.pass(1_000);
  assert.deepEqual(droppedBy(world), { user: lanes });
  assert.ok(world.engine.isIdle);
});
