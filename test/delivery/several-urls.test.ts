import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

describe('several URLs', () => {
  const webhooks = ['a', 'b', 'c'].map((id) => ({ url: `https://${id}.example/`, headers: {} }));

  test('all get the event, and the first success finishes it', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks });
    world.answer = (url) => (url.includes('b.') ? { ...answerOk, afterMs: 5 } : failsWith(500));
    world.publish('crm');
    await world.clock.pass(10);
    assert.deepEqual(world.finished, ['m1']);
    await world.clock.pass(hourMs);
    assert.equal(world.requests.length, 3);
    assert.equal(world.atRetry, 0);
  });

  test('are all tried again if all failed and any of them may recover', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks });
    const startMs = world.clock.now();
    world.answer = (url, _sending, nowMs) => {
      if (nowMs > startMs + 1_000) return answerOk;
      return failsWith(url.includes('b.') ? 503 : 422);
    };
    world.publish('crm');
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.length, 6);
    assert.deepEqual(world.deadLetters, []);
  });

  for (const [order, asking] of [
    ['first', 'a.'],
    ['last', 'b.'],
  ] as const)
    test(`do not wait for the one that asks for it, where that one answers ${order}`, async () => {
      const world = new SimulatedWorld();
      world.addDestination('crm', { webhooks: webhooks.slice(0, 2) });
      const startMs = world.clock.now();
      world.answer = (url, _sending, nowMs) => {
        if (url.includes(asking)) return failsWith(429, hourMs);
        return nowMs > startMs ? answerOk : failsWith(503);
      };
      const failed = world.publish('crm', 'u');
      await world.clock.pass(100);
      const next = world.publish('crm', 'v');
      await world.clock.pass(minuteMs);
      assert.deepEqual(world.delivered, [next, failed]);
    });

  test('are left alone for the shortest time, if each that was tried asks for it', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2) });
    const startMs = world.clock.now();
    world.answer = (url, _sending, nowMs) => {
      if (nowMs > startMs) return answerOk;
      return failsWith(429, url.includes('a.') ? hourMs : minuteMs);
    };
    world.publish('crm', 'u');
    await world.clock.pass(100);
    world.publish('crm', 'v');
    await world.clock.pass(50_000);
    assert.equal(world.requests.length, 2);
    await world.clock.pass(minuteMs);
    assert.equal(world.delivered.length, 4);
  });

  test('make a dead letter if every one refuses for good', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks });
    world.answer = (url) => failsWith(url.includes('b.') ? 400 : 422);
    world.publish('crm');
    await world.clock.pass(minuteMs);
    assert.equal(world.deadLetters.length, 1);
    assert.equal(world.requests.length, 3);
  });

  test('have their events put off by how long all of them have been away', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2) });
    const publish = (count: number): string[] =>
      Array.from({ length: count }, (_, n) => world.publish('crm', `u${n}`));
    let isOtherAway = false;
    world.answer = (url) => (url.includes('a.') || isOtherAway ? failsWith(503) : answerOk);
    publish(30);
    await world.clock.pass(hourMs);
    isOtherAway = true;
    publish(30);
    await world.clock.pass(1_000);
    assert.equal(world.engine.state().breakers.open, 2);
    const [late = ''] = publish(1);
    await world.clock.pass(1_000);
    isOtherAway = false;
    await world.clock.pass(minuteMs);
    assert.ok(world.delivered.includes(late));
  });

  test('make an event wait while all of them are busy', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2), maxInFlight: 2 });
    // Each of two events is taken by one of them at once, and kept by the other.
    world.answer = (url, { messageId }) =>
      url.includes(messageId === 'm1' ? 'a.' : 'b.') ? hangs : answerOk;
    const ids = ['u', 'v'].map((user) => world.publish('crm', user));
    await world.clock.pass(100);
    ids.push(...['w', 'x'].map((user) => world.publish('crm', user)));
    await world.clock.pass(6_000);
    assert.equal(world.atRetry, 0);
    assert.deepEqual(world.delivered, ids);
  });

  test('make an event wait no longer than for a request whose event another of them took', async () => {
    const world = new SimulatedWorld();
    const [slow, quick] = webhooks.slice(0, 2);
    assert.ok(slow !== undefined && quick !== undefined);
    world.addDestination('crm', { webhooks: [slow, quick], maxInFlight: 2 });
    world.answer = (url) => (url === slow.url ? { ...answerOk, afterMs: 1_300 } : answerOk);
    const startMs = world.clock.now();
    for (const user of ['u', 'v']) world.publish('crm', user);
    await world.clock.pass(100);
    world.addDestination('crm', { webhooks: [slow], maxInFlight: 2 });
    world.publish('crm', 'w');
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.at(-1)?.atMs, startMs + 1_300);
  });

  test('leave out the one that hangs, whose requests stay bounded', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2) });
    world.answer = (url) => (url.includes('a.') ? hangs : answerOk);
    for (let second = 0; second < 20; second++) {
      for (let n = 0; n < 100; n++) world.publish('crm', `u${second}-${n}`);
      await world.clock.pass(1_000);
    }
    assert.equal(world.delivered.length, 2_000);
    assert.equal(world.mostInFlight.get('https://a.example/'), 64);
    const hanging = world.requests.filter(({ url }) => url.includes('a.')).length;
    assert.ok(hanging < 140, `${hanging} requests to the hanging URL`);
    assert.equal(world.atRetry, 0);
  });

  test('do not wait for a busy one, and each event that it misses is counted', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2), maxInFlight: 2 });
    world.answer = (url) => ({ ...answerOk, afterMs: url.includes('a.') ? 1_000 : 5 });
    for (let n = 0; n < 5; n++) {
      world.publish('crm', `u${n}`);
      await world.clock.pass(10);
    }
    assert.equal(world.finished.length, 5);
    assert.deepEqual([...world.metrics.urlSkips], [['busy', 3]]);
  });

  test('do not wait for one whose breaker is not closed, and each event that it misses is counted', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2) });
    world.answer = (url) => (url.includes('a.') ? failsWith(503) : answerOk);
    for (let n = 0; n < 600; n++) {
      world.publish('crm', `u${n}`);
      await world.clock.pass(100);
    }
    assert.equal(world.finished.length, 600);
    const tried = world.requests.filter(({ url }) => url.includes('a.')).length;
    assert.ok(tried < 100, `${tried} requests to the failing URL`);
    assert.deepEqual([...world.metrics.urlSkips], [['breaker', 600 - tried]]);
  });

  test('miss nothing while the event waits until one of them can take it', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { webhooks: webhooks.slice(0, 2), maxInFlight: 1 });
    world.answer = () => ({ ...answerOk, afterMs: 1_000 });
    for (let n = 0; n < 5; n++) world.publish('crm', `u${n}`);
    await world.clock.pass(900);
    assert.equal(world.requests.length, 2);
    assert.deepEqual([...world.metrics.urlSkips], []);
  });
});
