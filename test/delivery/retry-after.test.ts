import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

test("an endpoint that asks for an hour of peace delays no other endpoint's retries", async () => {
  const world = new SimulatedWorld();
  world.addDestination('busy');
  world.addDestination('shop');
  const startMs = world.clock.now();
  world.answer = (url, _sending, nowMs) => {
    if (url.includes('busy')) return failsWith(429, hourMs);
    return nowMs < startMs + 1_000 ? failsWith(503) : answerOk;
  };
  const ids: string[] = [];
  for (let i = 0; i < 15; i++) {
    world.publish('busy', `u${i}`);
    ids.push(world.publish('shop', `u${i}`));
  }
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
  const theirs = world.retries.filter(({ envelope }) => envelope.destinationId === 'shop');
  assert.deepEqual(new Set(theirs.map(({ topic }) => topic)), new Set(['retry.10s']));
  // The busy one's wait in tiers of their own length, where whatever is due later stands behind.
  const busy = world.retries.filter(({ envelope }) => envelope.destinationId === 'busy');
  assert.deepEqual(new Set(busy.map(({ topic }) => topic)), new Set(['retry.1h']));
});

test('a wish beyond the retry window ends with it, whatever is asked for', async () => {
  const world = new SimulatedWorld();
  world.addDestination('busy');
  const startMs = world.clock.now();
  world.answer = (_url, _sending, nowMs) =>
    nowMs < startMs + hourMs ? failsWith(429, 1e15) : answerOk;
  const first = world.publish('busy', 'a');
  await world.clock.pass(1_000);
  const id = world.publish('busy', 'b');
  await world.clock.pass(5 * hourMs);
  assert.ok(world.delivered.includes(id), 'the lane was held for the window, not for ever');
  assert.equal(world.deadLetters.length + world.delivered.length, 2);
  assert.ok([...world.delivered, ...world.deadLetters.map((d) => d.messageId)].includes(first));
});

test('a URL that replaces the one that asked for peace is sent to at once', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = (url) =>
    url.includes('new') ? answerOk : { ...failsWith(503, 4 * hourMs), afterMs: 1_000 };
  world.publish('crm', 'a');
  await world.clock.pass(500);
  // Still on its way when the URL changes.
  world.publish('crm', 'b');
  await world.clock.pass(800);
  world.addDestination('crm', { webhooks: [{ url: 'https://new.example/', headers: {} }] });
  const now = world.publish('crm', 'c');
  await world.clock.pass(100);
  assert.deepEqual(world.delivered, [now]);
  await world.clock.pass(1_000);
  const later = world.publish('crm', 'd');
  await world.clock.pass(100);
  assert.deepEqual(world.delivered, [now, later]);
});

test('another change of the destination leaves its URL in peace', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503, hourMs);
  world.publish('crm', 'a');
  await world.clock.pass(100);
  world.addDestination('crm', { name: 'another name' });
  world.publish('crm', 'b');
  await world.clock.pass(minuteMs);
  assert.equal(world.requests.length, 1);
});

for (const [title, first, second] of [
  ['a longer one is not cut short by a shorter one before it', 1_500, hourMs],
  ['a longer one is not cut short by a shorter one after it', hourMs, 1_500],
] as const)
  test(`of two wishes of an endpoint, ${title}`, async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const waits = [first, second];
    world.answer = () => failsWith(429, waits.shift() ?? hourMs);
    world.publish('crm', 'a');
    world.publish('crm', 'b');
    await world.clock.pass(10_000);
    world.publish('crm', 'c');
    await world.clock.pass(49 * minuteMs);
    assert.equal(world.requests.length, 2);
  });

test('what waits already when an endpoint asks for peace is put off, too', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  world.answer = () => failsWith(429, hourMs);
  for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(1_000);
  assert.equal(world.metrics.deferrals.get('retry-after'), 4);
  assert.equal(world.engine.state().queued, 0);
});

test('a held lane lets out what has no time left, and nothing in the place of what was dropped', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { topic: 'dedicated', maxInFlight: 1 });
  world.answer = () => failsWith(429, hourMs);
  world.publish('crm', 'a', {}, 'delivery.crm');
  await world.clock.pass(100);
  const waiting = world.publish('crm', 'b', {}, 'delivery.crm');
  world.answer = () => ({ ...answerOk, afterMs: 1_000 });
  const dueMs = world.clock.now();
  const late = { attempts: 1, dueMs, deadlineMs: dueMs + 9_000 };
  const urgent = [1, 2, 3, 4].map((n) => world.publish('crm', `c${n}`, late, 'retry.10s'));
  const dropped = world.publish('crm', 'd', late, 'retry.10s');
  await world.clock.pass(100);
  world.fence.delete('shop', 'd', world.clock.now());
  await world.clock.pass(20_000);
  assert.deepEqual(world.delivered, urgent);
  assert.deepEqual([...world.metrics.fenced.values()], [1]);
  assert.ok(
    ![waiting, dropped].some((id) => world.retries.some((r) => r.envelope.messageId === id)),
  );
});

test('an endpoint that asks for patience again and again does not keep events beyond their time', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503, 10 * minuteMs);
  const ids: string[] = [];
  for (let n = 0; n < 60; n++) {
    ids.push(world.publish('crm', `u${n}`));
    await world.clock.pass(minuteMs);
  }
  await world.clock.pass(4.2 * hourMs);
  assert.deepEqual(new Set(world.deadLetters.map(({ reason }) => reason)), new Set(['expired']));
  assert.equal(world.deadLetters.length, ids.length);
});

for (const [where, byMs] of [
  ['forward', hourMs],
  ['back', -hourMs],
] as const)
  describe(`where the clock is set ${where}, an endpoint that asked for ten minutes of peace`, () => {
    async function asked(): Promise<SimulatedWorld> {
      const world = new SimulatedWorld();
      world.addDestination('crm');
      world.answer = () => failsWith(503, 10 * minuteMs);
      world.publish('crm', 'a');
      await world.clock.pass(minuteMs);
      world.answer = () => answerOk;
      world.clock.set(byMs);
      return world;
    }

    test('has it, and events wait in a retry topic for what is left of it', async () => {
      const world = await asked();
      const id = world.publish('crm', 'b');
      await world.clock.pass(1_000);
      const at = world.retries.find(({ envelope }) => envelope.messageId === id);
      assert.equal(at?.topic, 'retry.15m');
      assert.equal(world.engine.state().queued, 0);
    });

    test('has no more than it', async () => {
      const world = await asked();
      await world.clock.pass(10 * minuteMs);
      const id = world.publish('crm', 'b');
      await world.clock.pass(1_000);
      assert.ok(world.delivered.includes(id));
    });

    test('has an hour if it asks for one meanwhile', async () => {
      const world = new SimulatedWorld();
      world.addDestination('crm');
      const waits = [10 * minuteMs, hourMs];
      world.answer = () => ({ ...failsWith(503, waits.shift() ?? hourMs), afterMs: 1_000 });
      world.publish('crm', 'a');
      await world.clock.pass(500);
      world.publish('crm', 'b');
      await world.clock.pass(700);
      world.clock.set(byMs);
      await world.clock.pass(40 * minuteMs);
      assert.equal(world.engine.state().lanesByState.held, 1);
    });

    test('is reported with the time at which it may be sent to', async () => {
      const world = await asked();
      await world.clock.pass(2_000);
      const { state, until } = world.engine.reports.of('crm');
      const leftMs = Date.parse(until ?? '') - world.clock.now();
      assert.equal(state, 'held');
      assert.ok(Math.abs(leftMs - 9 * minuteMs) < 3_000, `${leftMs} ms left`);
    });
  });
