import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import { failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

test('records without a readable envelope, or without a body, are dead letters and stop nothing', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.publishRaw({}, '{}');
  world.publishRaw({ postrider: 'nonsense' }, '{}');
  world.publishRaw({ postrider: world.envelopeFor('crm') }, null);
  world.publish('crm');
  await world.clock.pass(1_000);
  assert.deepEqual(
    world.deadLetters.map((d) => d.reason),
    ['malformed', 'malformed', 'malformed'],
  );
  assert.equal(world.delivered.length, 1);
  assert.equal(world.finished.length, 4);
});

test('records that a retry topic refuses become dead letters', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(500);
  world.refuses = (topic) =>
    topic.startsWith('retry') ? new PostriderError('record-refused', 'too large') : undefined;
  world.publish('crm');
  await world.clock.pass(1_000);
  assert.deepEqual(
    world.deadLetters.map((d) => [d.reason, d.detail]),
    [['record-refused', 'too large']],
  );
  assert.deepEqual(world.finished, ['m1']);
});

test('records that dead letters refuse too are never finished', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(422);
  world.refuses = () => new PostriderError('record-refused', 'too large');
  world.publish('crm');
  await world.clock.pass(hourMs);
  assert.deepEqual(world.finished, []);
});

test('records of a lost partition are not sent any more, and those of others still are', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  world.publish('crm', 'a');
  world.publish('crm', 'b');
  world.publish('crm', 'c', {}, 'delivery.crm');
  world.lose('delivery');
  await world.clock.pass(hourMs);
  assert.deepEqual(world.delivered, ['m1', 'm3']);
});

test('records whose window is over when they come back are dead letters that say whose fault it was', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  const nowMs = world.clock.now();
  const late = { attempts: 3, dueMs: nowMs - hourMs, deadlineMs: nowMs - minuteMs };
  world.publish('crm', 'u', late, 'retry.1h');
  await world.clock.pass(1_000);
  assert.equal(world.deadLetters[0]?.reason, 'expired-late');
  assert.equal(world.requests.length, 0);
});

test('a record that comes back in time and has no turn within its rate limit is no fault of ours', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { rateLimit: 1 / 60 });
  await world.clock.pass(2 * minuteMs);
  world.publish('crm', 'first');
  const nowMs = world.clock.now();
  const returned = { attempts: 3, dueMs: nowMs, deadlineMs: nowMs + 8_000 };
  world.publish('crm', 'u', returned, 'retry.10s');
  await world.clock.pass(2 * minuteMs);
  assert.deepEqual(
    world.deadLetters.map(({ reason, attempts }) => [reason, attempts]),
    [['expired', 3]],
  );
});

test('records too old to be put off once more are given up, but not while they can be tried', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  const old = { appendTimeMs: world.clock.now() - 80 * hourMs };
  world.publish('crm', 'u', old);
  await world.clock.pass(1_000);
  assert.equal(world.delivered.length, 1);
  world.answer = () => hangs;
  for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(5_100);
  world.publish('crm', 'x', old);
  await world.clock.pass(100);
  assert.equal(world.deadLetters[0]?.reason, 'too-old');
});
