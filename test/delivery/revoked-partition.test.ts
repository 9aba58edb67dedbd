import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { Bundle } from '../../src/delivery/bundle/bundle.ts';
import {
  compressEvents,
  decodeBundleHeader,
  encodeBundleHeader,
} from '../../src/delivery/bundle/format.ts';
import { newClaim } from '../../src/delivery/job.ts';
import { EventPacker, recordAt } from '../../src/delivery/packing.ts';
import type { PackedRecord } from '../../src/delivery/packing.ts';
import { PostriderError } from '../../src/errors.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import {
  answerOk,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
  type Answer,
} from './simulated-world.ts';

const tooLarge = new PostriderError('record-refused', 'too large');
const dedicatedTopic = 'delivery.crm';
const retryTopic = 'retry.10s';
/** Of another tier than the first failure's. */
const bundleTopic = 'retry.1m';

/** Longer than an attempt, with the copies that it may leave. */
const drainMs = 6_000;

function worldWith(maxInFlight = 64): SimulatedWorld {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight });
  return world;
}

function publishMany(world: SimulatedWorld, count: number): string[] {
  return Array.from({ length: count }, (_, n) => world.publish('crm', `u${n}`));
}

/** Its endpoint has hung five times: the breaker is open. */
async function openBreaker(topic: 'shared' | 'dedicated'): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 5, topic });
  world.answer = () => hangs;
  for (let n = 0; n < 5; n += 1) world.publish('crm', `first${n}`, {}, dedicatedTopic);
  await world.clock.pass(5_100);
  return world;
}

/** A worker in which something waits, and nothing else of its topic is in flight but one request or none. */
interface Waiting {
  readonly world: SimulatedWorld;
  readonly ids: readonly string[];
  /** `delivery` by default. */
  readonly topic?: string;
}

const waitingPlaces: Record<string, () => Waiting | Promise<Waiting>> = {
  'for its due time': () => {
    const world = worldWith();
    const dueMs = world.clock.now() + minuteMs;
    const ids = ['u', 'v'].map((user) => world.publish('crm', user, { dueMs }, retryTopic));
    return { world, ids, topic: retryTopic };
  },
  'for a configuration as new as the router had': () => {
    const world = worldWith();
    return { world, ids: [world.publish('new', 'u', { configOffset: 99 })] };
  },
  'for a destination that cannot be read, in its dedicated topic': () => {
    const world = new SimulatedWorld();
    world.unreadable.add('crm');
    const ids = [world.publish('crm', 'u', {}, dedicatedTopic)];
    return { world, ids, topic: dedicatedTopic };
  },
  'for a slot of its destination': () => {
    const world = worldWith(1);
    return { world, ids: publishMany(world, 5).slice(1) };
  },
  'for a slot of the worker': () => {
    const world = new SimulatedWorld({ maxInFlight: 1 });
    for (const id of ['crm', 'shop']) world.addDestination(id);
    publishMany(world, 1);
    return { world, ids: ['u', 'v'].map((user) => world.publish('shop', user)) };
  },
  'for a slot of those that slow endpoints share': async () => {
    const world = new SimulatedWorld({ maxInFlight: 8 });
    for (const id of ['crm', 'slow', 'fast']) world.addDestination(id);
    world.answer = (url) => (url.includes('fast') ? answerOk : hangs);
    for (const id of ['crm', 'slow']) world.publish(id, 'u');
    for (let n = 0; n < 4; n += 1) {
      world.publish('fast', `u${n}`);
      await world.clock.pass(500);
    }
    return { world, ids: [world.publish('crm', 'v')] };
  },
  'behind another event of its user': () => {
    const world = worldWith();
    return { world, ids: [1, 2, 3].map(() => world.publish('crm', 'one')).slice(1) };
  },
  'for another attempt': () => {
    const world = worldWith(1);
    world.publish('crm', 'first');
    const dueMs = world.clock.now();
    const state = { attempts: 1, dueMs, deadlineMs: dueMs + hourMs };
    const ids = ['u', 'v'].map((user) => world.publish('crm', user, state, retryTopic));
    return { world, ids, topic: retryTopic };
  },
  'because its endpoint asked for a moment': async () => {
    const world = worldWith();
    world.answer = () => failsWith(429, 1_500);
    world.publish('crm', 'first');
    await world.clock.pass(300);
    return { world, ids: ['u', 'v'].map((user) => world.publish('crm', user)) };
  },
  'for its rate limit': () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', { rateLimit: 2 });
    return { world, ids: publishMany(world, 3) };
  },
  'behind an open breaker, in a dedicated topic': async () => {
    const world = await openBreaker('dedicated');
    const ids = ['u', 'v'].map((user) => world.publish('crm', user, {}, dedicatedTopic));
    return { world, ids, topic: dedicatedTopic };
  },
  'for what comes of a probe': async () => {
    const world = await openBreaker('shared');
    while (world.engine.state().breakers['half-open'] === 0) await world.clock.pass(1_000);
    world.publish('crm', 'probe');
    return { world, ids: [world.publish('crm', 'u')] };
  },
  'until the deletions are known': () => {
    const world = worldWith();
    world.fence.unknown = 1;
    return { world, ids: publishMany(world, 3) };
  },
  'since the worker stops': () => {
    const world = worldWith();
    world.engine.stop();
    return { world, ids: publishMany(world, 2) };
  },
};

describe('when a partition goes, a record is released at once that waits', () => {
  for (const [where, scene] of Object.entries(waitingPlaces))
    test(where, async () => {
      const { world, ids, topic = world.topology.topics.delivery } = await scene();
      const isOneOf = ({ messageId }: { readonly messageId: string }): boolean =>
        ids.includes(messageId);
      world.revoke(topic);
      assert.deepEqual(world.released.toSorted(), ids.toSorted());
      await world.clock.pass(drainMs);
      assert.equal(world.inWork(topic), 0);
      assert.equal(world.lose(topic).length, ids.length);
      world.fence.unknown = 0;
      world.unreadable.clear();
      world.answer = () => answerOk;
      world.configOffset = 99;
      for (const id of ['crm', 'new']) if (!world.destinations.has(id)) world.addDestination(id);
      await world.clock.pass(hourMs);
      assert.equal(world.released.length, ids.length);
      assert.deepEqual(world.requests.filter(isOneOf), []);
      assert.ok(!world.finished.some((id) => ids.includes(id)));
      assert.deepEqual(world.deadLetters.filter(isOneOf), []);
    });

  test('and one that comes although it goes', async () => {
    const world = worldWith();
    const headers = { [envelopeHeader]: world.envelopeFor('crm') };
    const record = { topic: 'delivery', key: 'crm:u', value: '{}', headers };
    world.revoke('delivery');
    world.engine.take(world.claim('delivery'), [world.taken(record)]);
    await world.clock.pass(drainMs);
    assert.deepEqual([world.released, world.requests], [['raw'], []]);
  });
});

describe('when a worker stops', () => {
  test('what waits is released at once', () => {
    const world = worldWith(1);
    const dueMs = world.clock.now() + minuteMs;
    const ids = [
      world.publish('crm', 'due', { dueMs }, retryTopic),
      world.publish('new', 'ahead', { configOffset: 99 }),
      ...publishMany(world, 3).slice(1),
    ];
    world.engine.stop();
    assert.deepEqual(world.released.toSorted(), ids.toSorted());
    assert.equal(world.inWork('delivery'), 1);
  });

  test('what still comes is left to the next owner, also what no endpoint would get', async () => {
    const world = worldWith();
    world.addDestination('off', { enabled: false });
    world.pause('waits');
    world.engine.stop();
    const ids = ['crm', 'off', 'gone', 'waits'].map((id) => world.publish(id));
    await world.clock.pass(1_000);
    assert.deepEqual([world.finished, world.letters, world.kept], [[], [], []]);
    world.revoke('delivery');
    assert.deepEqual(world.released, ids);
  });

  test('what it has done of a record with several events is not done again', async () => {
    const world = worldWith(1);
    const { record, ids } = bundleOf(world, 4);
    world.readerOf = () => worldWith();
    world.take(record);
    world.engine.stop();
    await world.clock.pass(1_000);
    assert.ok(world.engine.isIdle);
    assert.deepEqual([world.delivered, world.finished], [['bundled0'], ids]);
    assert.deepEqual(
      world.retries.map(({ envelope }) => envelope.messageId),
      ids.slice(1),
    );
  });
});

describe('when a partition goes, what waits of others', () => {
  test('stays and is delivered', async () => {
    const world = worldWith(1);
    const [first, ...gone] = publishMany(world, 4);
    const dueMs = world.clock.now();
    const kept = ['a', 'b', 'c'].map((user) => world.publish('crm', user, { dueMs }, retryTopic));
    const later = world.publish('crm', 'd', { dueMs: dueMs + minuteMs }, retryTopic);
    const ahead = world.publish('crm', 'e', { dueMs, configOffset: 3 }, retryTopic);
    world.revoke('delivery');
    world.configOffset = 3;
    await world.clock.pass(hourMs);
    assert.deepEqual(world.released.toSorted(), gone.toSorted());
    assert.deepEqual(world.delivered.toSorted(), [first, ...kept, later, ahead].toSorted());
    assert.ok(world.engine.isIdle);
  });

  test('goes on where it stood behind an event that is gone', async () => {
    const world = worldWith(1);
    const first = world.publish('crm', 'first');
    const gone = world.publish('crm', 'one');
    const kept = [1, 2].map(() => world.publish('crm', 'one', {}, retryTopic));
    world.revoke('delivery');
    await world.clock.pass(1_000);
    assert.deepEqual([world.released, world.delivered], [[gone], [first, ...kept]]);
    assert.equal(world.engine.state().queued, 0);
  });

  test('stands behind an event that is still on its way', async () => {
    const world = worldWith();
    world.answer = () => ({ ...answerOk, afterMs: 500 });
    const first = world.publish('crm', 'one');
    const [gone, kept] = [world.publish('crm', 'one'), world.publish('crm', 'one', {}, retryTopic)];
    world.revoke('delivery');
    await world.clock.pass(499);
    assert.equal(world.requests.length, 1);
    await world.clock.pass(1_000);
    assert.deepEqual([world.released, world.delivered], [[gone], [first, kept]]);
  });
});

describe('what is under way when its partition goes', () => {
  const attempts: Record<string, [Answer, string[]]> = {
    'a request that succeeds is finished': [answerOk, []],
    'a request that fails is written to its retry topic and finished': [failsWith(503), ['retry']],
    'a request that hangs likewise': [hangs, ['retry']],
    'a request that is refused becomes a dead letter and is finished': [
      failsWith(422),
      ['dead-letter'],
    ],
  };
  for (const [title, [answer, written]] of Object.entries(attempts))
    test(title, async () => {
      const world = worldWith();
      world.answer = () => answer;
      const wrote: string[] = [];
      world.refuses = (topic) => (wrote.push(topic.replace(/^retry.*/, 'retry')), undefined);
      const ids = publishMany(world, 2);
      world.revoke('delivery');
      assert.deepEqual([world.released, world.finished], [[], []]);
      await world.clock.pass(drainMs);
      assert.deepEqual(world.finished.toSorted(), ids.toSorted());
      assert.deepEqual(new Set(wrote), new Set(written));
      assert.deepEqual([world.released, world.inWork('delivery')], [[], 0]);
    });

  test('a copy that its retry topic refuses becomes a dead letter', async () => {
    const world = worldWith();
    world.answer = () => failsWith(503);
    world.refuses = (topic) => (topic.startsWith('retry') ? tooLarge : undefined);
    const id = world.publish('crm');
    await world.clock.pass(21);
    world.revoke('delivery');
    await world.clock.pass(100);
    assert.deepEqual([world.finished, world.released], [[id], []]);
    assert.equal(world.deadLetters[0]?.reason, 'record-refused');
  });

  test('events that were gathered to be put off are written as one record and finished', async () => {
    const world = await openBreaker('shared');
    const ids = publishMany(world, 5);
    world.revoke('delivery');
    assert.deepEqual(world.released, []);
    const before = world.retryRecords;
    await world.clock.pass(300);
    assert.equal(world.retryRecords, before + 1);
    assert.deepEqual(world.finished.slice(-5), ids);
    assert.equal(world.inWork('delivery'), 0);
  });

  test('a record with several events that its retry topic refuses is written event by event', async () => {
    const world = await openBreaker('shared');
    const { record, ids } = bundleOf(world, 3);
    world.refuses = (_topic, { headers }) => {
      const header = Buffer.from(headers?.[envelopeHeader] ?? '');
      return decodeBundleHeader(header) === undefined ? undefined : tooLarge;
    };
    await world.clock.pass(300);
    const before = world.retryRecords;
    world.take(record);
    world.revoke(bundleTopic);
    await world.clock.pass(300);
    assert.equal(world.retryRecords, before + 3);
    assert.deepEqual(world.finished.slice(-3), ids);
    assert.deepEqual(world.released, []);
  });

  test('a record that not even the dead letters take is released: nobody works on it any more', async () => {
    const world = worldWith();
    world.answer = () => failsWith(422);
    world.refuses = () => tooLarge;
    const id = world.publish('crm');
    world.revoke('delivery');
    await world.clock.pass(100);
    assert.deepEqual([world.released, world.finished], [[id], []]);
    assert.equal((await world.metrics.stuckRecords.get()).values[0]?.value, 1);
  });
});

/** A record of `bundleTopic`, whose events are due. */
function bundleOf(
  world: SimulatedWorld,
  events: number,
): {
  readonly record: { topic: string; key: string; value: Buffer; headers: Record<string, string> };
  readonly ids: readonly string[];
} {
  const packer = new EventPacker();
  const envelope = JSON.parse(world.envelopeFor('crm')) as object;
  const ids = Array.from({ length: events }, (_, n) => `bundled${n}`);
  for (const id of ids)
    packer.add(
      Buffer.from(`crm:${id}`),
      JSON.stringify({ ...envelope, m: id }),
      Buffer.from(`{"n":"${id}"}`),
    );
  const header = encodeBundleHeader({
    destinationId: 'crm',
    events,
    dueMs: world.clock.now(),
    oldestMs: world.clock.now(),
  });
  const headers = { [envelopeHeader]: header };
  const value = compressEvents(packer.packed);
  return { record: { topic: bundleTopic, key: 'crm:bundled0', value, headers }, ids };
}

describe('of a record with several events', () => {
  test('those under way come to their end, and those that waited go on as a record of their own', async () => {
    const world = worldWith(2);
    world.answer = (_url, { messageId }) =>
      messageId === 'bundled1' ? { ...failsWith(503), afterMs: 900 } : answerOk;
    const { record, ids } = bundleOf(world, 5);
    world.take(record);
    world.revoke(bundleTopic);
    assert.equal(world.engine.state().queued, 0);
    await world.clock.pass(901);
    assert.deepEqual(world.released, []);
    await world.clock.pass(100);
    assert.deepEqual([world.released, world.finished], [[], ids]);
    assert.deepEqual(world.delivered, ['bundled0']);
    assert.deepEqual(
      world.retries.map(({ envelope }) => envelope.messageId),
      ['bundled1', 'bundled2', 'bundled3', 'bundled4'],
    );
    const rest = world.lose(bundleTopic);
    assert.equal(rest.length, 1);
    for (const record of rest) world.take(record);
    world.answer = () => answerOk;
    await world.clock.pass(minuteMs);
    assert.deepEqual(world.delivered.toSorted(), ids);
  });

  test('it is released whole where the rest of it is refused', async () => {
    const world = worldWith(1);
    world.refuses = () => tooLarge;
    const { record, ids } = bundleOf(world, 3);
    world.take(record);
    world.revoke(bundleTopic);
    await world.clock.pass(100);
    assert.deepEqual([world.delivered, world.released, world.finished], [['bundled0'], ids, []]);
  });

  test('all that wait are released with it at once', async () => {
    const world = worldWith(1);
    world.publish('crm', 'first');
    const { record, ids } = bundleOf(world, 5);
    world.take(record);
    world.revoke(bundleTopic);
    assert.deepEqual(world.released, ids);
    await world.clock.pass(minuteMs);
    assert.equal(world.requests.length, 1);
  });

  test('the last one ends it: finished or released like all of them, else its rest is told; and only once', () => {
    const claim = newClaim({ topic: bundleTopic, partition: 0 }, false);
    const end = fc.record({ slot: fc.nat(3), kind: fc.constantFrom('finish', 'release') });
    // Enough of them that some events come to several ends before others come to one.
    const manyEnds = fc.array(end, { maxLength: 30, size: 'max' });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), manyEnds, (events, steps) => {
        const { record } = bundleOf(new SimulatedWorld(), events);
        const ends: string[] = [];
        const owner = {
          finish: (slot: number): void => void ends.push(`finish ${slot}`),
          release: (slot: number): void => void ends.push(`release ${slot}`),
        };
        const place = { ...claim, offset: 0, timestampMs: 0 };
        const header = Buffer.from(record.headers[envelopeHeader] ?? '');
        const taken = recordAt(place, { key: null, header, value: record.value }, owner, 9);
        const onRest = (rest: readonly PackedRecord[]): void =>
          void ends.push(`rest of ${rest.length}`);
        const unpacked = Bundle.of(taken, claim)?.unpack(onRest) ?? [];
        assert.equal(unpacked.length, events);
        // Whatever happens to an event later, the first counts.
        const endOf = new Map<number, string>();
        for (const { slot, kind } of steps) {
          const event = unpacked[slot];
          if (event === undefined) continue;
          if (kind === 'finish') event.finish();
          else event.release();
          if (!endOf.has(slot)) endOf.set(slot, kind);
          const released = [...endOf.values()].filter((one) => one === 'release').length;
          const mixed = `rest of ${released}`;
          const wanted = released === 0 ? 'finish 9' : released === events ? 'release 9' : mixed;
          assert.deepEqual(ends, endOf.size < events ? [] : [wanted]);
        }
      }),
    );
  });
});
