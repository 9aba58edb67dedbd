import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

/** Less than the shortest tier takes: what ends so soon cannot be put off any more. */
const leftMs = 9_000;

/** An event that has come back, with so little time left. */
function publishLate(world: SimulatedWorld, user: string): string {
  const dueMs = world.clock.now();
  return world.publish('crm', user, { dueMs, deadlineMs: dueMs + leftMs }, 'retry.10s');
}

/** Events of different users that have come back, and have an hour. */
function publishReturned(world: SimulatedWorld, count: number): void {
  const dueMs = world.clock.now();
  for (let n = 0; n < count; n++)
    world.publish('crm', `early-${n}`, { dueMs, deadlineMs: dueMs + hourMs }, 'retry.10s');
}

describe('an event for which no retry topic is short enough', () => {
  test('waits although very many of its user do', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const ids = Array.from({ length: 40 }, () => publishLate(world, 'busy'));
    await world.clock.pass(leftMs);
    assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
  });

  test('does so even then where its endpoint asks to be left alone', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 1 });
    const answers = [{ ...failsWith(429, 10 * minuteMs), afterMs: 1_000 }];
    world.answer = () => answers.shift() ?? answerOk;
    const [, ...others] = Array.from({ length: 40 }, () => publishLate(world, 'busy'));
    await world.clock.pass(leftMs);
    assert.deepEqual(world.delivered.toSorted(), others.toSorted());
  });

  test('goes out although its endpoint has just asked to be left alone', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 1 });
    let asked = false;
    world.answer = () => {
      if (asked) return answerOk;
      asked = true;
      return { ...failsWith(429, 10 * minuteMs), afterMs: 1_000 };
    };
    world.publish('crm', 'first');
    const fresh = world.publish('crm', 'fresh');
    const late = publishLate(world, 'late');
    await world.clock.pass(leftMs);
    assert.deepEqual(world.delivered, [late]);
    assert.ok(world.retries.some(({ envelope }) => envelope.messageId === fresh));
  });

  test('stays in a lane that has fallen behind', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 1 });
    world.addDestination('other');
    world.answer = (url) => ({ ...answerOk, afterMs: url.includes('crm') ? 400 : 5 });
    const ids = Array.from({ length: 20 }, (_, n) => publishLate(world, `u${n}`));
    for (let step = 0; step < 50; step++) {
      world.publish('other', `o${step}`);
      await world.clock.pass(leftMs / 50);
    }
    assert.deepEqual(
      ids.filter((id) => !world.delivered.includes(id)),
      [],
    );
  });

  test('goes before those that have come back before it, and have time', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 1 });
    world.answer = () => ({ ...answerOk, afterMs: 400 });
    publishReturned(world, 60);
    await world.clock.pass(1_000);
    const late = publishLate(world, 'late');
    await world.clock.pass(leftMs);
    assert.ok(world.delivered.includes(late));
    assert.ok(world.delivered.length < 60);
  });

  for (const before of [100, 128])
    test(`does so under a rate limit, too, where ${before} wait`, async () => {
      const world = new SimulatedWorld();
      world.addDestination('crm', { rateLimit: 10 });
      await world.clock.pass(10 * minuteMs);
      publishReturned(world, before);
      await world.clock.pass(100);
      const late = publishLate(world, 'late');
      await world.clock.pass(1_000);
      assert.ok(world.delivered.includes(late));
    });

  test('waits for no other event of its user', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { topic: 'dedicated', maxInFlight: 1 });
    world.answer = () => failsWith(429, hourMs);
    world.publish('crm', 'first', {}, 'delivery.crm');
    await world.clock.pass(100);
    world.publish('crm', 'u', {}, 'delivery.crm');
    world.answer = () => answerOk;
    const late = publishLate(world, 'u');
    await world.clock.pass(leftMs);
    assert.deepEqual(world.delivered, [late]);
  });

  test('keeps nobody else waiting where the rate limit would let it through too late', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 1 / 60 });
    world.addDestination('other');
    await world.clock.pass(10 * minuteMs);
    // More than are read at a time.
    for (let n = 0; n < 300; n++) publishLate(world, `u${n}`);
    const dueMs = world.clock.now();
    const other = world.publish('other', 'u', { dueMs, deadlineMs: dueMs + hourMs }, 'retry.10s');
    await world.clock.pass(leftMs);
    assert.ok(world.delivered.includes(other));
    assert.ok(world.delivered.length > 1, 'what the limit lets through in time is delivered');
    assert.equal(world.deadLetters.length + world.delivered.length, 301);
  });
});
