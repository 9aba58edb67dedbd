import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import { outcomeOfResults } from '../../src/delivery/batch/results.ts';
import type { Sending } from '../../src/delivery/sender.ts';
import type { BatchRules } from '../../src/resources/resource.ts';
import {
  answerOk,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
  type Answer,
} from './simulated-world.ts';

const batch: BatchRules = { events: 100, wait: '1s', bytes: '256KB' };

function worldWith(changes: Parameters<SimulatedWorld['addDestination']>[1] = {}): SimulatedWorld {
  const world = new SimulatedWorld();
  world.addDestination('crm', { batch, ...changes });
  worlds.push(world);
  return world;
}

/** Each of another user, unless one is given. */
function publish(world: SimulatedWorld, events: number, user?: string): string[] {
  return Array.from({ length: events }, (_, n) => world.publish('crm', user ?? `u${n}`));
}

function sizes({ requests }: SimulatedWorld): number[] {
  return requests.map(({ events }) => events.length);
}

function holds({ body }: Sending, id: string | undefined): boolean {
  return body.includes(`"${id}"`);
}

/** Refuses a batch in which one of these is. */
function refusing(ids: readonly (string | undefined)[], status = 422): SimulatedWorld['answer'] {
  return (_url, sending) => (ids.some((id) => holds(sending, id)) ? failsWith(status) : answerOk);
}

/** Tells the events apart. */
function results(sending: Sending, statusOf: (index: number) => number, error?: string): Answer {
  const { batchSize } = sending;
  const list = Array.from({ length: batchSize }, (_, n) => ({ status: statusOf(n), error }));
  const body = Buffer.from(JSON.stringify({ results: list }));
  const reading = { answerRules: undefined, keptAnswerBytes: 2_048 };
  return { outcome: outcomeOfResults(207, batchSize, body, reading), afterMs: 20 };
}

const worlds: SimulatedWorld[] = [];

afterEach(() => {
  for (const world of worlds.splice(0)) assert.equal(world.engine.state().queued, 0);
});

describe('a batch', () => {
  test('is the array of the bodies that its events have alone', async () => {
    const world = worldWith({ idempotencyHeader: 'Idempotency-Key' });
    world.bodyOf = (id) => `{ "n" : "${id}", "é": 1.0 }`;
    const ids = publish(world, 3);
    let sent: Sending | undefined;
    world.answer = (_url, sending) => {
      sent = sending;
      return answerOk;
    };
    await world.clock.pass(2_000);
    assert.equal(world.requests[0]?.body, `[${ids.map(world.bodyOf).join(',')}]`);
    assert.deepEqual(world.requests[0].events, ids);
    assert.deepEqual(sent?.headers, ['Idempotency-Key', sent?.messageId]);
    assert.match(sent.messageId, /^batch_[\w-]{27}$/);
    assert.deepEqual(world.finished, ids);
  });

  test('goes out when it is full, and what is left when it has waited', async () => {
    const world = worldWith();
    publish(world, 250);
    await world.clock.pass(999);
    assert.deepEqual(sizes(world), [100, 100]);
    await world.clock.pass(2);
    assert.deepEqual(sizes(world), [100, 100, 50]);
  });

  test('is full by its bytes as well, and an event that is larger goes alone', async () => {
    const world = worldWith({ batch: { ...batch, bytes: '1KB' } });
    world.bodyOf = (id) => `{"n":"${id}","of":"${'x'.repeat(id === 'm5' ? 3_000 : 300)}"}`;
    publish(world, 8);
    await world.clock.pass(1_100);
    assert.deepEqual(sizes(world), [3, 1, 1, 3]);
    assert.ok(world.requests.filter(({ body }) => body.length > 1_024).length === 1);
    assert.equal(world.finished.length, 8);
  });

  test('has one event where only one has come', async () => {
    const world = worldWith();
    const [id] = publish(world, 1);
    await world.clock.pass(999);
    assert.deepEqual(sizes(world), []);
    await world.clock.pass(2);
    assert.deepEqual(world.requests[0]?.body, `[{"n":"${id}"}]`);
  });

  test('does not wait where nothing should wait', async () => {
    const world = worldWith({ batch: { ...batch, wait: '0s' } });
    publish(world, 2);
    assert.deepEqual(sizes(world), [1, 1]);
    await world.clock.pass(100);
    assert.equal(world.finished.length, 2);
  });

  test('waits for more only while others have room to be read', async () => {
    const world = worldWith();
    const batched = Array.from({ length: 40 }, (_, n) => `warehouse-${n}`);
    const slow = { events: 1_000, wait: '10s', bytes: '1MB' } as const;
    for (const id of batched) world.addDestination(id, { batch: slow });
    world.addDestination('chat');
    for (let n = 0; n < 60; n += 1) for (const id of batched) world.publish(id, `u${n}`);
    const message = world.publish('chat', 'u');
    await world.clock.pass(1_000);
    assert.ok(world.delivered.includes(message));
    const early = sizes(world);
    assert.ok(Math.max(...early) > 10, 'they still go together');
    await world.clock.pass(11_000);
    assert.equal(world.delivered.length, 60 * 40 + 1);
  });

  test('of users whose earlier events were in flight leaves room for others, too', async () => {
    const rules = { events: 1_000, wait: '10s', bytes: '1MB' } as const;
    const world = worldWith({ batch: rules });
    world.addDestination('erp', { batch: rules });
    world.addDestination('chat');
    world.answer = () => ({ ...answerOk, afterMs: 100 });
    const publishBoth = (events: number): void => {
      for (let n = 0; n < events; n += 1) for (const id of ['crm', 'erp']) world.publish(id, 'u');
    };
    publishBoth(1);
    await world.clock.pass(10_050);
    assert.equal(world.requests.length, 2);
    publishBoth(600);
    const message = world.publish('chat', 'u');
    await world.clock.pass(2_000);
    assert.ok(world.delivered.includes(message));
    await world.clock.pass(11_000);
    assert.equal(world.delivered.length, 1_203);
  });

  test('takes one slot', async () => {
    const world = worldWith({ maxInFlight: 1, batch: { ...batch, events: 10 } });
    publish(world, 40);
    await world.clock.pass(50);
    assert.deepEqual(sizes(world), [10, 10, 10]);
    assert.equal(world.mostInFlightAtAll, 1);
    await world.clock.pass(50);
    assert.equal(world.finished.length, 40);
  });

  test('is smaller for events that have failed, and in the end they go alone', async () => {
    const world = worldWith();
    world.answer = (_url, { body }) =>
      body.includes('"m7"') || world.requests.length < 20 ? failsWith(500) : answerOk;
    publish(world, 100);
    await world.clock.pass(5 * hourMs);
    assert.equal(world.delivered.length, 99);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
      [['m7', 'expired']],
    );
  });
});

describe('the answer to a batch', () => {
  test('can tell its events apart', async () => {
    const world = worldWith();
    world.answer = (_url, sending) =>
      world.requests.length > 1
        ? answerOk
        : results(sending, (index) => [200, 422, 503][index] ?? 200, 'no such product');
    const [first, second, third] = publish(world, 3);
    await world.clock.pass(1_100);
    assert.deepEqual(world.delivered, [first]);
    assert.deepEqual(world.deadLetters, [
      { messageId: second, reason: 'http-422', detail: 'answered 422', attempts: 1 },
    ]);
    assert.deepEqual(
      world.retries.map(({ envelope }) => [envelope.messageId, envelope.attempts]),
      [[third, 1]],
    );
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.delivered, [first, third]);
    assert.match(String(world.letters[0]?.headers?.['answer']), /no such product/);
  });

  test('is one for all of them, where it fails: each is tried again by its own clock', async () => {
    const world = worldWith();
    world.answer = () => (world.requests.length > 1 ? answerOk : hangs);
    publish(world, 50);
    await world.clock.pass(7_000);
    assert.equal(world.atRetry, 50);
    assert.ok(world.retries.every(({ envelope }) => envelope.attempts === 1));
    await world.clock.pass(minuteMs);
    assert.equal(world.delivered.length, 50);
    assert.ok(sizes(world).length > 4, 'they come back in smaller batches');
  });

  test('asks for patience, where it is 429 for one event', async () => {
    const world = worldWith({ batch: { ...batch, events: 2, wait: '0s' }, maxInFlight: 1 });
    world.answer = (_url, sending) =>
      world.requests.length === 1 ? results(sending, () => 429) : answerOk;
    publish(world, 5);
    await world.clock.pass(1_000);
    assert.deepEqual(sizes(world), [1]);
    await world.clock.pass(minuteMs);
    assert.equal(world.delivered.length, 5);
  });

  for (const [status, bad] of [
    [422, 1],
    [400, 37],
    [413, 64],
    [409, 100],
  ] as const)
    test(`halves it where it is ${status}, until event ${bad} of 100 is alone`, async () => {
      const world = worldWith();
      world.answer = refusing([`m${bad}`], status);
      const ids = publish(world, 100);
      await world.clock.pass(minuteMs);
      assert.deepEqual(
        world.deadLetters.map(({ messageId, reason, attempts }) => [messageId, reason, attempts]),
        [[`m${bad}`, `http-${status}`, 1]],
      );
      assert.deepEqual(
        world.delivered,
        ids.filter((id) => id !== `m${bad}`),
      );
      const most = status === 413 ? Math.ceil(Math.log2(100)) : Math.log2(100);
      assert.ok(world.requests.length <= 2 * most + 1, `${world.requests.length} requests`);
    });

  test('halves it within 2·log₂(n) + 1 requests, whatever n is and whichever is refused', async () => {
    for (const events of [2, 3, 5, 7, 12, 33, 100]) {
      for (let bad = 1; bad <= events; bad += Math.ceil(events / 9)) {
        const world = worldWith({ batch: { ...batch, events } });
        world.answer = refusing([`m${bad}`]);
        publish(world, events);
        await world.clock.pass(minuteMs);
        assert.equal(world.delivered.length, events - 1);
        assert.ok(world.requests.length <= 2 * Math.log2(events) + 1, `${events}, ${bad}`);
      }
    }
  });

  test('halves it, too, where the destination has that status tried again', async () => {
    const world = worldWith({ retry: { on: [422], window: '5m' } });
    world.answer = refusing(['m3']);
    publish(world, 10);
    await world.clock.pass(2_000);
    assert.equal(world.delivered.length, 9);
    await world.clock.pass(10 * minuteMs);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
      [['m3', 'expired']],
    );
  });

  test('finds several events that are refused', async () => {
    const world = worldWith();
    const bad = ['m1', 'm2', 'm50', 'm99'];
    world.answer = refusing(bad);
    publish(world, 100);
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.deadLetters.map(({ messageId }) => messageId).sort(), bad.sort());
    assert.equal(world.delivered.length, 96);
    assert.equal(new Set(world.delivered).size, 96);
  });

  test('is found out with one event where nobody knows whether the endpoint is back', async () => {
    const world = worldWith({ batch: { ...batch, events: 10, wait: '0s' } });
    const startMs = world.clock.now();
    world.answer = (_url, _sending, nowMs) => (nowMs < startMs + minuteMs ? hangs : answerOk);
    for (let n = 0; n < 240; n++) {
      publish(world, 5, `v${n}`);
      await world.clock.pass(500);
    }
    const probes = world.requests.filter(
      ({ atMs }) => atMs > startMs + 12_000 && atMs < startMs + minuteMs,
    );
    assert.ok(probes.length > 0);
    assert.ok(probes.every(({ events }) => events.length === 1));
    await world.clock.pass(hourMs);
    assert.equal(new Set(world.delivered).size, 1_200);
  });
});

describe('the order of batches', () => {
  test('keeps that of a user, of whom many events go together', async () => {
    const world = worldWith({ batch: { ...batch, events: 20 } });
    const ids = publish(world, 95, 'u');
    publish(world, 30);
    await world.clock.pass(5_000);
    const own = world.delivered.filter((id) => ids.includes(id));
    assert.deepEqual(own, ids);
    assert.ok(world.requests.length <= 9, `${world.requests.length} requests`);
  });

  test('keeps that of a user whose events are on both sides of a refused one', async () => {
    const world = worldWith({ batch: { ...batch, events: 16 } });
    world.answer = refusing(['m5']);
    const flying = watchUsers(world);
    const ids = publish(world, 16, 'u');
    await world.clock.pass(1);
    const more = publish(world, 16, 'u');
    await world.clock.pass(minuteMs);
    assert.deepEqual(
      world.delivered,
      [...ids, ...more].filter((id) => id !== 'm5'),
    );
    assert.equal(flying.most, 1);
  });

  test('is kept where the rest of a batch is looked at again before it goes out', async () => {
    const rate = { rateLimit: 2.5, rateLimitOf: 'requests' } as const;
    const world = worldWith({ topic: 'dedicated', ...rate, batch: { ...batch, events: 16 } });
    world.engine.sharesChanged({ indexes: new Set([0]), count: 1 }, 'crm');
    const bad = ['m6', 'm28', 'm40'];
    world.answer = refusing(bad);
    const topic = world.topology.dedicatedTopic('crm').name;
    const ids = Array.from({ length: 50 }, () => world.publish('crm', 'u', {}, topic));
    await world.clock.pass(2 * minuteMs);
    assert.deepEqual(
      world.delivered,
      ids.filter((id) => !bad.includes(id)),
    );
  });

  test('is strict where it should be: one event of each user at a time', async () => {
    const world = worldWith({ topic: 'dedicated', order: 'user', batch: { ...batch, events: 8 } });
    const topic = world.topology.dedicatedTopic('crm').name;
    world.answer = (_url, sending) =>
      holds(sending, 'm1') && world.requests.length === 1 ? failsWith(503) : answerOk;
    const ids = ['u', 'u', 'v', 'u', 'v'].map((user) => world.publish('crm', user, {}, topic));
    await world.clock.pass(minuteMs);
    for (const { events } of world.requests)
      assert.ok(events.filter((id) => [0, 1, 3].some((n) => ids[n] === id)).length <= 1);
    const ofU = world.delivered.filter((id) => [0, 1, 3].some((n) => ids[n] === id));
    assert.deepEqual(ofU, [ids[0], ids[1], ids[3]]);
    assert.equal(world.finished.length, 5);
  });
});

describe('events of a batch that is under way', () => {
  test('are those of the next owner, once their partition is lost', async () => {
    const world = worldWith();
    world.answer = () => ({ ...failsWith(422), afterMs: 100 });
    publish(world, 10);
    await world.clock.pass(1_050);
    assert.equal(world.lose('delivery').length, 10);
    await world.clock.pass(minuteMs);
    assert.deepEqual(sizes(world), [10]);
    assert.deepEqual([world.finished, world.deadLetters], [[], []]);
    assert.ok(world.engine.isIdle);
  });

  test('end, while those that wait for a smaller batch go with their partition', async () => {
    const world = worldWith({ maxInFlight: 1 });
    world.answer = refusing(['m1']);
    publish(world, 8);
    await world.clock.pass(1_030);
    assert.deepEqual(sizes(world), [8, 4]);
    world.revoke('delivery');
    await world.clock.pass(minuteMs);
    assert.deepEqual(sizes(world), [8, 4]);
    assert.deepEqual(world.released.sort(), ['m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8']);
    assert.equal(world.inWork('delivery'), 0);
  });

  test('are kept, where their destination is paused before they are sent again', async () => {
    const world = worldWith();
    world.answer = refusing(['m1']);
    publish(world, 8);
    await world.clock.pass(1_010);
    world.pause('crm');
    await world.clock.pass(minuteMs);
    assert.equal(world.kept.length, 8);
    assert.equal(world.finished.length, 8);
  });

  test('go alone, where their destination has no batches any more', async () => {
    const world = worldWith();
    world.answer = refusing(['m1']);
    publish(world, 8);
    await world.clock.pass(1_010);
    world.addDestination('crm');
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.length, 9);
    assert.equal(world.requests[1]?.body, '{"n":"m1"}');
    assert.equal(world.delivered.length, 7);
    assert.equal(world.deadLetters.length, 1);
  });

  test('are not sent again, where their user was deleted meanwhile', async () => {
    const world = worldWith();
    world.answer = refusing(['m1']);
    const [, second] = publish(world, 8);
    await world.clock.pass(1_010);
    world.fence.delete('shop', 'u1', world.clock.now());
    await world.clock.pass(minuteMs);
    const later = world.requests.slice(1);
    assert.ok(later.every(({ events }) => !events.includes(second ?? '')));
    assert.equal(world.delivered.length, 6);
    assert.equal(world.finished.length, 8);
  });

  test('are delivered, where one of several URLs takes them', async () => {
    const webhooks = ['a', 'b'].map((id) => ({ url: `https://${id}.example/`, headers: {} }));
    const world = worldWith({ webhooks });
    world.answer = (url, sending) => {
      if (url.includes('a.')) return failsWith(400);
      const bodies = JSON.parse(sending.body.toString()) as { n: string }[];
      return results(sending, (index) => (bodies[index]?.n === 'm3' ? 422 : 200));
    };
    publish(world, 5);
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.delivered.sort(), ['m1', 'm2', 'm4', 'm5']);
    assert.deepEqual(
      world.deadLetters.map(({ messageId }) => messageId),
      ['m3'],
    );
  });
});

describe('a rate limit with batches', () => {
  test('counts events', async () => {
    const world = worldWith({ rateLimit: 50, batch: { ...batch, events: 20, wait: '0s' } });
    const startMs = world.clock.now();
    publish(world, 200);
    await world.clock.pass(minuteMs);
    const early = world.requests.filter(({ atMs }) => atMs <= startMs + 2_000);
    const events = early.reduce((sum, request) => sum + request.events.length, 0);
    assert.ok(events <= 2 * 50 + 5 + 20, `${events} events`);
    assert.equal(world.delivered.length, 200);
  });

  test('counts requests where it says so', async () => {
    const world = worldWith({
      rateLimit: 5,
      rateLimitOf: 'requests',
      batch: { ...batch, events: 20, wait: '0s' },
    });
    const startMs = world.clock.now();
    publish(world, 200);
    await world.clock.pass(4_000);
    assert.equal(world.delivered.length, 200);
    const early = world.requests.filter(({ atMs }) => atMs <= startMs + 1_000);
    assert.ok(early.length <= 7, `${early.length} requests`);
  });
});

/** The most requests that were under way at a time with events of one user. */
function watchUsers(world: SimulatedWorld): { most: number } {
  const flying = { now: 0, most: 0 };
  const { answer } = world;
  world.answer = (url, sending, nowMs) => {
    const answered = answer(url, sending, nowMs);
    flying.now += 1;
    flying.most = Math.max(flying.most, flying.now);
    world.clock.after(answered.afterMs - 1, () => {
      flying.now -= 1;
    });
    return answered;
  };
  return flying;
}
