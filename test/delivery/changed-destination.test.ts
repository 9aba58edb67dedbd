import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { answerOk, failsWith, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

test('a destination is disabled: its events are dead letters at their turn', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  world.publish('crm', 'a');
  world.publish('crm', 'b');
  world.addDestination('crm', { enabled: false });
  world.publish('crm', 'c');
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, ['m1']);
  assert.deepEqual(
    world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
    [
      ['m2', 'destination-disabled'],
      ['m3', 'destination-disabled'],
    ],
  );
});

test('a destination is deleted: likewise, also for those that wait behind another of their user', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  for (let i = 0; i < 5; i++) world.publish('crm', 'same');
  world.destinations.delete('crm');
  world.engine.destinationChanged('crm');
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, ['m1']);
  assert.equal(world.deadLetters.filter((d) => d.reason === 'destination-deleted').length, 4);
  assert.equal(world.finished.length, 5);
});

test('a deleted destination is not said to be disabled while its events wait for another attempt', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  world.publish('crm');
  await world.clock.pass(minuteMs);
  const change = async (): Promise<string | undefined> => {
    world.engine.destinationChanged('crm');
    await world.clock.pass(1_000);
    return world.engine.reports.standing('crm')?.state;
  };
  world.addDestination('crm', { enabled: false });
  assert.equal(await change(), 'disabled');
  world.addDestination('crm');
  world.destinations.delete('crm');
  assert.notEqual(await change(), 'disabled');
});

test('a destination that fails and is deleted has no state any more', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = () => failsWith(503);
  for (let n = 0; n < 5; n++) world.publish('crm', `u${n}`);
  await world.clock.pass(30_000);
  assert.equal(world.engine.reports.standing('crm')?.state, 'failing');
  world.destinations.delete('crm');
  world.engine.destinationChanged('crm');
  await world.clock.pass(hourMs);
  assert.deepEqual([...world.engine.reports.standings()], []);
  assert.deepEqual([...world.engine.reports.ids()], []);
});

const second = {
  uid: 'second',
  webhooks: [{ url: 'https://second.example/', headers: {} }],
};

for (const [what, how, changes] of [
  ['is deleted and its id is used again', 'told', second],
  ['is another one since, and this worker has missed the deletion', 'missed', second],
  ['is the first one again, as far as is known', 'told', { webhooks: second.webhooks }],
] as const)
  test(`a destination ${what}: its events wait for nobody, and the present one gets its own`, async () => {
    const world = new SimulatedWorld();
    const first = changes === second ? {} : { uid: 'former' };
    world.addDestination('crm', first);
    world.answer = (url) => (url.includes('second') ? answerOk : failsWith(503));
    // One alone, and some packed together behind the open breaker.
    for (let n = 0; n < 30; n += 1) world.publish('crm', `u${n}`);
    await world.clock.pass(20_000);
    assert.ok(world.engine.reports.of('crm').waiting.tiers['10s'] !== undefined);
    if (how === 'told') {
      world.destinations.delete('crm');
      world.engine.destinationChanged('crm');
    }
    world.addDestination('crm', changes);
    world.engine.destinationChanged('crm');
    assert.deepEqual(world.engine.reports.of('crm').waiting, { here: 0, tiers: {}, due: {} });
    const own = world.publish('crm');
    await world.clock.pass(hourMs);
    assert.deepEqual(world.delivered, [own]);
    assert.equal(world.requests.filter(({ url }) => url.includes('second')).length, 1);
    const letters = world.deadLetters.map(({ reason, detail }) => ({ reason, detail }));
    assert.equal(letters.length, 30);
    for (const { reason } of letters) assert.equal(reason, 'destination-deleted');
    const since = letters.filter(({ detail }) =>
      detail.includes('another destination has its id since'),
    );
    assert.ok(since.length > 0);
  });

test('an event of an earlier destination is not kept for a paused one, and waits while nobody can read which it is', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', second);
  world.pause('crm');
  const former = world.publish('crm', 'u1', { uid: undefined });
  const own = world.publish('crm', 'u2');
  await world.clock.pass(1_000);
  assert.deepEqual(
    world.kept.map(({ messageId }) => messageId),
    [own],
  );
  assert.deepEqual(
    world.deadLetters.map(({ messageId, detail }) => [messageId, detail]),
    [[former, 'never tried (another destination has its id since)']],
  );
  world.resume('crm');
  world.destinations.delete('crm');
  world.unreadable.add('crm');
  world.engine.destinationChanged('crm');
  const unclear = world.publish('crm', 'u3', { uid: 'third' });
  await world.clock.pass(minuteMs);
  assert.equal(world.deadLetters.length, 1);
  world.unreadable.delete('crm');
  world.addDestination('crm', { ...second, uid: 'third' });
  world.engine.destinationChanged('crm');
  await world.clock.pass(hourMs);
  assert.deepEqual(world.delivered, [unclear]);
});

test('a URL changed between two attempts is used by the next one', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.answer = (url) => (url.includes('new') ? answerOk : failsWith(500));
  world.publish('crm');
  await world.clock.pass(1_000);
  world.addDestination('crm', { webhooks: [{ url: 'https://new.example/', headers: {} }] });
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, ['m1']);
});

test('a larger maxInFlight holds at once, for what waits already', () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  for (let i = 0; i < 10; i++) world.publish('crm', `u${i}`);
  world.addDestination('crm', { maxInFlight: 4 });
  assert.equal(world.engine.state().inFlight, 4);
});

test('an event that is ahead of the configuration waits for it', async () => {
  const world = new SimulatedWorld();
  world.publish('new', 'u', { configOffset: 7 });
  await world.clock.pass(3_000);
  assert.deepEqual(world.deadLetters, []);
  world.addDestination('new');
  world.configOffset = 7;
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, ['m1']);
});

test('a worker looks for a newer configuration only while an event waits for it', async (t) => {
  const world = new SimulatedWorld();
  const id = world.publish('new', 'u', { configOffset: 7 });
  await world.clock.pass(1_000);
  world.addDestination('new');
  world.configOffset = 7;
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, [id]);
  const after = t.mock.method(world.clock, 'after');
  await world.clock.pass(minuteMs);
  // What there is once a second.
  assert.equal(after.mock.callCount(), 60);
});

test('an event that is ahead of the configuration waits for as long as that may be an old one', async () => {
  const world = new SimulatedWorld();
  world.configFresh = false;
  world.publish('new', 'u', { configOffset: 7 });
  await world.clock.pass(hourMs);
  assert.deepEqual(world.deadLetters, []);
  world.addDestination('new');
  world.configOffset = 7;
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, ['m1']);
});

test('an event ahead of a configuration that was made anew does not wait for ever', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.publish('crm', 'u', { configOffset: 1_000 });
  await world.clock.pass(minuteMs);
  assert.deepEqual(world.delivered, ['m1']);
});

test('an event of an unknown destination is a dead letter', async () => {
  const world = new SimulatedWorld();
  world.publish('gone');
  await world.clock.pass(1_000);
  assert.equal(world.deadLetters[0]?.reason, 'destination-deleted');
});

describe('events of a destination that cannot be read here', () => {
  let world: SimulatedWorld;
  beforeEach(() => {
    world = new SimulatedWorld();
    world.unreadable.add('crm');
  });
  const readAgain = (): void => {
    world.unreadable.delete('crm');
    world.addDestination('crm');
  };

  test('do not stand in the way of others, and are delivered once it can be read', async () => {
    const id = world.publish('crm');
    await world.clock.pass(1_000);
    assert.deepEqual(world.finished, [id]);
    assert.equal(world.metrics.deferrals.get('unreadable'), 1);
    assert.deepEqual(
      world.retries.map(({ envelope }) => [envelope.attempts, envelope.deadlineMs]),
      [[0, undefined]],
    );
    await world.clock.pass(8 * hourMs);
    readAgain();
    await world.clock.pass(20 * minuteMs);
    assert.deepEqual(world.delivered, [id]);
    assert.deepEqual(world.deadLetters, []);
  });

  test('are put off together, and ever more rarely', async () => {
    for (let i = 0; i < 200; i++) world.publish('crm', `u${i}`);
    await world.clock.pass(hourMs);
    assert.ok(world.retryRecords < 30, `${world.retryRecords} records written`);
    readAgain();
    await world.clock.pass(20 * minuteMs);
    assert.equal(world.delivered.length, 200);
  });

  test('go on with what was known of it, where they wait already', async () => {
    world.addDestination('crm', { maxInFlight: 1 });
    const ids = Array.from({ length: 5 }, (_, i) => world.publish('crm', `u${i}`));
    world.destinations.delete('crm');
    world.engine.destinationChanged('crm');
    await world.clock.pass(1_000);
    assert.deepEqual(world.delivered, ids);
    assert.deepEqual(world.deadLetters, []);
  });

  test('are given up in time when their retry window ends', async () => {
    const deadlineMs = world.clock.now() + 90_000;
    world.publish('crm', 'u', { attempts: 1, deadlineMs });
    await world.clock.pass(90_000);
    assert.deepEqual(
      world.deadLetters.map(({ reason, attempts }) => [reason, attempts]),
      [['expired-late', 1]],
    );
  });

  test('wait where they are in a dedicated topic, and while the configuration may be an old one', async () => {
    const dedicated = world.publish('crm', 'u', {}, world.topology.dedicatedTopic('crm').name);
    world.configFresh = false;
    const shared = world.publish('crm', 'v');
    await world.clock.pass(minuteMs);
    assert.equal(world.atRetry, 0);
    readAgain();
    await world.clock.pass(1_000);
    assert.deepEqual(world.delivered, [dedicated, shared]);
  });
});

test('an event that is ahead of the configuration waits for it where the clock is set forward', async () => {
  const world = new SimulatedWorld();
  const id = world.publish('new', 'u', { configOffset: 7 });
  await world.clock.pass(1_000);
  world.clock.set(hourMs);
  await world.clock.pass(1_000);
  assert.deepEqual(world.deadLetters, []);
  world.addDestination('new');
  world.configOffset = 7;
  await world.clock.pass(1_000);
  assert.deepEqual(world.delivered, [id]);
});

test('an event ahead of a configuration that was made anew waits no longer where the clock is set back', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  const id = world.publish('crm', 'u', { configOffset: 1_000 });
  await world.clock.pass(1_000);
  world.clock.set(-hourMs);
  await world.clock.pass(11_000);
  assert.deepEqual(world.delivered, [id]);
});

test('what comes behind an event that waits for the configuration does not overtake it', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  world.addDestination('other');
  const current = world.configOffset;
  const ahead = { configOffset: current + 1 };
  const ids = [
    world.publish('crm', 'a', ahead),
    world.publish('crm', 'a'),
    world.publish('crm', 'b'),
  ];
  const other = world.publish('other', 'a');
  await world.clock.pass(25);
  assert.deepEqual(world.delivered, [other]);
  world.configOffset += 1;
  ids.push(world.publish('crm', 'a', ahead));
  await world.clock.pass(200);
  const ofOneUser = [ids[0], ids[1], ids[3]];
  assert.deepEqual(
    world.delivered.filter((id) => ofOneUser.includes(id)),
    ofOneUser,
  );
  assert.equal(world.delivered.length, 5);
});

test('of a configuration that was made anew, all events wait at the same time', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  for (let n = 0; n < 50; n++) world.publish('crm', 'u', { configOffset: 1_000 + n });
  await world.clock.pass(9_000);
  assert.equal(world.delivered.length, 0);
  await world.clock.pass(3_000);
  assert.equal(world.delivered.length, 50);
});

test('a worker says of a destination that it cannot read it, as soon as an event waits for that', async () => {
  const world = new SimulatedWorld();
  world.unreadable.add('crm');
  world.publish('crm');
  await world.clock.pass(2_000);
  assert.equal(world.engine.reports.standing('crm')?.state, 'unreadable');
});
