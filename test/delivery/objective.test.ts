import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { deliveryPaths, type DeliveryPath } from '../../src/delivery/metrics.ts';
import {
  Spells,
  overdueAmong,
  overdueInAll,
  type Overdue,
} from '../../src/delivery/status/objective.ts';
import { answerOk, hangs, minuteMs, SimulatedWorld } from './simulated-world.ts';

/** The objective is missed by what is delivered `straight` and late, and by what waits and is overdue. */

const shared = 'delivery';
const dedicated = 'delivery.dwh';

/** Counts deliveries later than a minute, by path. */
function lateDeliveries({ metrics }: SimulatedWorld): Record<DeliveryPath, number> {
  const late = { straight: 0, detour: 0, sync: 0 };
  for (const path of deliveryPaths)
    mock.method(metrics.ageSeconds[path], 'add', (seconds: number) => {
      if (seconds > 60) late[path] += 1;
    });
  return late;
}

function overdueIn({ engine, clock }: SimulatedWorld): Record<string, Overdue> {
  return Object.fromEntries(overdueAmong(engine.waiting(), engine.spells, clock.now()));
}

test('what waits for this worker for more than a minute is overdue, and late once it is delivered', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  world.addDestination('crm');
  world.fence.unknown = 1;
  for (let user = 0; user < 10; user++) world.publish('crm', `u${user % 5}`);
  await world.clock.pass(minuteMs);
  assert.deepEqual(overdueIn(world), {});
  await world.clock.pass(10);
  assert.deepEqual(overdueIn(world), { [shared]: { ours: 10, others: 0 } });
  world.fence.unknown = 0;
  await world.clock.pass(5_000);
  assert.deepEqual(overdueIn(world), {});
  assert.deepEqual(late, { straight: 10, detour: 0, sync: 0 });
});

test('what waits for a configuration that this worker does not know yet is overdue', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.configFresh = false;
  world.publish('crm', 'u1', { configOffset: world.configOffset + 1 });
  await world.clock.pass(minuteMs + 10);
  assert.deepEqual(overdueIn(world), { [shared]: { ours: 1, others: 0 } });
});

test('what waits for an endpoint that answers slowly is neither overdue nor late', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  world.addDestination('crm', { maxInFlight: 1 });
  world.answer = () => ({ ...answerOk, afterMs: 4_000 });
  for (let user = 0; user < 40; user++) world.publish('crm', `u${user}`);
  await world.clock.pass(minuteMs + 10);
  const { ours, others } = overdueIn(world)[shared] ?? assert.fail();
  assert.equal(ours, 0);
  assert.ok(others > 20, `${others}`);
  await world.clock.pass(3 * minuteMs);
  assert.equal(late.straight, 0);
  assert.ok(late.detour >= others, `${late.detour}`);
});

test('a dedicated topic behind an endpoint that is away owes nothing, until its last event is delivered', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  world.addDestination('dwh', { topic: 'dedicated', maxInFlight: 2 });
  world.answer = () => hangs;
  for (let user = 0; user < 3_000; user++) world.publish('dwh', `u${user}`, {}, dedicated);
  await world.clock.pass(5 * minuteMs);
  assert.equal(overdueIn(world)[dedicated]?.ours, 0);
  world.answer = () => ({ ...answerOk, afterMs: 100 });
  await world.clock.pass(10 * minuteMs);
  assert.ok(late.detour > 2_900, `${late.detour}`);
  assert.equal(late.straight, 0);
});

test('events of a destination that was away before they came are late for Postrider alone', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  world.addDestination('dwh', { topic: 'dedicated', maxInFlight: 5 });
  world.answer = () => hangs;
  for (let user = 0; user < 5; user++) world.publish('dwh', `u${user}`, {}, dedicated);
  await world.clock.pass(minuteMs);
  world.answer = () => answerOk;
  await world.clock.pass(5 * minuteMs);
  const early = world.clock.now();
  world.fence.unknown = 1;
  world.publish('dwh', 'later', {}, dedicated);
  await world.clock.pass(2 * minuteMs);
  assert.deepEqual(overdueIn(world), { [dedicated]: { ours: 1, others: 0 } });
  world.fence.unknown = 0;
  await world.clock.pass(5_000);
  assert.ok(world.clock.now() - early > 2 * minuteMs);
  assert.equal(late.straight, 1);
});

test('an audience sync and a redrive owe nothing', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  world.addDestination('crm');
  world.fence.unknown = 1;
  const appendTimeMs = world.clock.now();
  world.publish('crm', 'u1', { isSync: true });
  world.publish('crm', 'u2', { redrivenMs: appendTimeMs });
  await world.clock.pass(minuteMs + 10);
  assert.deepEqual(overdueIn(world), { [shared]: { ours: 0, others: 2 } });
  world.fence.unknown = 0;
  await world.clock.pass(5_000);
  assert.deepEqual(late, { straight: 0, detour: 1, sync: 1 });
});

test('retries wait on purpose', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  world.addDestination('crm');
  let requests = 0;
  world.answer = () => (requests++ < 2 ? hangs : answerOk);
  world.publish('crm');
  await world.clock.pass(3 * minuteMs);
  assert.deepEqual(late, { straight: 0, detour: 1, sync: 0 });
});

test('one of two URLs that is away explains no late event', async () => {
  const world = new SimulatedWorld();
  const late = lateDeliveries(world);
  const webhooks = ['https://a.example/', 'https://b.example/'];
  world.addDestination('crm', { webhooks: webhooks.map((url) => ({ url, headers: {} })) });
  world.answer = (url) => (url === webhooks[0] ? hangs : answerOk);
  for (let second = 0; second < 60; second++) {
    world.publish('crm', `u${second}`);
    await world.clock.pass(1_000);
  }
  world.fence.unknown = 1;
  world.publish('crm');
  await world.clock.pass(2 * minuteMs);
  world.fence.unknown = 0;
  await world.clock.pass(5_000);
  assert.equal(late.straight, 1);
});

test('what is not read yet is divided as what has been read', () => {
  assert.equal(overdueInAll(undefined, 100), 100);
  assert.equal(overdueInAll({ ours: 5, others: 0 }, 100), 105);
  assert.equal(overdueInAll({ ours: 0, others: 50 }, 100), 0);
  assert.equal(overdueInAll({ ours: 10, others: 30 }, 100), 35);
});

test('a spell is forgotten when it explains nothing any more', () => {
  const spells = new Spells();
  spells.seen('crm', 0, minuteMs);
  spells.tick(11 * minuteMs - 1);
  assert.equal(spells.explains('crm', 0, 2 * minuteMs), true);
  spells.tick(11 * minuteMs + 1);
  assert.equal(spells.explains('crm', 0, 2 * minuteMs), false);
});
