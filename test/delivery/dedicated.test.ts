import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import {
  answerOk,
  defaultPolicy,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from './simulated-world.ts';

const topic = 'delivery.crm';

/** Its endpoint has hung five times: the breaker is open. */
async function hanging(): Promise<SimulatedWorld> {
  const world = new SimulatedWorld();
  world.addDestination('crm', { topic: 'dedicated', maxInFlight: 5 });
  world.answer = () => hangs;
  for (let i = 0; i < 5; i++) world.publish('crm', `u${i}`, {}, topic);
  await world.clock.pass(5_100);
  return world;
}

/** The probes of some hours take those that wait longest. */
function publishForProbes(world: SimulatedWorld): void {
  for (let i = 0; i < 400; i++) world.publish('crm', `before${i}`, {}, topic);
}

describe('a dedicated topic behind an open breaker', () => {
  test('waits; its clock runs from the opening, or from an append after it', async () => {
    const world = await hanging();
    const openedMs = world.clock.now();
    /** Until when it was waited, as the dead letters say. */
    const deadlines: number[] = [];
    world.refuses = (topic, { headers }) => {
      const envelope = decodeEnvelope(Buffer.from(headers?.[envelopeHeader] ?? ''));
      if (topic === 'dead-letter') deadlines.push(envelope?.deadlineMs ?? NaN);
      return undefined;
    };
    publishForProbes(world);
    const early = world.publish('crm', 'early', {}, topic);
    await world.clock.pass(hourMs);
    const late = world.publish('crm', 'late', {}, topic);
    assert.ok(world.retries.every(({ envelope }) => ![early, late].includes(envelope.messageId)));
    const givenUpMs = async (id: string): Promise<number> => {
      while (!world.deadLetters.some(({ messageId }) => messageId === id))
        await world.clock.pass(minuteMs);
      return world.clock.now() - openedMs;
    };
    const [earlyMs, lateMs] = [await givenUpMs(early), await givenUpMs(late)];
    assert.ok(Math.abs(earlyMs - 4 * hourMs) <= 2 * minuteMs, `${earlyMs} ms`);
    assert.ok(Math.abs(lateMs - 5 * hourMs) <= 2 * minuteMs, `${lateMs} ms`);
    assert.ok(world.deadLetters.every(({ reason }) => reason === 'expired'));
    assert.equal(deadlines.length, 5 + 400 + 2);
    const [ofLate = NaN] = deadlines.splice(-1);
    assert.ok(Math.abs(ofLate - openedMs - 5 * hourMs) < minuteMs);
    for (const deadlineMs of deadlines)
      assert.ok(Math.abs(deadlineMs - openedMs - 4 * hourMs) < minuteMs);
  });

  test('goes on when the breaker closes, and a failure then has the clock that was running', async () => {
    const world = await hanging();
    const openedMs = world.clock.now();
    publishForProbes(world);
    const ids = [1, 2, 3].map((n) => world.publish('crm', `w${n}`, {}, topic));
    await world.clock.pass(hourMs);
    world.answer = (_url, { messageId }) => (messageId === ids[1] ? failsWith(503) : answerOk);
    await world.clock.pass(10 * minuteMs);
    assert.ok(world.delivered.includes(ids[0] ?? '') && world.delivered.includes(ids[2] ?? ''));
    const retry = world.retries.find(({ envelope }) => envelope.messageId === ids[1]);
    const deadlineMs = retry?.envelope.deadlineMs ?? 0;
    assert.ok(Math.abs(deadlineMs - openedMs - 4 * hourMs) < minuteMs);
  });
});

test('a dedicated topic behind its rate limit is waited for while one of its URLs is there', async () => {
  const world = new SimulatedWorld();
  const webhooks = ['a', 'b'].map((id) => ({ url: `https://${id}.example/`, headers: {} }));
  world.addDestination('crm', { topic: 'dedicated', webhooks, rateLimit: 1 / 120 });
  world.engine.sharesChanged({ indexes: new Set([0]), count: 1 }, 'crm');
  world.answer = (url) => (url.includes('a.') ? hangs : answerOk);
  const ids = Array.from({ length: 150 }, (_, n) => world.publish('crm', `u${n}`, {}, topic));
  await world.clock.pass(6 * hourMs);
  assert.deepEqual(world.deadLetters, []);
  assert.deepEqual(world.delivered, ids);
});

describe('a record of a paused topic', () => {
  test('is written elsewhere when half of the retention is over', async () => {
    const world = new SimulatedWorld({
      policy: {
        tiersMs: [10_000, 60_000],
        windowMs: 4 * hourMs,
        maxAgeMs: 72 * hourMs,
        spillAfterMs: 12 * hourMs,
      },
    });
    world.addDestination('crm', { topic: 'dedicated', rateLimit: 1 / 3_600 });
    world.engine.sharesChanged({ indexes: new Set([0]), count: 1 }, 'crm');
    const old = { appendTimeMs: world.clock.now() - 13 * hourMs };
    for (let i = 0; i < 3; i++) world.publish('crm', `old${i}`, old, topic);
    for (let i = 0; i < 3; i++) world.publish('crm', `new${i}`, {}, topic);
    await world.clock.pass(9_000);
    assert.equal(world.metrics.deferrals.get('retention'), 3);
    assert.equal(world.engine.state().queued, 3);
    assert.ok(world.retries.every(({ envelope }) => envelope.deadlineMs === undefined));
  });

  test('that is too old by then is a dead letter that says so', async () => {
    const world = await hanging();
    const old = { appendTimeMs: world.clock.now() - 90 * hourMs };
    const id = world.publish('crm', 'old', old, topic);
    await world.clock.pass(10_000);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
      [[id, 'too-old']],
    );
  });

  test('of a destination that cannot be read here is written elsewhere too, before Kafka removes it', async () => {
    const policy = { ...defaultPolicy, spillAfterMs: 12 * hourMs };
    const world = new SimulatedWorld({ policy });
    world.unreadable.add('crm');
    const old = { appendTimeMs: world.clock.now() - 12 * hourMs + minuteMs };
    const id = world.publish('crm', 'old', old, topic);
    const later = world.publish('crm', 'new', {}, topic);
    await world.clock.pass(minuteMs - 1_000);
    assert.deepEqual([world.finished, world.retryRecords], [[], 0]);
    await world.clock.pass(2_000);
    assert.deepEqual(world.finished, [id]);
    assert.equal(world.metrics.deferrals.get('retention'), 1);
    assert.ok(world.retries.every(({ envelope }) => envelope.deadlineMs === undefined));
    world.unreadable.delete('crm');
    world.addDestination('crm', { topic: 'dedicated' });
    await world.clock.pass(20 * minuteMs);
    assert.deepEqual(world.delivered.toSorted(), [id, later]);
  });

  test('of a destination that cannot be read here is a dead letter if it is too old by then', async () => {
    const world = new SimulatedWorld();
    world.unreadable.add('crm');
    const old = { appendTimeMs: world.clock.now() - 84 * hourMs };
    const id = world.publish('crm', 'old', old, topic);
    await world.clock.pass(1_000);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason, detail }) => [messageId, reason, detail]),
      [[id, 'too-old', 'never tried (retention)']],
    );
    assert.deepEqual(world.finished, [id]);
  });
});

test('events for a rate limit whose dedicated topic cannot be written wait in retry topics, for longer each time', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { topic: 'dedicated', rateLimit: 1 });
  world.refuses = (name, { elsewhereAfterMs }) => {
    if (name !== topic) return undefined;
    assert.ok(elsewhereAfterMs !== undefined, 'it has another place');
    return new PostriderError('unwritable', 'topic delivery.crm cannot be written');
  };
  const ids = Array.from({ length: 40 }, (_, n) => world.publish('crm', `u${n}`));
  await world.clock.pass(2 * hourMs);
  const { length } = world.retries;
  assert.ok(length >= 40 && length < 40 * 30, `${length} copies`);
  assert.ok(world.retries.some((retry) => retry.topic === 'retry.5m'));
  assert.deepEqual([world.delivered, world.deadLetters], [[], []]);
  // The topic is there again, and this worker has its partitions.
  world.refuses = () => undefined;
  world.engine.sharesChanged({ indexes: new Set([0]), count: 1 }, 'crm');
  await world.clock.pass(hourMs);
  assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
});
