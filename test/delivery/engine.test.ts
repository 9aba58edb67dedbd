import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from './simulated-clock.ts';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

describe('a healthy endpoint', () => {
  test('gets every event once, with the bytes of the record', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { sharedSecret: 'teehee' });
    const ids = Array.from({ length: 200 }, (_, i) => world.publish('crm', `u${i}`));
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
    assert.deepEqual(world.finished.toSorted(), ids.toSorted());
    assert.equal(world.requests[0]?.body, '{"n":"m1"}');
    assert.match(world.requests[0].signature ?? '', /^[0-9a-f]{40}$/);
    assert.ok(world.engine.isIdle);
  });

  test('gets the first attempts of one user one after the other, in their order', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = (_url, sending) => ({
      ...answerOk,
      afterMs: sending.messageId === 'm1' ? 900 : 5,
    });
    const ids = Array.from({ length: 20 }, () => world.publish('crm', 'one'));
    const other = world.publish('crm', 'other');
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.delivered, [other, ...ids]);
  });

  test('never has more requests at a time than maxInFlight', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 3 });
    for (let i = 0; i < 50; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(minuteMs);
    assert.equal(world.mostInFlight.get('https://crm.example/hook'), 3);
    assert.equal(world.delivered.length, 50);
  });

  test('has a quarter of the process-wide slots at most, whatever its maxInFlight is', async () => {
    const world = new SimulatedWorld({ maxInFlight: 40 });
    world.addDestination('crm', { maxInFlight: 1_024 });
    world.answer = (url) => ({ ...answerOk, afterMs: url.includes('crm') ? 900 : 20 });
    for (let i = 0; i < 100; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(500);
    assert.equal(world.mostInFlight.get('https://crm.example/hook'), 10);
    world.addDestination('crm', { maxInFlight: 512 });
    assert.equal(world.engine.state().inFlight, 10);
  });

  test('has no more of them without a maxInFlight of its own', async () => {
    const world = new SimulatedWorld({ maxInFlight: 40 });
    world.addDestination('hanging');
    world.addDestination('crm');
    world.answer = (url) => (url.includes('hanging') ? hangs : answerOk);
    for (let i = 0; i < 100; i++) world.publish('hanging', `u${i}`);
    await world.clock.pass(100);
    for (let i = 0; i < 100; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(1_000);
    assert.equal(world.mostInFlight.get('https://hanging.example/hook'), 10);
    assert.equal(world.delivered.length, 100);
  });

  test('shares the process-wide slots with the others in turns', async () => {
    const world = new SimulatedWorld({ maxInFlight: 2 });
    for (const id of ['a', 'b', 'c']) world.addDestination(id);
    for (let i = 0; i < 30; i++) for (const id of ['a', 'b', 'c']) world.publish(id, `u${i}`);
    await world.clock.pass(300);
    const count = (id: string): number =>
      world.requests.filter((r) => r.url.includes(`/${id}.`)).length;
    assert.ok(Math.min(count('a'), count('b'), count('c')) >= 8, 'each had its turns');
    await world.clock.pass(minuteMs);
    assert.equal(world.delivered.length, 90);
  });
});

describe('a failing endpoint', () => {
  test('is tried again after 10s, 1m, 5m, 15m, 30m and each hour, until four hours are over', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(500);
    const id = world.publish('crm');
    await world.clock.pass(5 * hourMs);
    const tiers = world.retries.map(({ topic }) => topic.replace('retry.', ''));
    assert.deepEqual(tiers.slice(0, 7), ['10s', '1m', '5m', '15m', '30m', '1h', '1h']);
    const [dead] = world.deadLetters;
    assert.deepEqual([dead?.messageId, dead?.reason], [id, 'expired']);
    assert.equal(dead?.attempts, world.requests.length);
    const [first, last] = [world.requests[0], world.requests.at(-1)];
    assert.ok((last?.atMs ?? 0) - (first?.atMs ?? 0) <= 4 * hourMs);
    assert.ok((last?.atMs ?? 0) - (first?.atMs ?? 0) > 3.2 * hourMs);
  });

  test('that recovers gets the event, with the same message id and bytes', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const startMs = world.clock.now();
    world.answer = (_url, _sending, nowMs) =>
      nowMs < startMs + 3 * minuteMs ? failsWith(503) : answerOk;
    const id = world.publish('crm');
    await world.clock.pass(hourMs);
    assert.deepEqual(world.delivered, [id]);
    assert.equal(new Set(world.requests.map(({ body }) => body)).size, 1);
  });

  test('makes a dead letter with the status of a permanent refusal', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(422);
    world.publish('crm');
    await world.clock.pass(1_000);
    assert.deepEqual(world.deadLetters, [
      { messageId: 'm1', reason: 'http-422', detail: 'answered 422', attempts: 1 },
    ]);
    assert.deepEqual(world.finished, ['m1']);
  });

  test('that answers Retry-After holds its lane, and no other', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.addDestination('shop');
    const startMs = world.clock.now();
    let asked = false;
    world.answer = (url) => {
      if (!url.includes('crm') || asked) return answerOk;
      asked = true;
      return failsWith(429, 10 * minuteMs);
    };
    world.publish('crm', 'a');
    await world.clock.pass(1_000);
    for (let i = 0; i < 10; i++) {
      world.publish('crm', `u${i}`);
      world.publish('shop', `u${i}`);
    }
    await world.clock.pass(hourMs);
    assert.equal(world.delivered.length, 21);
    const crm = world.requests.filter(({ url }) => url.includes('crm')).slice(1);
    assert.ok(crm.every(({ atMs }) => atMs >= startMs + 10 * minuteMs));
    const shop = world.requests.filter(({ url }) => url.includes('shop'));
    assert.ok(shop.every(({ atMs }) => atMs < startMs + 2_000));
    assert.equal(world.metrics.deferrals.get('retry-after'), 10);
  });
});

describe('a short Retry-After', () => {
  test('is waited for, because a retry topic would take longer', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const startMs = world.clock.now();
    world.answer = (_url, _sending, nowMs) =>
      nowMs < startMs + 1_000 ? failsWith(429, 1_500) : answerOk;
    world.publish('crm', 'a');
    await world.clock.pass(500);
    const id = world.publish('crm', 'b');
    await world.clock.pass(900);
    assert.equal(world.requests.length, 1);
    await world.clock.pass(500);
    assert.deepEqual(world.delivered, [id]);
    assert.equal(world.metrics.deferrals.size, 0);
  });
});

describe('a breaker', () => {
  test('opens after five timeouts in a row, and what arrives then is put off without an attempt', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => hangs;
    for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(5_100);
    const id = world.publish('crm', 'late');
    await world.clock.pass(300);
    assert.equal(world.requests.length, 5);
    const deferral = world.retries.find(({ envelope }) => envelope.messageId === id);
    assert.equal(deferral?.envelope.attempts, 0);
    assert.ok(deferral.envelope.deadlineMs !== undefined, 'an open breaker starts the clock');
    assert.equal(world.metrics.deferrals.get('breaker'), 1);
  });

  test('that opens puts off what waits already', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 5 });
    world.answer = () => hangs;
    for (let i = 0; i < 20; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(5_100);
    // Four more had started when the fifth timeout came.
    assert.equal(world.metrics.deferrals.get('breaker'), 11);
    assert.equal(world.engine.state().queued, 0);
  });

  test('lets one probe through, and closes when it succeeds', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    const startMs = world.clock.now();
    world.answer = (_url, _sending, nowMs) =>
      nowMs < startMs + minuteMs ? failsWith(500) : answerOk;
    const arrive = async (seconds: number): Promise<void> => {
      for (let i = 0; i < seconds; i++) {
        for (let n = 0; n < 10; n++) world.publish('crm', `u${i}-${n}`);
        await world.clock.pass(1_000);
      }
    };
    await arrive(60);
    const duringOutage = world.requests.length;
    assert.ok(duringOutage < 60, `${duringOutage} requests instead of 600`);
    await arrive(60);
    await world.clock.pass(hourMs);
    assert.equal(world.delivered.length, 1_200);
    assert.deepEqual(world.deadLetters, []);
  });

  test('is not opened by answers of 4xx', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(422);
    for (let i = 0; i < 100; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.length, 100);
  });

  test('goes with its URL: a new URL starts with a closed one', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = (url) => (url.includes('crm') ? hangs : answerOk);
    for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(5_100);
    world.addDestination('crm', { webhooks: [{ url: 'https://new.example/', headers: {} }] });
    const id = world.publish('crm', 'x');
    await world.clock.pass(1_000);
    assert.ok(world.delivered.includes(id));
  });
});

describe('beside an endpoint that hangs', () => {
  test('the others are not delayed, and only its own events are put off', async () => {
    const world = new SimulatedWorld();
    world.addDestination('hung');
    for (const id of ['a', 'b', 'c']) world.addDestination(id);
    world.answer = (url) => (url.includes('hung') ? hangs : answerOk);
    for (let step = 0; step < 3_000; step++) {
      world.publish('hung', `u${step % 500}`);
      for (const id of ['a', 'b', 'c']) if (step % 3 === 0) world.publish(id, `u${step}`);
      await world.clock.pass(10);
    }
    await world.clock.pass(100);
    assert.equal(world.delivered.length, 3_000);
    assert.ok(world.retries.every(({ envelope }) => envelope.destinationId === 'hung'));
    const state = world.engine.state();
    assert.ok(state.queued <= 128, `${state.queued} queued`);
  });

  test('a lane that is only busy keeps its backlog: nothing is put off', async () => {
    const world = new SimulatedWorld();
    world.addDestination('slow');
    world.answer = () => ({ ...answerOk, afterMs: 200 });
    for (let i = 0; i < 5_000; i++) world.publish('slow', `u${i}`);
    await world.clock.pass(minuteMs);
    assert.equal(world.delivered.length, 5_000);
    assert.equal(world.atRetry, 0);
  });
});

describe('a backlog for healthy endpoints', () => {
  test('is worked off with hardly a deferral, however uneven they are and however short of slots', async () => {
    const world = new SimulatedWorld({ maxInFlight: 64 });
    const random = seededRandom(7);
    for (let d = 0; d < 10; d++) world.addDestination(`d${d}`);
    world.answer = (url) => ({ ...answerOk, afterMs: 20 + Number(/d(\d)/.exec(url)?.[1]) * 4 });
    for (let i = 0; i < 20_000; i++)
      world.publish(`d${Math.floor(random() * 10)}`, `u${Math.floor(random() * 5_000)}`);
    await world.clock.pass(5 * minuteMs);
    assert.equal(world.delivered.length, 20_000);
    // The slowest ones hold most of the only partition's window, three times as long as the others.
    assert.ok(world.atRetry <= 200, `${world.atRetry} deferrals`);
  });
});

describe('a worker that stops', () => {
  test('starts nothing more and ends what is in flight', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 2 });
    for (let i = 0; i < 10; i++) world.publish('crm', `u${i}`);
    world.engine.stop();
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.finished, ['m1', 'm2']);
    assert.ok(world.engine.isIdle);
  });
});

describe('a user with very many events', () => {
  test('has them waiting in their order, and delays nobody else', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.addDestination('other');
    world.answer = () => ({ ...answerOk, afterMs: 20 });
    const ids = Array.from({ length: 400 }, () => world.publish('crm', 'busy'));
    const others = Array.from({ length: 10 }, (_, n) =>
      world.publish(n < 5 ? 'crm' : 'other', `u${n}`),
    );
    await world.clock.pass(20);
    assert.deepEqual(world.delivered.toSorted(), [ids[0], ...others].toSorted());
    await world.clock.pass(10_000);
    assert.deepEqual(
      world.delivered.filter((id) => ids.includes(id)),
      ids,
    );
    assert.equal(world.atRetry, 0);
  });

  test('pauses a dedicated topic instead', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { topic: 'dedicated' });
    for (let i = 0; i < 100; i++) world.publish('crm', 'busy', {}, 'delivery.crm');
    await world.clock.pass(minuteMs);
    assert.deepEqual(
      world.delivered,
      world.requests.map(({ messageId }) => messageId),
    );
    assert.equal(world.delivered.length, 100);
    assert.equal(world.atRetry, 0);
  });
});

describe('a dedicated topic', () => {
  test('waits behind an open breaker and goes on when it closes', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { maxInFlight: 5, topic: 'dedicated' });
    const startMs = world.clock.now();
    world.answer = (_url, _sending, nowMs) => (nowMs < startMs + minuteMs ? hangs : answerOk);
    for (let i = 0; i < 50; i++) world.publish('crm', `u${i}`, {}, 'delivery.crm');
    await world.clock.pass(5 * minuteMs);
    assert.ok(world.retries.every(({ envelope }) => envelope.attempts > 0));
    await world.clock.pass(hourMs);
    assert.equal(world.delivered.length, 50);
  });
});

describe('a lane that falls behind while others have room', () => {
  const slowAndFast = (maxInFlight: number): SimulatedWorld => {
    const world = new SimulatedWorld({ maxInFlight });
    world.addDestination('slow', { maxInFlight: 1 });
    world.addDestination('fast');
    world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 400 : 5 });
    return world;
  };
  const publishFast = async (world: SimulatedWorld, forMs: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let ms = 0; ms < forMs; ms += 50) {
      ids.push(world.publish('fast', `v${world.clock.now()}`));
      await world.clock.pass(50);
    }
    return ids;
  };

  test('keeps all of it while its partition has room for others', async () => {
    const world = slowAndFast(1_024);
    for (let n = 0; n < 400; n++) world.publish('slow', `u${n}`);
    await publishFast(world, 10_000);
    assert.equal(world.atRetry, 0);
    await world.clock.pass(4 * minuteMs);
    assert.equal(world.delivered.length, 600);
  });

  for (const maxInFlight of [1_024, 2])
    test(`puts off what crowds its partition, without starting its clock, with ${maxInFlight} slots in all`, async () => {
      const world = slowAndFast(maxInFlight);
      await publishFast(world, 1_000);
      for (let n = 0; n < 2_000; n++) world.publish('slow', `u${n}`);
      await publishFast(world, 5_000);
      const ids = await publishFast(world, 5_000);
      assert.ok((world.metrics.deferrals.get('lane') ?? 0) > 1_000);
      assert.ok(world.retries.every(({ envelope }) => envelope.destinationId === 'slow'));
      assert.ok(world.retries.every(({ envelope }) => envelope.deadlineMs === undefined));
      assert.deepEqual(
        ids.filter((id) => !world.delivered.includes(id)),
        [],
      );
      await world.clock.pass(hourMs);
      assert.equal(world.delivered.length, 2_220);
    });
});
