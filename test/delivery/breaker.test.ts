import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timedOut } from '../../src/delivery/outcome.ts';
import type { Sending } from '../../src/delivery/sender.ts';
import {
  answerOk,
  defaultPolicy,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from './simulated-world.ts';

const quick = { ...answerOk, afterMs: 100 };

/** Repeats the step until the condition holds. */
async function until(holds: () => boolean, step: () => Promise<void>): Promise<void> {
  for (let steps = 0; !holds(); steps++) {
    assert.ok(steps < 2_000, 'it never came about');
    await step();
  }
}

/** How many breakers are open after so many requests, of which some fail, evenly; with a pause in the middle. */
async function openAfter(failing: number, requests: number, pauseMs = 0): Promise<number> {
  const policy = { ...defaultPolicy, tiersMs: [minuteMs] };
  const world = new SimulatedWorld({ policy });
  world.addDestination('crm');
  const failedBefore = (n: number): number => Math.floor((n * failing) / requests);
  for (let n = 0; n < requests; n++) {
    if (n === requests / 2) await world.clock.pass(pauseMs);
    world.answer = () => (failedBefore(n + 1) > failedBefore(n) ? failsWith(500) : answerOk);
    world.publish('crm', `u${n}`);
    await world.clock.pass(50);
  }
  return world.engine.state().breakers.open;
}

test('a breaker opens where more than half of at least twenty requests in ten seconds fail', async () => {
  assert.equal(await openAfter(19, 19), 0);
  assert.equal(await openAfter(20, 20), 1);
  assert.equal(await openAfter(24, 40), 1);
  assert.equal(await openAfter(18, 40), 0);
  assert.equal(await openAfter(28, 32, 15_000), 0);
});

test('a breaker stays closed where half of the requests fail', async () => {
  const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs: [minuteMs] } });
  world.addDestination('crm');
  for (let n = 0; n < 60; n++) {
    // Requests count from the first failure on.
    const fails = n === 0 || (n > 2 && n % 2 === 1);
    world.answer = () => (fails ? failsWith(500) : answerOk);
    world.publish('crm', `u${n}`);
    await world.clock.pass(50);
  }
  assert.equal(world.metrics.breakerChanges.size, 0);
});

test('no request follows while a breaker is not closed, so connections need not be kept', async () => {
  const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs: [minuteMs] } });
  world.addDestination('crm');
  const sent: Sending[] = [];
  world.answer = (_url, sending) => {
    sent.push(sending);
    return failsWith(503);
  };
  world.publish('crm');
  await world.clock.pass(50);
  assert.deepEqual(
    sent.map((each) => each.mayFollow(0)),
    [true],
  );
  for (let n = 0; n < 30; n++) world.publish('crm', `u${n}`);
  await world.clock.pass(50);
  assert.equal(world.engine.state().breakers.open, 1);
  assert.ok(sent.every((each) => !each.mayFollow(0)));
});

test('a breaker opens after five timeouts only if they came in a row', async () => {
  for (const between of [answerOk, failsWith(503)]) {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    for (let round = 0; round < 3; round++) {
      world.answer = () => ({ ...hangs, afterMs: 1_000 });
      for (let i = 0; i < 4; i++) world.publish('crm', `u${i}`);
      world.answer = () => ({ ...between, afterMs: 1_000 });
      world.publish('crm', 'v');
      await world.clock.pass(2_000);
    }
    assert.equal(world.metrics.breakerChanges.size, 0);
  }
});

describe('a breaker of an endpoint with little traffic opens', () => {
  for (const [after, gapMs, failures, opens] of [
    ['when five fail in a row', 2_000, 5, true],
    ['not after four', 2_000, 4, false],
    ['not when five fail within a moment', 500, 5, false],
  ] as const)
    test(after, async () => {
      const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs: [minuteMs] } });
      world.addDestination('crm');
      world.answer = () => failsWith(500);
      for (let n = 0; n < failures; n++) {
        world.publish('crm', `u${n}`);
        await world.clock.pass(gapMs);
      }
      assert.equal(world.engine.state().breakers.open, opens ? 1 : 0);
    });

  test('not as long as some are delivered', async () => {
    const world = new SimulatedWorld({ policy: { ...defaultPolicy, tiersMs: [minuteMs] } });
    world.addDestination('crm');
    for (let n = 0; n < 25; n++) {
      world.answer = () => (n % 5 === 4 ? answerOk : failsWith(500));
      world.publish('crm', `u${n}`);
      await world.clock.pass(2_000);
    }
    assert.equal(world.metrics.breakerChanges.size, 0);
  });
});

/** How long it stays open each time, while the endpoint answers 503 for two hours. */
async function openTimesMs(seed: number): Promise<number[]> {
  const down = failsWith(503);
  const world = new SimulatedWorld({ seed });
  // One after the other, and always with something that waits to be the probe.
  world.addDestination('crm', { topic: 'dedicated', maxInFlight: 1 });
  world.answer = () => down;
  for (let i = 0; i < 200; i++) world.publish('crm', `u${i}`, {}, 'delivery.crm');
  await until(
    () => world.engine.state().breakers.open === 1,
    () => world.clock.pass(10),
  );
  const untilOpen = world.requests.length;
  await world.clock.pass(2 * hourMs);
  return world.requests
    .slice(untilOpen)
    .map(({ atMs }, n) => atMs - down.afterMs - (world.requests[untilOpen - 1 + n]?.atMs ?? NaN));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

test('an endpoint that stays away is probed after ten seconds, then ever more rarely, and every three minutes at least', async () => {
  const [one, other] = [await openTimesMs(1), await openTimesMs(2)];
  for (const openMs of [one, other]) {
    const [first = NaN] = openMs;
    assert.ok(first >= 8_000 && first <= 10_000, `first after ${first} ms`);
    const longest = Math.max(...openMs);
    // By chance shorter than three minutes, by a fifth at most.
    assert.ok(longest > 144_000 && longest <= 180_000, `at the longest after ${longest} ms`);
    const quarter = Math.floor(openMs.length / 4);
    const means = [0, 1, 2, 3].map((n) => mean(openMs.slice(n * quarter, (n + 1) * quarter)));
    for (const [n, meanMs] of means.slice(1).entries())
      assert.ok(meanMs > 1.5 * (means[n] ?? NaN), `it does not grow: ${means.join(', ')} ms`);
  }
  assert.notDeepEqual(one, other, 'all workers probe at the same moments');
});

describe('an endpoint that has just come back', () => {
  for (const [kind, answer] of [
    ['takes', quick],
    ['refuses for good', { ...failsWith(422), afterMs: quick.afterMs }],
  ] as const)
    test(`gets one event, and with each that it ${kind} one more at a time`, async () => {
      const url = 'https://crm.example/hook';
      const world = new SimulatedWorld();
      world.addDestination('crm', { topic: 'dedicated', maxInFlight: 16 });
      world.answer = () => hangs;
      for (let i = 0; i < 200; i++) world.publish('crm', `u${i}`, {}, 'delivery.crm');
      await world.clock.pass(5_100);
      world.answer = () => answer;
      await until(
        () => world.delivered.length + world.deadLetters.length > 0,
        () => world.clock.pass(10),
      );
      const inFlight: number[] = [];
      for (let round = 0; round < 6; round++) {
        inFlight.push(world.inFlightAt(url));
        await world.clock.pass(quick.afterMs);
      }
      assert.deepEqual(inFlight, [1, 2, 4, 8, 16, 16]);
    });

  test('holds up no other URL of its destination', async () => {
    const world = new SimulatedWorld();
    const webhooks = ['a', 'b'].map((id) => ({ url: `https://${id}.example/`, headers: {} }));
    world.addDestination('crm', { webhooks, maxInFlight: 8 });
    world.answer = (url) => (url.includes('a.') ? hangs : quick);
    const trickle = async (): Promise<void> => {
      world.publish('crm');
      await world.clock.pass(quick.afterMs);
    };
    await until(() => world.engine.state().breakers.open === 1, trickle);
    world.answer = () => quick;
    await until(() => world.engine.state().breakers.closed === 1, trickle);
    for (let n = 0; n < 8; n++) world.publish('crm', `u${n}`);
    assert.equal(world.engine.state().inFlight, 8);
  });
});

/** What becomes of a request when the worker has no file descriptor for it. */
const outOfDescriptors = {
  outcome: { kind: 'retryable', cause: 'local', detail: 'EMFILE' },
  afterMs: 0,
} as const;

test('what we lack ourselves opens no breaker, and closes none', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => outOfDescriptors;
  for (let i = 0; i < 40; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(1_000);
  assert.equal(world.metrics.breakerChanges.size, 0);
  assert.equal(world.retries.length, 40);
  world.answer = () => hangs;
  await until(
    () => world.engine.state().breakers.open === 1,
    () => world.clock.pass(100),
  );
  world.answer = () => outOfDescriptors;
  await world.clock.pass(minuteMs);
  assert.ok((world.metrics.breakerChanges.get('half-open') ?? 0) > 0, 'it was probed');
  assert.equal(world.metrics.breakerChanges.get('closed'), undefined);
});

test('one timeout after a probe that succeeded does not open the breaker again', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => hangs;
  for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(5_100);
  const answers = [answerOk];
  world.answer = () => answers.shift() ?? hangs;
  await until(
    () => world.requests.length === 7,
    () => world.clock.pass(100),
  );
  await world.clock.pass(hangs.afterMs);
  assert.equal(world.metrics.breakerChanges.get('open'), 1);
});

test('an answer to a request from before the outage is not taken for that of the probe', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => ({ ...answerOk, afterMs: 25_000 });
  const slow = world.publish('crm', 'slow');
  world.answer = () => hangs;
  for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(5_100);
  world.answer = () => ({ outcome: timedOut, afterMs: 30_000 });
  await world.clock.pass(11_000);
  world.publish('crm', 'probe');
  await world.clock.pass(10_000);
  assert.deepEqual(world.delivered, [slow]);
  assert.deepEqual(world.engine.state().breakers, { closed: 0, open: 0, 'half-open': 1 });
});

test('requests to a URL that the destination no longer has open no breaker', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => hangs;
  for (let i = 0; i < 20; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(1_000);
  world.answer = () => answerOk;
  world.addDestination('crm', { webhooks: [{ url: 'https://new.example/', headers: {} }] });
  await world.clock.pass(minuteMs);
  assert.equal(world.metrics.breakerChanges.size, 0);
});
