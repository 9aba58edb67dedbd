import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import { answerOk, failsWith, hangs, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

function keptIds(world: SimulatedWorld): string[] {
  return world.kept.map(({ messageId }) => messageId);
}

test('what waits for a paused destination, and what comes, is kept; what was begun ends', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  world.addDestination('ads');
  const begun = world.publish('crm', 'u1');
  const waiting = world.publish('crm', 'u2');
  world.pause('crm');
  const late = world.publish('crm', 'u3');
  const other = world.publish('ads', 'u4');
  await world.clock.pass(minuteMs);
  assert.deepEqual(keptIds(world), [waiting, late]);
  assert.deepEqual(world.delivered.toSorted(), [begun, other].sort());
  assert.equal(world.deadLetters.length, 0);
});

test('an event that the topic of paused events refuses is a dead letter, with its attempts', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.refuses = (topic) =>
    topic === world.topology.topics.paused
      ? new PostriderError('record-refused', 'too large')
      : undefined;
  const id = world.publish('crm', 'u1', { attempts: 2 });
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.deadLetters, [
    { messageId: id, reason: 'record-refused', detail: 'too large', attempts: 2 },
  ]);
  assert.deepEqual(world.finished, [id]);
});

test('what failed before the pause is kept when it is due, however long that takes', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(500);
  const ids = Array.from({ length: 40 }, (_, n) => world.publish('crm', `u${n}`));
  await world.clock.pass(2 * minuteMs);
  world.pause('crm');
  await world.clock.pass(6 * hourMs);
  assert.deepEqual(keptIds(world).sort(), ids.sort());
  assert.equal(world.deadLetters.length, 0);
});

test('while a worker does not hear of pauses nothing is kept: the destination may be resumed by now', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.hearsOfPauses = false;
  const first = world.publish('crm', 'u');
  await world.clock.pass(minuteMs);
  assert.deepEqual([keptIds(world), world.inWork('delivery')], [[], 1]);
  world.resume('crm');
  const second = world.publish('crm', 'u');
  world.hearsOfPauses = true;
  await world.clock.pass(minuteMs);
  assert.deepEqual([keptIds(world), world.delivered], [[], [first, second]]);
});

test('what Kafka keeps so late that nobody looks for it any more is sent, and not forgotten', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.writtenAfterMs = () => 20_000;
  const ids = ['u', 'v', 'u'].map((user) => world.publish('crm', user));
  await world.clock.pass(10_000);
  world.resume('crm');
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, ids);
  assert.deepEqual(world.finished.toSorted(), ids.toSorted());
});

test('what is kept late for a destination that is still paused is kept once', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.writtenAfterMs = () => 20_000;
  const ids = ['u', 'v'].map((user) => world.publish('crm', user));
  await world.clock.pass(minuteMs);
  assert.deepEqual([keptIds(world), world.delivered], [ids, []]);
});

test('what is kept late when the worker does not hear of pauses waits until it does', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.writtenAfterMs = () => 20_000;
  const id = world.publish('crm', 'u');
  await world.clock.pass(1_000);
  world.hearsOfPauses = false;
  await world.clock.pass(minuteMs);
  assert.deepEqual([world.inWork('delivery'), world.delivered], [1, []]);
  world.resume('crm');
  world.hearsOfPauses = true;
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, [id]);
});

test('what is kept late goes to the next worker when its partition moves meanwhile', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.writtenAfterMs = () => 20_000;
  world.publish('crm', 'u');
  await world.clock.pass(1_000);
  world.revoke('delivery');
  world.resume('crm');
  await world.clock.pass(minuteMs);
  assert.deepEqual([world.inWork('delivery'), world.delivered, world.finished], [0, [], []]);
});

test('a resumed destination gets what comes from then on', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  world.publish('crm', 'u1');
  await world.clock.pass(minuteMs);
  world.resume('crm');
  const after = world.publish('crm', 'u1');
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, [after]);
  assert.equal(world.kept.length, 1);
});

test('an event of a deleted user is dropped, not kept, and one without a destination is given up', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.pause('crm');
  const appendTimeMs = world.clock.now();
  await world.clock.pass(10);
  world.fence.delete('shop', 'gone', world.clock.now());
  world.publish('crm', 'gone', { appendTimeMs });
  world.destinations.delete('crm');
  world.engine.destinationChanged('crm');
  world.publish('crm', 'u1');
  await world.clock.pass(minuteMs);
  assert.equal(world.kept.length, 0);
  assert.deepEqual(
    world.deadLetters.map(({ reason }) => reason),
    ['destination-deleted'],
  );
});

test('a pause while an attempt hangs: the attempt fails, and its event is kept when it is due', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => hangs;
  const id = world.publish('crm', 'u1');
  await world.clock.pass(10);
  world.pause('crm');
  world.answer = () => answerOk;
  await world.clock.pass(minuteMs);
  assert.deepEqual(keptIds(world), [id]);
});

test('what is in flight when a destination is resumed counts among what may be in flight', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 2 });
  world.answer = () => ({ ...answerOk, afterMs: 3_000 });
  const publishTwo = (): string[] => ['u1', 'u2'].map((user) => world.publish('crm', user));
  const before = publishTwo();
  await world.clock.pass(10);
  world.pause('crm');
  await world.clock.pass(1_500);
  world.resume('crm');
  const after = publishTwo();
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, [...before, ...after]);
  assert.equal(world.mostInFlight.get('https://crm.example/hook'), 2);
});

test('what was sent before the pause counts for the rate limit after it', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { rateLimit: 1 / 10 });
  await world.clock.pass(minuteMs);
  world.publish('crm', 'u1');
  await world.clock.pass(1_000);
  world.pause('crm');
  await world.clock.pass(2_000);
  world.resume('crm');
  world.publish('crm', 'u2');
  await world.clock.pass(minuteMs);
  const [first, second] = world.requests;
  assert.ok(first !== undefined && second !== undefined);
  assert.ok(second.atMs - first.atMs >= 9_900);
});

test('what a slow URL has in flight counts after a pause, and after the URL was taken away and given back', async () => {
  const slow = { url: 'https://slow.example/hook', headers: {} };
  const quick = { url: 'https://quick.example/hook', headers: {} };
  const both = { maxInFlight: 2, webhooks: [slow, quick] };
  const gaps: readonly ((world: SimulatedWorld) => Promise<void>)[] = [
    async (world) => {
      world.pause('crm');
      await world.clock.pass(1_000);
      world.resume('crm');
    },
    async (world) => {
      world.addDestination('crm', { ...both, webhooks: [quick] });
      await world.clock.pass(1_000);
      world.addDestination('crm', both);
    },
  ];
  for (const gap of gaps) {
    const world = new SimulatedWorld();
    world.addDestination('crm', both);
    world.answer = (url) => (url === slow.url ? hangs : answerOk);
    for (let round = 0; round < 3; round += 1) {
      for (const user of ['u1', 'u2']) world.publish('crm', user);
      await world.clock.pass(100);
      await gap(world);
    }
    await world.clock.pass(minuteMs);
    assert.equal(world.mostInFlight.get(slow.url), 2);
  }
});

test('an operator ends the time that an endpoint asked for by pausing and resuming, with one request first', async () => {
  const world = new SimulatedWorld();
  const { url } = world.addDestination('crm').webhooks[0] ?? { url: '' };
  world.answer = () => failsWith(429, 4 * hourMs);
  // Half as many may be in flight afterwards, which would be more than one.
  const before = 8;
  for (let user = 0; user < before; user += 1) world.publish('crm', `before-${user}`);
  await world.clock.pass(1_000);
  world.pause('crm');
  await world.clock.pass(3_000);
  world.mostInFlight.clear();
  world.answer = () => failsWith(429, 10 * minuteMs);
  world.resume('crm');
  for (const user of ['u2', 'u3', 'u4']) world.publish('crm', user);
  await world.clock.pass(9 * minuteMs);
  assert.deepEqual([world.requests.length, world.mostInFlight.get(url)], [before + 1, 1]);
  world.answer = () => answerOk;
  world.pause('crm');
  world.resume('crm');
  const next = world.publish('crm', 'u5');
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, [next]);
});

test('a worker says that a destination is paused, and resumed, although none of its events is due', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  world.publish('crm', 'u1');
  await world.clock.pass(40 * minuteMs);
  const stateOf = (): string | undefined => world.engine.reports.standing('crm')?.state;
  assert.notEqual(stateOf(), 'paused');
  world.pause('crm');
  await world.clock.pass(2_000);
  assert.equal(stateOf(), 'paused');
  world.resume('crm');
  await world.clock.pass(2_000);
  assert.notEqual(stateOf(), 'paused');
});

test('a worker that begins with waiting events of a paused destination says that it is paused', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  world.publish('crm', 'u1');
  await world.clock.pass(12 * minuteMs);
  const [retry] = world.retries.slice(-1);
  assert.ok(retry !== undefined);
  const other = new SimulatedWorld({ clock: world.clock });
  other.addDestination('crm');
  other.paused.add('crm');
  for (const record of world.lose(retry.topic)) other.take(record);
  await world.clock.pass(2_000);
  assert.equal(other.engine.reports.standing('crm')?.state, 'paused');
});

test('a destination that was deleted and comes again is sent to as it is then', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  world.answer = () => ({ ...answerOk, afterMs: 3_000 });
  world.publish('crm', 'u1');
  await world.clock.pass(10);
  world.destinations.delete('crm');
  world.engine.destinationChanged('crm');
  await world.clock.pass(1_500);
  world.addDestination('crm', { webhooks: [{ url: 'https://new.example/hook', headers: {} }] });
  world.publish('crm', 'u2');
  await world.clock.pass(minuteMs);
  assert.equal(world.delivered.length, 2);
  assert.deepEqual(
    world.requests.map(({ url }) => url),
    ['https://crm.example/hook', 'https://new.example/hook'],
  );
});

test('nothing is found out any more about the endpoint of a paused destination', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => hangs;
  for (let n = 0; n < 5; n += 1) world.publish('crm', `u${n}`);
  await world.clock.pass(5_100);
  world.pause('crm');
  await world.clock.pass(minuteMs);
  assert.deepEqual([...world.metrics.breakerChanges], [['open', 1]]);
});
