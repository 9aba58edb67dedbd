import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import type { Outcome } from '../../src/delivery/outcome.ts';
import { delivered, silentOnKeptConnection, timedOut } from '../../src/delivery/outcome.ts';
import { providerOf } from '../../src/delivery/provider.ts';
import { looksCutOff, Reachability, type Providers } from '../../src/delivery/reachability.ts';
import { partitionOf } from '../../src/kafka/produce/partitioner.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { answerOk, failsWith, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

const unreached: Outcome = {
  kind: 'retryable',
  cause: 'dns',
  detail: 'ENOTFOUND',
  unreached: true,
};

function watch(): { clock: SimulatedClock; reachability: Reachability; told: string[] } {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const reachability = new Reachability({
    clock,
    onCutOff: (providers) => told.push(`cut off from ${providers}`),
    onReached: (afterMs) => told.push(`reached after ${afterMs} ms`),
  });
  return { clock, reachability, told };
}

/** All have events that wait. */
function providers(names: readonly string[]): Providers {
  return {
    used: () => new Set(names),
    waitingFor: () => new Map(names.map((name) => [name, [name]])),
  };
}

function judgeMany(reachability: Reachability, outcome: Outcome, from: number, to: number): void {
  for (let n = from; n < to; n++) reachability.judge(`provider-${n}`, outcome);
}

describe('a worker is cut off', () => {
  test('when at least eight providers cannot be reached, and at most one in twenty is', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(200), (away, there) => {
        assert.equal(looksCutOff(away, there), away >= 8 && there * 19 <= away);
      }),
    );
  });

  test('from the outcome on that shows it, which counts as none of the endpoint already', () => {
    const { reachability, told } = watch();
    judgeMany(reachability, unreached, 0, 7);
    assert.deepEqual([reachability.isCutOff, told], [false, []]);
    const eighth = reachability.judge('provider-7', unreached);
    assert.equal(eighth.kind === 'retryable' && eighth.cause, 'cut-off');
    assert.deepEqual([reachability.isCutOff, told], [true, ['cut off from 8']]);
  });

  test('not by one provider again and again, nor by failures that are seconds apart', async () => {
    const { clock, reachability } = watch();
    for (let n = 0; n < 100; n++) reachability.judge('provider', unreached);
    for (let n = 0; n < 20; n++) {
      reachability.judge(`provider-${n}`, unreached);
      await clock.pass(1_000);
      reachability.tick(providers([]));
    }
    assert.equal(reachability.isCutOff, false);
  });

  test('not by endpoints that hang or fail once they were reached', () => {
    const { reachability } = watch();
    judgeMany(reachability, timedOut, 0, 100);
    judgeMany(reachability, silentOnKeptConnection, 100, 200);
    assert.equal(reachability.isCutOff, false);
  });
});

describe('while a worker is cut off', () => {
  test('requests on kept connections that get no answer are no sign that it ends, and no attempts', () => {
    const { reachability, told } = watch();
    judgeMany(reachability, unreached, 0, 40);
    for (let n = 40; n < 100; n++) {
      const judged = reachability.judge(`provider-${n}`, silentOnKeptConnection);
      assert.equal(judged.kind === 'retryable' && judged.cause, 'cut-off');
    }
    assert.deepEqual([reachability.isCutOff, told], [true, ['cut off from 8']]);
  });

  test('who was reached in it, and hangs now, is an endpoint that hangs', () => {
    const { reachability } = watch();
    judgeMany(reachability, unreached, 0, 100);
    reachability.judge('provider-7', delivered);
    assert.ok(reachability.isCutOff);
    assert.equal(reachability.judge('provider-7', silentOnKeptConnection), silentOnKeptConnection);
  });

  test('three providers at a time may be tried once, in turn, and whoever was reached', () => {
    const { reachability } = watch();
    judgeMany(reachability, unreached, 0, 40);
    const names = Array.from({ length: 40 }, (_, n) => `provider-${n}`);
    const tried = new Set<string>();
    for (let second = 0; second < 14; second++) {
      reachability.tick(providers(names));
      const chosen = names.filter((name) => reachability.mayTry(name));
      assert.ok(chosen.length <= 3);
      for (const name of chosen) {
        tried.add(name);
        reachability.tried(name);
        assert.equal(reachability.mayTry(name), false);
      }
    }
    assert.equal(tried.size, 40);
    reachability.judge('provider-5', delivered);
    reachability.tried('provider-5');
    assert.deepEqual([reachability.isCutOff, reachability.mayTry('provider-5')], [true, true]);
  });

  test('it ends when more than one in twenty was reached, and the time is known', async () => {
    const { clock, reachability, told } = watch();
    judgeMany(reachability, unreached, 0, 40);
    const fromMs = clock.now();
    await clock.pass(60_000);
    assert.equal(reachability.cutOffMs(fromMs - 1_000), 60_000);
    judgeMany(reachability, delivered, 0, 3);
    assert.equal(reachability.isCutOff, false);
    assert.equal(told.at(-1), 'reached after 60000 ms');
    await clock.pass(60_000);
    assert.equal(reachability.cutOffMs(fromMs + 20_000), 40_000);
    assert.equal(reachability.cutOffMs(clock.now()), 0);
  });
});

test('a worker that is cut off tries providers for which events wait, and no others in their place', async () => {
  const world = new SimulatedWorld();
  const publishTo = (name: string, count: number): void => {
    for (let n = 0; n < count; n++) world.addDestination(`${name}-${n}`);
    for (let n = 0; n < count; n++) world.publish(`${name}-${n}`);
  };
  world.answer = () => failsWith(503);
  publishTo('failed', 40);
  await world.clock.pass(100);
  world.answer = () => ({ outcome: unreached, afterMs: 2 });
  publishTo('away', 8);
  await world.clock.pass(100);
  assert.equal(world.engine.state().isCutOff, true);
  world.answer = () => answerOk;
  await world.clock.pass(2_000);
  assert.deepEqual([world.engine.state().isCutOff, world.delivered.length], [false, 1]);
});

test('a user whose partition goes while his event is on its way to nobody goes on when it is back', async () => {
  const world = new SimulatedWorld();
  const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
  for (const id of ['crm', ...others]) world.addDestination(id);
  world.answer = (url) => ({ outcome: unreached, afterMs: url.includes('crm') ? 1_000 : 2 });
  for (const id of ['crm', ...others]) world.publish(id, 'u');
  await world.clock.pass(100);
  assert.equal(world.engine.state().isCutOff, true);
  world.revoke('delivery');
  await world.clock.pass(2_000);
  assert.equal(world.inWork('delivery'), 0);
  world.answer = () => answerOk;
  for (const record of world.lose('delivery')) world.take(record);
  const next = world.publish('crm', 'u');
  await world.clock.pass(minuteMs);
  assert.ok(world.delivered.includes(next));
  assert.equal(world.inWork('delivery'), 0);
});

const offAndOn: Readonly<Record<string, readonly ((world: SimulatedWorld) => void)[]>> = {
  'paused and resumed': [
    (world) => {
      world.pause('crm');
    },
    (world) => {
      world.resume('crm');
    },
  ],
  'disabled and enabled': [
    (world) => world.addDestination('crm', { enabled: false }),
    (world) => world.addDestination('crm'),
  ],
};

for (const [name, changes] of Object.entries(offAndOn))
  test(`what was on its way to nobody while its destination was ${name} is sent`, async () => {
    const world = new SimulatedWorld();
    const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
    for (const id of ['crm', ...others]) world.addDestination(id);
    world.answer = (url) => ({ outcome: unreached, afterMs: url.includes('crm') ? 1_000 : 2 });
    const ids = ['crm', ...others].map((id) => world.publish(id, 'u'));
    for (const change of changes) {
      await world.clock.pass(100);
      change(world);
    }
    await world.clock.pass(2_000);
    world.answer = () => answerOk;
    await world.clock.pass(minuteMs);
    assert.deepEqual([world.kept, world.deadLetters], [[], []]);
    assert.deepEqual(world.delivered.toSorted(), ids.toSorted());
  });

describe('what comes back without an attempt is put off', () => {
  const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);

  test('where the endpoint has asked for time meanwhile', async () => {
    const world = new SimulatedWorld();
    for (const id of ['crm', ...others]) world.addDestination(id);
    const answers = [{ ...failsWith(503, 3 * hourMs), afterMs: 1 }];
    world.answer = (url) =>
      url.includes('crm')
        ? (answers.shift() ?? { outcome: unreached, afterMs: 1_000 })
        : { outcome: unreached, afterMs: 5 };
    for (const user of ['a', 'b']) world.publish('crm', user);
    for (const id of others) world.publish(id, 'u');
    await world.clock.pass(2_000);
    world.answer = () => answerOk;
    await world.clock.pass(minuteMs);
    assert.equal(world.inWork('delivery'), 0);
  });

  test('where another worker has its rate limit now', async () => {
    const world = new SimulatedWorld({ partitions: 2 });
    for (const id of ['crm', ...others]) world.addDestination(id);
    const home = partitionOf('crm', 2);
    world.engine.sharesChanged({ indexes: new Set([1 - home]), count: 2 });
    world.answer = (url) => ({ outcome: unreached, afterMs: url.includes('crm') ? 1_000 : 5 });
    for (const id of ['crm', ...others]) world.publish(id, 'u');
    await world.clock.pass(500);
    world.addDestination('crm', { rateLimit: 10 });
    await world.clock.pass(2_000);
    world.answer = () => answerOk;
    await world.clock.pass(minuteMs);
    assert.equal(world.inWork('delivery', 0) + world.inWork('delivery', 1), 0);
  });
});

test('who fails together is one provider', () => {
  const together = [
    ['a.hooks.example.com', 'b.example.com', 'example.com'],
    ['192.0.2.7', '192.0.2.200'],
    ['[2001:db8:1::1]', '[2001:db8:1:2::1]', '2001:0db8:0001:ffff::'],
    ['localhost'],
  ];
  const providers = together.map((hosts) => new Set(hosts.map(providerOf)));
  assert.deepEqual(
    providers.map(({ size }) => size),
    [1, 1, 1, 1],
  );
  assert.equal(new Set(providers.flatMap((names) => [...names])).size, 4);
});
