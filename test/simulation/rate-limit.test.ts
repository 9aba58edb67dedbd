import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { burstMs } from '../../src/delivery/lane/rate-limit.ts';
import { noIndexes } from '../../src/delivery/lane/work-shares.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import type { Envelope } from '../../src/event/envelope.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import {
  answerOk,
  failsWith,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { Deployment } from './deployment.ts';

const startMs = new SimulatedClock().now();

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${name}${n}`);
}

/** When events went out, over all workers, in order. */
function sentMs(deployment: Deployment): number[] {
  return deployment.workers
    .flatMap(({ requests }) => requests.map(({ atMs }) => atMs))
    .toSorted((a, b) => a - b);
}

/** The largest excess over the rate in any span of time, in events. */
function largestExcess(sent: readonly number[], perSecond: number): number {
  // Over all spans at once: how far the count runs ahead of the line, above its lowest point so far.
  let lowest = Infinity;
  let most = 0;
  sent.forEach((atMs, index) => {
    const ahead = index - (atMs * perSecond) / 1_000;
    lowest = Math.min(lowest, ahead);
    most = Math.max(most, ahead + 1 - lowest);
  });
  return most;
}

/** What is stated: a tenth of a second's worth, and one event. */
function allowedExcess(perSecond: number): number {
  return (perSecond * burstMs) / 1_000 + 1 + 1e-3;
}

/** An event for `crm` in the partition of its key: of a router that does not know of the limit. */
function keyedRecord(user: string, changes: Partial<Envelope> = {}): OutgoingRecord {
  const envelope = encodeEnvelope({
    destinationId: 'crm',
    sourceId: 'shop',
    messageId: user,
    type: 'track',
    configOffset: 1,
    appendTimeMs: startMs,
    attempts: 0,
    ...changes,
  });
  const headers = { [envelopeHeader]: envelope };
  return { topic: 'delivery', key: deliveryKey('crm', user), value: '{}', headers };
}

describe('a rate limit with several workers', () => {
  test('is a ceiling for all of them together, and is used', async () => {
    const deployment = new Deployment(3, 12);
    deployment.addDestination('crm', { rateLimit: 50 });
    const startMs = deployment.clock.now();
    for (let step = 0; step < 600; step++) {
      for (let n = 0; n < 10; n++) deployment.publish('crm');
      await deployment.clock.pass(100);
    }
    const sent = sentMs(deployment);
    assert.ok(largestExcess(sent, 50) <= allowedExcess(50));
    const share = sent.filter((atMs) => atMs < startMs + minuteMs).length / (50 * 60);
    assert.ok(share >= 0.99, `${share} of the limit`);
  });

  test('is used by a user from whom more comes than from others', async () => {
    const deployment = new Deployment(12, 12);
    const { clock, workers } = deployment;
    deployment.addDestination('crm', { rateLimit: 10 });
    const publishedMs = new Map<string, number>();
    for (let event = 0; event < 1_200; event++) {
      publishedMs.set(deployment.publish('crm', 'busy'), clock.now());
      await clock.pass(500);
    }
    const delivered = workers.reduce((sum, worker) => sum + worker.delivered.length, 0);
    assert.ok(delivered >= 0.95 * 1_200, `${delivered} of 1,200`);
    const waitedMs = workers
      .flatMap(({ requests }) => requests)
      .map(({ messageId, atMs }) => atMs - (publishedMs.get(messageId) ?? NaN))
      .toSorted((a, b) => a - b);
    const p99Ms = waitedMs[Math.floor(0.99 * waitedMs.length)] ?? NaN;
    assert.ok(p99Ms <= 100, `p99 ${p99Ms} ms`);
    assert.ok(largestExcess(sentMs(deployment), 10) <= allowedExcess(10));
  });

  test('takes in what lies elsewhere, after one turn through the shortest tier', async () => {
    const deployment = new Deployment(12, 12);
    deployment.addDestination('crm', { rateLimit: 10 });
    const users = numbered('u', 60);
    for (const user of users) deployment.write(keyedRecord(user));
    await deployment.clock.pass(20_000);
    assert.deepEqual(deployment.unended(users), []);
    const { workers } = deployment;
    assert.equal(workers.filter(({ requests }) => requests.length > 0).length, 1);
    const topics = workers.flatMap(({ retries }) => retries.map(({ topic }) => topic));
    assert.deepEqual(new Set(topics), new Set(['retry.10s']));
    assert.ok(topics.length > 50 && topics.length < 60, `${topics.length} deferrals`);
    assert.ok(largestExcess(sentMs(deployment), 10) <= allowedExcess(10));
  });

  test('is not exceeded, and loses nothing, when it is set and removed while events flow', async () => {
    const deployment = new Deployment(3, 12, { maxInFlight: 48 });
    const { clock, workers } = deployment;
    for (const worker of workers) worker.answer = () => ({ ...answerOk, afterMs: 400 });
    const ids: string[] = [];
    const publish = async (seconds: number, isKnown: boolean): Promise<void> => {
      for (let n = 0; n < seconds * 100; n++) {
        const user = `k${ids.length}`;
        if (isKnown) ids.push(deployment.publish('crm', user));
        else {
          deployment.write(keyedRecord(user));
          ids.push(user);
        }
        await clock.pass(10);
      }
    };
    deployment.addDestination('crm');
    for (let round = 0; round < 2; round++) {
      await publish(15, true);
      const whoHasSome = (): SimulatedWorld[] =>
        workers.filter(({ engine }) => engine.state().queued > 0);
      assert.equal(whoHasSome().length, 3);
      const setMs = clock.now();
      deployment.addDestination('crm', { rateLimit: 20 });
      assert.equal(whoHasSome().length, 1);
      await publish(5, false);
      await publish(15, true);
      const sent = sentMs(deployment).filter((atMs) => atMs > setMs);
      assert.ok(sent.length >= 0.95 * 20 * 20, `${sent.length} of 400`);
      assert.ok(largestExcess(sent, 20) <= allowedExcess(20));
      deployment.addDestination('crm');
    }
    for (let step = 0; step < 60 && deployment.unended(ids).length > 0; step++)
      await clock.pass(5 * minuteMs);
    assert.deepEqual(deployment.unended(ids), []);
  });

  test('is not exceeded, and is used, while its home moves from worker to worker', async () => {
    const deployment = new Deployment(4, 12);
    const { clock, workers } = deployment;
    deployment.addDestination('crm', { rateLimit: 10 });
    const moves = 12;
    for (let move = 0; move < moves; move++) {
      const first = move % workers.length;
      deployment.deal([...workers.slice(first), ...workers.slice(0, first)]);
      for (let n = 0; n < 120; n++) {
        deployment.publish('crm');
        await clock.pass(50);
      }
    }
    const sent = sentMs(deployment);
    assert.ok(largestExcess(sent, 10) <= allowedExcess(10));
    assert.ok(sent.length >= 0.95 * 10 * 6 * moves, `${sent.length} of ${10 * 6 * moves}`);
  });

  test('keeps nothing waiting where it has gone away from', async () => {
    const deployment = new Deployment(2, 12);
    const [first, second] = deployment.workers;
    assert.ok(first !== undefined && second !== undefined);
    deployment.deal([first]);
    deployment.addDestination('crm', { rateLimit: 10 });
    const users = numbered('u', 15);
    for (const user of users) deployment.write(keyedRecord(user));
    assert.ok(first.engine.state().queued >= 13);
    // Those of the odd indexes stay, and the home does not.
    deployment.deal([second, first]);
    assert.equal(first.engine.state().queued, 0);
    await deployment.clock.pass(20_000);
    assert.deepEqual(deployment.unended(users), []);
    assert.ok(second.requests.length > 10);
  });

  test('gives up what lies elsewhere when it has no time left to get home', async () => {
    const deployment = new Deployment(12, 12);
    deployment.addDestination('crm', { rateLimit: 10 });
    const deadlineMs = startMs + 5_000;
    const users = numbered('u', 12);
    for (const user of users) deployment.write(keyedRecord(user, { attempts: 1, deadlineMs }));
    await deployment.clock.pass(100);
    const letters = deployment.workers.flatMap(({ deadLetters }) => deadLetters);
    assert.ok(letters.length >= 10, `${letters.length}`);
    for (const { reason, detail } of letters)
      assert.deepEqual([reason, detail], ['expired', 'not tried again (no turn in time)']);
    await deployment.clock.pass(5_000);
    assert.deepEqual(deployment.unended(users), []);
  });

  test('holds in any mixture of load, failures and rebalances, and loses nothing', async () => {
    const scenario = fc.record({
      seed: fc.nat(),
      perSecond: fc.constantFrom(0.5, 3, 20, 200),
      load: fc.double({ min: 0.2, max: 3, noNaN: true }),
      failing: fc.double({ min: 0, max: 0.5, noNaN: true }),
      /** How many workers there are, one after the other. */
      deals: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ seed, perSecond, load, failing, deals }) => {
        const deployment = new Deployment(4, 12, { seed });
        const { clock, workers, random } = deployment;
        deployment.addDestination('crm', { rateLimit: perSecond });
        for (const worker of workers)
          worker.answer = () => (random() < failing ? failsWith(503) : answerOk);
        const ids: string[] = [];
        for (const count of deals) {
          deployment.deal(workers.slice(0, count));
          const stepMs = Math.round(1_000 / perSecond / load);
          for (let event = 0; event < 20 * load; event++) {
            ids.push(deployment.publish('crm'));
            await clock.pass(stepMs);
          }
        }
        for (let step = 0; step < 60 && deployment.unended(ids).length > 0; step++)
          await clock.pass(5 * minuteMs);
        assert.deepEqual(deployment.unended(ids), []);
        const excess = largestExcess(sentMs(deployment), perSecond);
        assert.ok(excess <= allowedExcess(perSecond), `${excess} above`);
      }),
      { numRuns: 12, seed: 4 },
    );
  });
});

describe('a rate limit', () => {
  test('of one event a minute is kept, also when its lane was given up meanwhile', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 1 / 60 });
    await world.clock.pass(hourMs);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 4; i++) world.publish('crm', `u${round}-${i}`);
      await world.clock.pass(40 * minuteMs);
    }
    assert.equal(world.delivered.length, 12);
    const sent = world.requests.map(({ atMs }) => atMs);
    sent.slice(1).forEach((atMs, i) => {
      assert.ok(atMs - (sent[i] ?? 0) >= minuteMs - burstMs);
    });
    assert.ok(world.deadLetters.length === 0);
  });

  test('keeps no lane for a destination whose limit is elsewhere', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10 });
    world.engine.sharesChanged(noIndexes);
    world.readerOf = () => new SimulatedWorld();
    world.publish('crm');
    await world.clock.pass(21 * minuteMs);
    const { lanesByState } = world.engine.state();
    assert.deepEqual(Object.values(lanesByState), [0, 0, 0, 0, 0, 0]);
  });

  test('counts events, not requests to their URLs', async () => {
    const world = new SimulatedWorld();
    const webhooks = ['a', 'b', 'c'].map((id) => ({ url: `https://${id}.example/`, headers: {} }));
    world.addDestination('crm', { webhooks, rateLimit: 10 });
    for (let i = 0; i < 20; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(1_900);
    assert.equal(new Set(world.requests.map(({ messageId }) => messageId)).size, 19);
    assert.equal(world.requests.length, 3 * 19);
  });

  test("makes what can go soon wait without a slot, and starts nobody's clock", async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10 });
    for (let i = 0; i < 100; i++) world.publish('crm', `u${i}`);
    assert.ok(world.engine.state().inFlight <= 2);
    assert.ok(world.engine.state().queued >= 18);
    assert.ok((world.metrics.deferrals.get('rate-limit') ?? 0) >= 75);
    assert.ok(world.retries.every(({ envelope }) => envelope.deadlineMs === undefined));
    await world.clock.pass(hourMs);
    assert.equal(world.delivered.length, 100);
  });

  test("leaves room in its partition's window for its neighbours' events", async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 1_000 });
    let most = 0;
    world.answer = () => {
      most = Math.max(most, world.engine.state().queued);
      return answerOk;
    };
    for (let n = 0; n < 6_000; n++) {
      world.publish('crm', `u${n}`);
      if (n % 3 === 0) await world.clock.pass(1);
    }
    // Of 1,024 in the window of `delivery`.
    assert.ok(most <= 520, `${most} fresh ones`);
    await world.clock.pass(2_000);
    const before = world.delivered.length;
    most = 0;
    await world.clock.pass(10_000);
    assert.ok(world.delivered.length - before > 1_000);
    // Of 256 in the window of a retry topic.
    assert.ok(most <= 130, `${most} that have come back`);
  });

  test('lets nothing wait for long that is not put off, however much comes back meanwhile', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10 });
    const publishedMs = new Map<string, number>();
    for (let n = 0; n < 6_000; n++) {
      publishedMs.set(world.publish('crm', `u${n}`), world.clock.now());
      await world.clock.pass(10);
    }
    const deferred = new Set(world.retries.map(({ envelope }) => envelope.messageId));
    const waitedMs = world.requests
      .filter(({ messageId }) => !deferred.has(messageId))
      .map(({ messageId, atMs }) => atMs - (publishedMs.get(messageId) ?? NaN));
    assert.ok(waitedMs.length > 100, `${waitedMs.length}`);
    // An offset that is not finished lets so many windows pass, and then its partition rests.
    assert.ok(Math.max(...waitedMs) <= 6_000, `${Math.max(...waitedMs)} ms`);
  });

  test('of several destinations with the same home lets others be read past what waits for it', async () => {
    const world = new SimulatedWorld();
    const limited = ['a', 'b', 'c'];
    for (const id of limited) world.addDestination(id, { rateLimit: 20 });
    world.addDestination('other');
    await world.clock.pass(minuteMs);
    for (let n = 0; n < 10_000; n++) for (const id of limited) world.publish(id, `u${n}`);
    const dueMs = new Map<string, number>();
    let latestMs = 0;
    world.onDelivered = (id) => {
      latestMs = Math.max(latestMs, world.clock.now() - (dueMs.get(id) ?? Infinity));
    };
    for (let n = 0; n < 120; n++) {
      for (const tierMs of [minuteMs, 5 * minuteMs]) {
        const atMs = world.clock.now() + tierMs;
        const state = { attempts: 1, dueMs: atMs, deadlineMs: atMs + hourMs };
        dueMs.set(world.publish('other', `u${n}`, state, `retry.${tierMs / minuteMs}m`), atMs);
      }
      await world.clock.pass(5_000);
    }
    await world.clock.pass(5 * minuteMs);
    assert.ok(latestMs < 60_000, `${latestMs} ms`);
  });

  test('divides itself between retries and first attempts when there is too much of both', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10 });
    const dueMs = world.clock.now();
    for (let i = 0; i < 100; i++) {
      world.publish('crm', `u${i}`);
      for (const user of ['a', 'b'])
        world.publish('crm', `${user}${i}`, { attempts: 2, dueMs }, 'retry.1m');
      await world.clock.pass(100);
    }
    const { delivered } = world;
    const firsts = delivered.filter((id) => Number(id.slice(1)) % 3 === 1).length;
    assert.ok(delivered.length >= 90);
    assert.ok(firsts >= 0.2 * delivered.length, `${firsts} first attempts`);
    assert.ok(firsts <= 0.5 * delivered.length, `${firsts} first attempts`);
  });

  test('pauses a dedicated topic', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10, topic: 'dedicated' });
    world.engine.sharesChanged({ indexes: new Set([0]), count: 1 }, 'crm');
    for (let i = 0; i < 1_000; i++) world.publish('crm', `u${i}`, {}, 'delivery.crm');
    await world.clock.pass(99 * 1_000);
    assert.equal(world.retries.length, 0);
    assert.ok(world.delivered.length >= 980, `${world.delivered.length}`);
  });

  test('of a dedicated destination is all there for what is in its topic, and for its retries too', async () => {
    const clock = new SimulatedClock();
    const home = new SimulatedWorld({ clock, name: 'home' });
    const retrier = new SimulatedWorld({ clock, name: 'retrier' });
    home.engine.sharesChanged(noIndexes);
    home.engine.sharesChanged({ indexes: new Set([0]), count: 1 }, 'crm');
    const failed = new Set<string>();
    for (const world of [home, retrier]) {
      world.addDestination('crm', { rateLimit: 10, topic: 'dedicated' });
      world.readerOf = ({ topic }) => (topic === 'delivery.crm' ? home : retrier);
      // Every ninth fails at first.
      world.answer = (_url, { messageId }) => {
        const fails = Number(messageId.slice(5)) % 9 === 0 && !failed.has(messageId);
        failed.add(messageId);
        return fails ? failsWith(503) : answerOk;
      };
    }
    const ids: string[] = [];
    for (let n = 0; n < 9 * 200; n++) {
      ids.push(home.publish('crm', `u${n}`, {}, 'delivery.crm'));
      await clock.pass(n % 9 === 0 ? 120 : 110);
    }
    assert.ok(home.engine.state().queued < 10, `${home.engine.state().queued} wait`);
    await clock.pass(20_000);
    assert.deepEqual(
      ids.filter((id) => !home.delivered.includes(id)),
      [],
    );
    assert.equal(retrier.requests.length, 0);
    const sent = home.requests.map(({ atMs }) => atMs);
    assert.equal(sent.length, 10 * 200);
    assert.ok(largestExcess(sent, 10) <= allowedExcess(10));
  });

  test('does not keep what lies in other partitions of a dedicated topic than its home', async () => {
    const world = new SimulatedWorld({ partitions: 2 });
    world.addDestination('crm', { rateLimit: 10, topic: 'dedicated' });
    const away = { indexes: new Set([1]), count: 2 };
    world.engine.sharesChanged(away);
    world.engine.sharesChanged(away, 'crm');
    for (const user of numbered('u', 20))
      world.take({ ...keyedRecord(user), topic: 'delivery.crm' });
    await world.clock.pass(1_000);
    assert.equal(world.retries.length, 20);
    assert.ok(world.retries.every(({ topic }) => topic === 'retry.10s'));
    assert.equal(world.requests.length, 0);
  });

  test('has what is put off written at once, where others may wait for company', async () => {
    const world = new SimulatedWorld();
    const paces = new Map<string, Set<boolean | undefined>>();
    world.refuses = (_topic, { key, mayWait }) => {
      const [id = ''] = String(key).split(':');
      paces.set(id, (paces.get(id) ?? new Set()).add(mayWait));
      return undefined;
    };
    world.addDestination('limited', { rateLimit: 10 });
    world.addDestination('failing');
    world.answer = (url) => (url.includes('failing') ? failsWith(503) : answerOk);
    for (let n = 0; n < 100; n++)
      for (const id of ['limited', 'failing']) world.publish(id, `u${n}`);
    await world.clock.pass(1_000);
    assert.deepEqual(paces.get('limited'), new Set([false]));
    assert.deepEqual(paces.get('failing'), new Set([true]));
  });

  test('does not keep the rest of a topic that is no longer dedicated where there is no share', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10 });
    world.engine.sharesChanged(noIndexes);
    world.publish('crm', 'u', {}, 'delivery.crm');
    await world.clock.pass(1_000);
    assert.deepEqual(
      world.retries.map(({ topic }) => topic),
      ['retry.10s'],
    );
    assert.equal(world.requests.length, 0);
  });

  test('that changes holds from the next event on', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 1 });
    await world.clock.pass(minuteMs);
    for (let i = 0; i < 3; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(100);
    assert.equal(world.requests.length, 1);
    world.addDestination('crm');
    await world.clock.pass(100);
    assert.equal(world.requests.length, 3);
  });
});

test('what a rate limit lets through goes out in time, also by a lane that waited for a slot of the worker', async () => {
  const world = new SimulatedWorld({ maxInFlight: 64 });
  const others = numbered('other', 4);
  for (const id of others) world.addDestination(id, { maxInFlight: 16 });
  world.addDestination('crm', { rateLimit: 10 });
  world.answer = (url) => ({ ...answerOk, afterMs: url.includes('crm') ? 2_500 : 300 });
  await world.clock.pass(minuteMs);
  const beginMs = world.clock.now();
  for (const id of others) for (const user of numbered('u', 16)) world.publish(id, user);
  for (const user of numbered('u', 8)) world.publish('crm', user);
  await world.clock.pass(minuteMs);
  const sent = world.requests.filter(({ url }) => url.includes('crm')).map(({ atMs }) => atMs);
  assert.deepEqual(
    sent.map((atMs) => atMs - beginMs),
    [300, 300, 400, 500, 600, 700, 800, 900],
  );
});

for (const [way, byMs] of [
  ['forward', hourMs],
  ['back', -hourMs],
] as const) {
  test(`a clock that is set ${way} neither lifts a rate limit nor stops what keeps to it`, async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 10 });
    let published = 0;
    const publish = async (seconds: number): Promise<void> => {
      for (let n = 0; n < seconds * 8; n++) {
        world.publish('crm', `u${published++}`);
        await world.clock.pass(125);
      }
    };
    await publish(20);
    world.clock.set(byMs);
    await publish(20);
    await world.clock.pass(2_000);
    assert.equal(world.delivered.length, published);
    const sent = world.requests.map(({ atMs }, n) => (n < 160 ? atMs : atMs - byMs));
    assert.ok(largestExcess(sent, 10) <= allowedExcess(10));
  });
}
