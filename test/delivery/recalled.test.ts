import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answerOk,
  failsWith,
  hourMs,
  minuteMs,
  SimulatedWorld,
  type Answer,
} from './simulated-world.ts';

const hook = 'https://crm.example/hook';

/** The endpoint of `crm` fails for 16 minutes, in which an event comes each half a second, and is mended then. */
async function outage(world: SimulatedWorld, others: readonly string[] = []): Promise<string[]> {
  world.addDestination('crm');
  for (const id of others) world.addDestination(id);
  world.answer = () => failsWith(503);
  const ids: string[] = [];
  for (let n = 0; n < 16 * 120; n += 1) {
    ids.push(world.publish('crm', `u${n}`));
    for (const id of others) world.publish(id, `u${n}`);
    await world.clock.pass(500);
  }
  return ids;
}

function mended(world: SimulatedWorld, answer: Answer = answerOk): void {
  world.answer = (url) => (url === hook ? answer : failsWith(503));
}

test('what waits for a mended endpoint is sent in seconds once it is recalled, and not in minutes', async () => {
  const world = new SimulatedWorld();
  const ids = await outage(world);
  mended(world);
  const attempted = world.requests.length;
  world.recall('crm');
  await world.clock.pass(5_000);
  assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
  assert.equal(world.requests.length, attempted + ids.length);
  await world.clock.pass(4 * hourMs);
  assert.equal(world.requests.length, attempted + ids.length);
  assert.equal(world.finished.length, new Set(world.finished).size + world.retries.length);
});

test('another destination in the same partitions keeps its due times, although its records fill their windows', async () => {
  const world = new SimulatedWorld();
  const ids = await outage(world, ['ads']);
  mended(world);
  const mine = new Set(ids);
  const dueMs = new Map(
    world.retries.map(({ envelope: { messageId, dueMs } }) => [messageId, dueMs]),
  );
  const before = world.finished.length;
  world.recall('crm');
  await world.clock.pass(10_000);
  assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
  const early = world.finished
    .slice(before)
    .filter((id) => !mine.has(id) && (dueMs.get(id) ?? 0) > world.clock.now());
  assert.deepEqual(early, []);
  const waits = world.retries.filter(({ envelope }) => !mine.has(envelope.messageId));
  await world.clock.pass(hourMs);
  for (const { envelope } of waits) {
    const next = world.retries.find(
      ({ envelope: { messageId }, atMs }) =>
        messageId === envelope.messageId && atMs > (envelope.dueMs ?? 0) - 1,
    );
    const lateMs = (next?.atMs ?? world.clock.now()) - (envelope.dueMs ?? 0);
    assert.ok(lateMs < 30_000, `${lateMs} ms late`);
  }
});

test('an endpoint that is still away gets one event, and all others stay where they are', async () => {
  const without = new SimulatedWorld();
  await outage(without);
  await without.clock.pass(5_000);
  const world = new SimulatedWorld();
  const ids = await outage(world);
  world.recall('crm');
  await world.clock.pass(5_000);
  assert.equal(world.requests.length, without.requests.length + 1);
  assert.equal(world.retryRecords, without.retryRecords);
  // The next probe finds it mended, and what was not due meanwhile follows: nobody has to recall it again.
  mended(world);
  await world.clock.pass(minuteMs);
  assert.ok(world.delivered.length > 0.9 * ids.length, `${world.delivered.length} delivered`);
});

test('what fails again after it was recalled waits as ever', async () => {
  const world = new SimulatedWorld();
  const ids = await outage(world);
  const [bad = ''] = ids;
  world.answer = (_, { messageId }) => (messageId === bad ? failsWith(503) : answerOk);
  world.recall('crm');
  await world.clock.pass(5_000);
  assert.equal(world.delivered.length, ids.length - 1);
  const attempts = (): number => world.requests.filter(({ messageId }) => messageId === bad).length;
  const before = attempts();
  await world.clock.pass(5_000);
  assert.equal(attempts(), before);
});

test('what was recalled goes at the pace of its endpoint, and is not put off again for being many', async () => {
  const world = new SimulatedWorld();
  await outage(world);
  world.addDestination('crm', { maxInFlight: 4 });
  // Others have hardly to wait, and would make the worker put off what waits for long.
  const others = Array.from({ length: 8 }, (_, n) => world.addDestination(`busy-${n}`).id);
  world.answer = () => ({ ...answerOk, afterMs: 100 });
  world.mostInFlight.clear();
  const [before, putOff] = [world.requests.length, world.retries.length];
  world.recall('crm');
  for (let n = 0; n < 200; n += 1) {
    for (const id of others) world.publish(id, `u${n}`, { dueMs: 1 });
    await world.clock.pass(100);
  }
  assert.equal(world.mostInFlight.get(hook), 4);
  const perSecond = world.requests.slice(before).filter(({ url }) => url === hook).length / 20;
  assert.ok(perSecond > 36 && perSecond <= 40, `${perSecond} a second`);
  const again = world.retries
    .slice(putOff)
    .filter(({ envelope }) => envelope.destinationId === 'crm');
  assert.deepEqual(again, []);
});

test('what was recalled keeps to the rate limit of its destination', async () => {
  const world = new SimulatedWorld();
  await outage(world);
  world.addDestination('crm', { rateLimit: 10 });
  mended(world);
  await world.clock.pass(1_000);
  const before = world.requests.length;
  world.recall('crm');
  await world.clock.pass(20_000);
  const perSecond = (world.requests.length - before) / 20;
  assert.ok(perSecond > 9 && perSecond <= 10.2, `${perSecond} a second`);
});

test('what was recalled of a destination that is paused is kept when it is due, and sent when it is resumed', async () => {
  const world = new SimulatedWorld();
  const ids = await outage(world);
  mended(world);
  world.pause('crm');
  world.recall('crm');
  await world.clock.pass(2_000);
  assert.equal(world.delivered.length, 0);
  world.resume('crm');
  await world.clock.pass(5_000);
  assert.deepEqual(
    [...world.delivered, ...world.kept.map(({ messageId }) => messageId)].toSorted(),
    ids.toSorted(),
  );
});

test('the next owner of a partition goes on with what was recalled', async () => {
  const world = new SimulatedWorld();
  const ids = await outage(world);
  mended(world, { ...answerOk, afterMs: 1_000 });
  world.recall('crm');
  await world.clock.pass(1_500);
  const topics = world.topology.retryTiersMs.map((tierMs) => world.topology.retryTopic(tierMs));
  for (const topic of topics) world.revoke(topic);
  await world.clock.pass(2_000);
  assert.ok(topics.every((topic) => world.inWork(topic) === 0));
  const next = new SimulatedWorld({ clock: world.clock });
  next.addDestination('crm');
  for (const topic of topics) for (const record of world.lose(topic)) next.take(record);
  next.recall('crm');
  await world.clock.pass(5_000);
  assert.deepEqual([...world.delivered, ...next.delivered].toSorted(), ids.toSorted());
});
