import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SimulatedClock } from './simulated-clock.ts';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

function lanes({ engine }: SimulatedWorld): number {
  return Object.values(engine.state().lanesByState).reduce((sum, count) => sum + count, 0);
}

test('what a lane does after a rest is in its figures, and what it did before is not', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  for (let n = 0; n < 30; n += 1) world.publish('crm', `u${n}`);
  await world.clock.pass(10 * minuteMs);
  for (let n = 0; n < 3; n += 1) world.publish('crm', `u${n}`);
  await world.clock.pass(5_000);
  const { delivered } = world.engine.reports.of('crm').perMinute;
  assert.ok(delivered > 0.9 && delivered < 3, `${delivered} a minute`);
});

describe('a destination that gets nothing for twenty minutes', () => {
  test('is forgotten, and its breaker after one minute without a failure', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const answers = [failsWith(503)];
    world.answer = () => answers.shift() ?? answerOk;
    world.publish('crm');
    await world.clock.pass(30_000);
    assert.deepEqual([world.delivered.length, world.engine.state().breakers.closed], [1, 1]);
    await world.clock.pass(minuteMs);
    assert.deepEqual([lanes(world), world.engine.state().breakers.closed], [1, 0]);
    await world.clock.pass(20 * minuteMs);
    assert.equal(lanes(world), 0);
    world.publish('crm');
    await world.clock.pass(1_000);
    assert.equal(world.delivered.length, 2);
  });

  test('is still left alone for as long as its endpoint asked for', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(429, hourMs);
    world.publish('crm', 'a');
    await world.clock.pass(30 * minuteMs);
    world.publish('crm', 'b');
    await world.clock.pass(29 * minuteMs);
    assert.equal(world.requests.length, 1);
  });

  test('is still known to be away until then', async () => {
    const world = await worldOfAbsent();
    await world.clock.pass(19 * minuteMs);
    const before = world.requests.length;
    for (let i = 0; i < 10; i++) world.publish('crm', `v${i}`);
    await world.clock.pass(4_000);
    assert.equal(world.requests.length - before, 1);
  });

  test('is forgotten though it was away, and its breaker with it', async () => {
    const world = await worldOfAbsent();
    assert.deepEqual(world.engine.state().breakers, { closed: 0, open: 1, 'half-open': 0 });
    await world.clock.pass(21 * minuteMs);
    assert.equal(lanes(world), 0);
    assert.deepEqual(world.engine.state().breakers, { closed: 0, open: 0, 'half-open': 0 });
  });
});

/** Its destination has not answered, its breaker is open, and none of its events comes back. */
async function worldOfAbsent(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => hangs;
  for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(5_100);
  for (const tierMs of world.topology.retryTiersMs) world.lose(world.topology.retryTopic(tierMs));
  return world;
}

test('a destination that is away is not forgotten while events come, though none waits', async () => {
  const world = await worldOfAbsent();
  world.answer = () => failsWith(503);
  for (let minute = 0; minute < 30; minute++) {
    world.publish('crm', `v${minute}`);
    await world.clock.pass(minuteMs);
    const { open, 'half-open': halfOpen } = world.engine.state().breakers;
    assert.equal(open + halfOpen, 1, `after ${minute} min`);
  }
});

describe('destinations that get nothing for some seconds', () => {
  test('are not looked at each second', async () => {
    const clock = new CountingClock();
    const world = new SimulatedWorld({ clock });
    const many = 200;
    for (let n = 0; n < many; n++) world.addDestination(`d${n}`);
    for (let n = 0; n < many; n++) world.publish(`d${n}`);
    await clock.pass(10_000);
    assert.equal(world.delivered.length, many);
    clock.reads = 0;
    await clock.pass(10_000);
    assert.ok(clock.reads < many, `${clock.reads} reads`);
  });

  test('report what they get afterwards, and nothing of what is long past', async () => {
    const world = new SimulatedWorld();
    const delivered = (): number => world.engine.reports.of('crm').perMinute.delivered;
    world.addDestination('crm');
    for (let n = 0; n < 6; n++) world.publish('crm', `u${n}`);
    await world.clock.pass(30_000);
    assert.ok(delivered() > 0);
    await world.clock.pass(10 * minuteMs);
    assert.equal(delivered(), 0);
    world.publish('crm');
    await world.clock.pass(100);
    assert.ok(delivered() > 0);
    await world.clock.pass(5_000);
    assert.ok(delivered() > 0);
  });

  test('are watched again as soon as they fail', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.publish('crm');
    await world.clock.pass(minuteMs);
    world.answer = () => failsWith(503);
    for (let n = 0; n < 30; n++) world.publish('crm', `u${n}`);
    await world.clock.pass(3_000);
    assert.equal(world.engine.reports.standing('crm')?.state, 'failing');
    assert.equal(world.engine.state().breakers.open, 1);
  });
});

class CountingClock extends SimulatedClock {
  reads = 0;

  override steadyNow(): number {
    this.reads += 1;
    return super.steadyNow();
  }
}
