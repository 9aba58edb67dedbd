import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, hangs, hourMs, minuteMs, SimulatedWorld } from '../delivery/simulated-world.ts';

const healthy = ['a', 'b', 'c', 'd'];

interface Times {
  readonly p99Ms: number;
  readonly world: SimulatedWorld;
}

/** Twenty seconds of even traffic to healthy endpoints, beside so many that hang with an event a second each. */
async function healthyBeside(hanging: number): Promise<Times> {
  const world = new SimulatedWorld();
  for (const id of healthy) world.addDestination(id);
  for (let i = 0; i < hanging; i++) world.addDestination(`hung-${i}`);
  const published = new Map<string, number>();
  const tookMs: number[] = [];
  world.answer = (url, { messageId }, nowMs) => {
    if (url.includes('hung')) return hangs;
    tookMs.push(nowMs - (published.get(messageId) ?? NaN));
    return answerOk;
  };
  for (let step = 0; step < 200; step++) {
    for (let i = step % 10; i < hanging; i += 10) world.publish(`hung-${i}`, `u${step}`);
    for (const id of healthy)
      for (let n = 0; n < 5; n++)
        published.set(world.publish(id, `u${step}-${n}`), world.clock.now());
    await world.clock.pass(100);
  }
  assert.equal(tookMs.length, 200 * 5 * healthy.length);
  return {
    p99Ms: tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] ?? NaN,
    world,
  };
}

describe('beside 250 endpoints that hang, with an event a second each', () => {
  test('the healthy ones wait for no slot, and nothing of theirs is put off', async () => {
    const alone = await healthyBeside(0);
    const beside = await healthyBeside(250);
    assert.equal(beside.p99Ms, alone.p99Ms);
    assert.ok(beside.world.mostInFlightAtAll < 1_024, 'the slots were never all taken');
    const theirs = beside.world.retries.filter(({ envelope }) =>
      healthy.includes(envelope.destinationId),
    );
    assert.deepEqual(theirs, []);
    assert.ok((beside.world.metrics.deferrals.get('slow') ?? 0) > 0);
  });
});

describe('of forty endpoints that hang and share four slots', () => {
  test('nothing is put off more than thrice in ten minutes', async () => {
    const world = new SimulatedWorld({ maxInFlight: 16 });
    world.addDestination('fast');
    for (let i = 0; i < 40; i++) world.addDestination(`hung-${i}`);
    world.answer = (url) => (url.includes('hung') ? hangs : answerOk);
    for (let step = 0; step < 240; step++) {
      for (let i = 0; i < 40; i++) world.publish(`hung-${i}`, `u${step}`);
      for (let n = 0; n < 25; n++) {
        world.publish('fast', `u${step}-${n}`);
        await world.clock.pass(100);
      }
    }
    const writes = world.retries.length / (40 * 240);
    assert.ok(writes < 3, `${writes} writes for each`);
  });
});

describe('slow lanes', () => {
  test('together hold a quarter of the slots while others are at work, and what they cannot take is put off', async () => {
    const world = new SimulatedWorld({ maxInFlight: 40 });
    for (let i = 0; i < 10; i++) world.addDestination(`slow-${i}`);
    world.addDestination('fast');
    world.answer = (url) => (url.includes('slow') ? { ...answerOk, afterMs: 2_000 } : answerOk);
    let most = 0;
    for (let step = 0; step < 600; step++) {
      for (let i = 0; i < 10; i++) world.publish(`slow-${i}`, `u${step}`);
      world.publish('fast', `u${step}`);
      await world.clock.pass(100);
      if (step > 100) {
        const inFlight = [...Array(10).keys()].map((i) =>
          world.inFlightAt(`https://slow-${i}.example/hook`),
        );
        most = Math.max(
          most,
          inFlight.reduce((sum, count) => sum + count, 0),
        );
      }
    }
    assert.equal(most, 10);
    assert.ok((world.metrics.deferrals.get('slow') ?? 0) > 0);
    assert.ok(world.retries.every(({ envelope }) => envelope.deadlineMs === undefined));
    const fast = world.requests.filter(({ url }) => url.includes('fast'));
    assert.equal(fast.length, 600);
    await world.clock.pass(3 * hourMs);
    assert.equal(world.delivered.length, 6_600);
  });

  test('alone use all slots, and once they are known to be slow put nothing off', async () => {
    const world = new SimulatedWorld({ maxInFlight: 40 });
    for (let i = 0; i < 4; i++) world.addDestination(`slow-${i}`);
    world.answer = () => ({ ...answerOk, afterMs: 2_000 });
    let atFirst = 0;
    for (let step = 0; step < 300; step++) {
      if (step === 50) atFirst = world.retries.length;
      for (let i = 0; i < 4; i++) world.publish(`slow-${i}`, `u${step}`);
      await world.clock.pass(100);
    }
    assert.equal(world.mostInFlightAtAll, 40);
    await world.clock.pass(10 * minuteMs);
    assert.equal(world.delivered.length, 1_200);
    assert.equal(world.retries.length, atFirst);
  });

  test('of a dedicated topic hold back nobody, and nothing of theirs is put off', async () => {
    const world = new SimulatedWorld({ maxInFlight: 40 });
    world.addDestination('slow', { topic: 'dedicated' });
    world.addDestination('fast');
    world.answer = (url) => (url.includes('slow') ? { ...answerOk, afterMs: 3_000 } : answerOk);
    for (let i = 0; i < 500; i++) world.publish('slow', `u${i}`, {}, 'delivery.slow');
    for (let step = 0; step < 200; step++) {
      world.publish('fast', `u${step}`);
      await world.clock.pass(100);
    }
    assert.equal(world.requests.filter(({ url }) => url.includes('fast')).length, 200);
    await world.clock.pass(10 * minuteMs);
    assert.equal(world.delivered.length, 700);
    assert.equal(world.retries.length, 0);
  });

  test('are not made of healthy ones by a clock that is set', async () => {
    const world = new SimulatedWorld({ maxInFlight: 128 });
    const ids = Array.from({ length: 16 }, (_, n) => `d${n}`);
    for (const id of ids) world.addDestination(id);
    world.answer = () => ({ ...answerOk, afterMs: 100 });
    let published = 0;
    for (let step = 0; step < 500; step++) {
      if (step === 200) world.clock.set(hourMs);
      for (const id of ids) world.publish(id, `u${(published += 1)}`);
      await world.clock.pass(20);
    }
    await world.clock.pass(1_000);
    assert.deepEqual([...world.metrics.deferrals], []);
    assert.equal(world.delivered.length, published);
  });
});
