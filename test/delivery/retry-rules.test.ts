import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RetryRules } from '../../src/resources/resource.ts';
import {
  answerOk,
  defaultPolicy,
  failsWith,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from './simulated-world.ts';

/** A destination with these rules, whose endpoint answers nothing but this status until `wellAfterMs`. */
function scene(retry: RetryRules, status: number, wellAfterMs = Infinity): SimulatedWorld {
  const world = new SimulatedWorld();
  world.addDestination('crm', { retry });
  const startMs = world.clock.now();
  world.answer = (_url, _sending, nowMs) =>
    nowMs - startMs < wellAfterMs ? failsWith(status) : answerOk;
  return world;
}

function publish(world: SimulatedWorld, events: number): string[] {
  return Array.from({ length: events }, (_, index) => world.publish('crm', `u${index}`));
}

/** Why each event was given up within that time. */
async function givenUpWithin(world: SimulatedWorld, forMs: number): Promise<string[]> {
  await world.clock.pass(forMs);
  return world.deadLetters.map(({ reason, detail }) => `${reason}: ${detail}`);
}

describe('retry.on', () => {
  test('has an answer tried again that is final by default, and its endpoint counts as alive', async () => {
    const world = scene({ on: [409] }, 409, 5 * minuteMs);
    const events = publish(world, 100);
    await world.clock.pass(minuteMs);
    assert.equal(world.metrics.requests.get('status-retry-on'), 200);
    assert.equal(world.metrics.breakerChanges.size, 0);
    await world.clock.pass(hourMs);
    assert.deepEqual(world.delivered.toSorted(), events.toSorted());
    assert.deepEqual(world.deadLetters, []);
  });

  test('changes nothing about an answer that is tried again by default', async () => {
    for (const status of [404, 410, 503]) {
      const counts = await Promise.all(
        [{ on: [status] }, {}].map(async (retry) => {
          const world = scene(retry, status, 10 * minuteMs);
          publish(world, 100);
          await world.clock.pass(hourMs);
          const { breakerChanges, requests } = world.metrics;
          assert.ok((breakerChanges.get('open') ?? 0) > 0);
          return [[...breakerChanges], [...requests], world.delivered.length];
        }),
      );
      assert.deepEqual(counts[0], counts[1], `${status}`);
    }
  });

  test('lets Retry-After hold the destination', async () => {
    const world = scene({ on: [409] }, 409);
    world.answer = () => failsWith(409, 10 * minuteMs);
    world.publish('crm', 'a');
    await world.clock.pass(minuteMs);
    world.publish('crm', 'b');
    await world.clock.pass(8 * minuteMs);
    assert.equal(world.requests.length, 1);
  });
});

describe('retry.giveUpOn', () => {
  test('makes a dead letter of an answer that is tried again by default, and its endpoint counts as alive', async () => {
    for (const status of [503, 404, 410, 429]) {
      const world = scene({ giveUpOn: [status] }, status);
      publish(world, 100);
      const letters = await givenUpWithin(world, minuteMs);
      assert.deepEqual(
        letters,
        letters.map(() => `http-${status}: answered ${status} (retry.giveUpOn)`),
      );
      assert.equal(letters.length, 100);
      assert.equal(world.requests.length, 100);
      assert.equal(world.metrics.breakerChanges.size, 0);
    }
  });
});

describe('retry.window', () => {
  test('ends the retries of an event so long after its first failure, with a last attempt before', async () => {
    for (const [window, endMs] of [
      ['30m', 30 * minuteMs],
      ['3h', 3 * hourMs],
    ] as const) {
      const world = scene({ window }, 400);
      world.answer = () => failsWith(408);
      world.publish('crm');
      const startMs = world.clock.now();
      assert.deepEqual(await givenUpWithin(world, endMs - 1_000), ['expired: answered 408']);
      const lastMs = (world.requests.at(-1)?.atMs ?? 0) - startMs;
      assert.ok(lastMs > endMs - 2 * minuteMs, `the last attempt came after ${lastMs} ms`);
      assert.ok(
        world.retries.every(({ envelope }) => envelope.deadlineMs === startMs + 20 + endMs),
      );
    }
  });

  test('counts behind an open breaker too', async () => {
    const world = scene({ window: '30m' }, 503);
    publish(world, 100);
    await world.clock.pass(minuteMs);
    const later = world.publish('crm', 'later');
    await world.clock.pass(31 * minuteMs);
    assert.equal(world.deadLetters.length, 101);
    const letter = world.deadLetters.find(({ messageId }) => messageId === later);
    assert.equal(letter?.reason, 'expired');
  });

  test('that is longer than RETRY_WINDOW ends with that', async () => {
    const world = new SimulatedWorld({ policy: { ...defaultPolicy, windowMs: hourMs } });
    world.addDestination('crm', { retry: { window: '4h' } });
    world.answer = () => failsWith(408);
    world.publish('crm');
    assert.deepEqual(await givenUpWithin(world, hourMs), ['expired: answered 408']);
  });

  test('of a destination that is changed counts for what fails from then on', async () => {
    const world = scene({ window: '30m' }, 408);
    const early = world.publish('crm', 'early');
    await world.clock.pass(minuteMs);
    world.addDestination('crm', { retry: { window: '2h' } });
    const late = world.publish('crm', 'late');
    await world.clock.pass(30 * minuteMs);
    assert.deepEqual(
      world.deadLetters.map(({ messageId }) => messageId),
      [early],
    );
    await world.clock.pass(90 * minuteMs);
    assert.deepEqual(
      world.deadLetters.map(({ messageId }) => messageId),
      [early, late],
    );
  });
});
