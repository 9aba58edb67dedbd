import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import type { Outcome } from '../../src/delivery/outcome.ts';
import {
  delivered,
  proxySilent,
  silentOnKeptConnection,
  timedOut,
} from '../../src/delivery/outcome.ts';
import { providerOf } from '../../src/delivery/prepared-destination.ts';
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

interface Watched {
  readonly clock: SimulatedClock;
  readonly reachability: Reachability;
  readonly told: string[];
  /** A request to the provider that ends now. */
  readonly judge: (provider: string, outcome: Outcome, tookMs?: number) => Outcome;
  /** One to each of the providers of these numbers. */
  readonly judgeMany: (outcome: Outcome, from: number, to: number, tookMs?: number) => void;
}

/** @param known so many providers were reached just before */
function watch(known = 100): Watched {
  const clock = new SimulatedClock();
  const told: string[] = [];
  const reachability = new Reachability({
    clock,
    onCutOff: (count) => told.push(`cut off from ${count}`),
    onReached: (afterMs) => told.push(`reached after ${afterMs} ms`),
  });
  const judge: Watched['judge'] = (provider, outcome, tookMs = 0) =>
    reachability.judge(provider, outcome, clock.steadyNow() - tookMs);
  const judgeMany: Watched['judgeMany'] = (outcome, from, to, tookMs) => {
    for (let n = from; n < to; n++) judge(`provider-${n}`, outcome, tookMs);
  };
  judgeMany(delivered, 0, known);
  return { clock, reachability, told, judge, judgeMany };
}

/** All have events that wait. */
function providers(names: readonly string[]): Providers {
  return { used: () => new Set(names), waitingFor: () => new Set(names) };
}

function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, n) => `provider-${from + n}`);
}

function isCutOff(outcome: Outcome): boolean {
  return outcome.kind === 'retryable' && outcome.cause === 'cut-off';
}

describe('a worker whose proxy fails', () => {
  test('is cut off at once, however few providers it has, until something gets through again', async () => {
    const { clock, reachability, told, judge } = watch(2);
    await clock.pass(10);
    assert.equal(judge('provider-0', proxySilent), proxySilent);
    assert.deepEqual([reachability.isCutOff, told], [true, ['cut off from 1']]);
    await clock.pass(5_000);
    judge('provider-0', delivered, 5_005);
    assert.equal(reachability.isCutOff, true);
    judge('provider-0', proxySilent);
    await clock.pass(1_000);
    reachability.tick(providers(numbered(0, 2)));
    assert.ok(reachability.isProbed('provider-0') && !reachability.isUnreached('provider-1'));
    judge('provider-1', delivered);
    assert.equal(reachability.isCutOff, true);
    judge('provider-0', delivered, 100);
    assert.deepEqual(told, ['cut off from 1', 'reached after 6000 ms']);
  });

  test('is connected again when the proxy does not reach an endpoint, whose own failure that is', async () => {
    const { clock, reachability, judge } = watch(2);
    judge('provider-0', proxySilent);
    await clock.pass(1_000);
    assert.equal(judge('provider-0', unreached, 100), unreached);
    assert.equal(reachability.isCutOff, false);
  });

  test('does not wait for a provider that nobody sends to any more', async () => {
    const { clock, reachability, judge } = watch(2);
    judge('provider-0', proxySilent);
    await clock.pass(1_000);
    reachability.tick(providers(['provider-1']));
    assert.equal(reachability.isCutOff, false);
  });
});

describe('a worker is cut off', () => {
  test('when at least eight providers are lost, and at most one in twenty is reached', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(200), (lost, reached) => {
        assert.equal(looksCutOff(lost, reached), lost >= 8 && reached * 19 <= lost);
      }),
    );
  });

  test('from the outcome on that shows it, which counts as none of the endpoint already', async () => {
    const { clock, reachability, told, judge, judgeMany } = watch();
    await clock.pass(10);
    judgeMany(unreached, 0, 7);
    assert.deepEqual([reachability.isCutOff, told], [false, []]);
    assert.ok(isCutOff(judge('provider-7', unreached)));
    assert.deepEqual([reachability.isCutOff, told], [true, ['cut off from 8']]);
  });

  test('not by providers that were never reached, or not for an hour', async () => {
    const { clock, reachability, judgeMany } = watch();
    await clock.pass(10);
    judgeMany(unreached, 100, 1_000);
    assert.equal(reachability.isCutOff, false);
    await clock.pass(hourMs);
    for (const silence of [0, 2 * minuteMs]) {
      await clock.pass(silence);
      reachability.tick(providers([]));
    }
    judgeMany(unreached, 0, 100);
    assert.equal(reachability.isCutOff, false);
  });

  test('if it has reached nobody since its start, once others had the time to answer', async () => {
    const { clock, reachability, judge, judgeMany } = watch(0);
    for (let second = 0; second < 5; second++) {
      judgeMany(unreached, 0, 40);
      await clock.pass(1_000);
      reachability.tick(providers([]));
      assert.equal(reachability.isCutOff, second === 4);
    }
    judge('provider-100', delivered);
    assert.equal(reachability.isCutOff, false);
  });

  test('not by one provider again and again, nor by failures that are seconds apart', async () => {
    const { clock, reachability, judge } = watch();
    await clock.pass(10);
    for (let n = 0; n < 100; n++) judge('provider-0', unreached);
    for (let n = 0; n < 20; n++) {
      judge(`provider-${n}`, unreached);
      await clock.pass(1_000);
      reachability.tick(providers([]));
    }
    assert.equal(reachability.isCutOff, false);
  });

  test('by providers that are lost one after the other, once hardly any is left', async () => {
    const { clock, reachability, judgeMany } = watch(40);
    for (let lost = 0; lost < 40; lost++) {
      await clock.pass(1_000);
      judgeMany(delivered, lost, 40);
      judgeMany(unreached, 0, lost);
      reachability.tick(providers(numbered(0, 40)));
      assert.equal(reachability.isCutOff, lost >= 38);
    }
  });

  test('not by endpoints that hang or fail once they were reached', async () => {
    const { clock, reachability, judgeMany } = watch(200);
    await clock.pass(10);
    judgeMany(timedOut, 0, 100);
    judgeMany(silentOnKeptConnection, 100, 200);
    assert.equal(reachability.isCutOff, false);
  });

  test('not by time-outs of requests after whose beginning another provider was reached', async () => {
    const { clock, reachability, judge, judgeMany } = watch();
    await clock.pass(1_000);
    judge('platform', delivered);
    await clock.pass(4_000);
    judgeMany(unreached, 0, 10, 5_000);
    assert.equal(reachability.isCutOff, false);
  });
});

describe('while a worker is cut off', () => {
  async function cutOffFrom(count: number): Promise<Watched> {
    const watched = watch();
    await watched.clock.pass(10);
    watched.judgeMany(unreached, 0, count);
    assert.ok(watched.reachability.isCutOff);
    return watched;
  }

  test('requests on kept connections that get no answer are no sign that it ends, and no attempts', async () => {
    const { reachability, told, judge } = await cutOffFrom(40);
    for (const name of numbered(40, 100)) assert.ok(isCutOff(judge(name, silentOnKeptConnection)));
    assert.deepEqual([reachability.isCutOff, told], [true, ['cut off from 8']]);
  });

  test('who was reached in it, and hangs now, is an endpoint that hangs', async () => {
    const { reachability, judge } = await cutOffFrom(100);
    judge('provider-7', delivered);
    assert.ok(reachability.isCutOff);
    assert.equal(judge('provider-7', silentOnKeptConnection), silentOnKeptConnection);
  });

  test('all others may be tried, and those that are not reached either are no attempts', async () => {
    const { reachability, judge } = await cutOffFrom(40);
    assert.ok(!reachability.isUnreached('dead') && !reachability.isUnreached('provider-50'));
    assert.ok(isCutOff(judge('dead', unreached)));
    assert.ok(reachability.isUnreached('dead'));
  });

  test('three unreached providers at a time may be tried once, in turn, and more once some are reached', async () => {
    const { reachability, judge } = await cutOffFrom(40);
    const names = numbered(0, 40);
    const tried = new Set<string>();
    for (let second = 0; second < 14; second++) {
      reachability.tick(providers(names));
      const probed = names.filter((name) => reachability.isProbed(name));
      assert.equal(probed.length, 3);
      for (const name of probed) {
        tried.add(name);
        reachability.tried(name);
        assert.ok(!reachability.isProbed(name));
      }
    }
    assert.equal(tried.size, 40);
    judge('provider-5', delivered);
    reachability.tick(providers(names));
    assert.deepEqual(
      [reachability.isCutOff, reachability.isUnreached('provider-5')],
      [true, false],
    );
    assert.equal(names.filter((name) => reachability.isProbed(name)).length, 4);
  });

  test('it ends when more than one in twenty was reached, and the time is known', async () => {
    const { clock, reachability, told, judgeMany } = await cutOffFrom(40);
    const fromMs = clock.now();
    await clock.pass(60_000);
    assert.equal(reachability.cutOffMs(fromMs - 1_000), 60_000);
    judgeMany(delivered, 0, 3);
    assert.equal(reachability.isCutOff, false);
    assert.equal(told.at(-1), 'reached after 60000 ms');
    await clock.pass(60_000);
    assert.equal(reachability.cutOffMs(fromMs + 20_000), 40_000);
    assert.equal(reachability.cutOffMs(clock.now()), 0);
    // Those that are not reached after it are endpoints that are away.
    judgeMany(unreached, 3, 40);
    assert.equal(reachability.isCutOff, false);
  });

  for (const someone of [true, false])
    test(`for hours, it ${someone ? 'ends where others were' : 'lasts where nobody else was'} reached`, async () => {
      const { clock, reachability, judge, judgeMany } = await cutOffFrom(40);
      const names = numbered(0, 40);
      for (let minute = 0; minute < 62; minute++) {
        if (someone) judge('inside', delivered);
        judgeMany(unreached, 0, 40);
        await clock.pass(minuteMs);
        reachability.tick(providers(names));
        if (minute < 59) assert.ok(reachability.isCutOff);
      }
      assert.equal(reachability.isCutOff, !someone);
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
  world.answer = () => answerOk;
  publishTo('away', 8);
  await world.clock.pass(100);
  world.answer = () => ({ outcome: unreached, afterMs: 2 });
  for (let n = 0; n < 8; n++) world.publish(`away-${n}`);
  await world.clock.pass(100);
  assert.equal(world.engine.state().isCutOff, true);
  world.answer = () => answerOk;
  await world.clock.pass(2_000);
  assert.deepEqual([world.engine.state().isCutOff, world.delivered.length], [false, 8 + 1]);
});

test('a user whose partition goes while his event is on its way to nobody goes on when it is back', async () => {
  const world = new SimulatedWorld();
  const others = Array.from({ length: 12 }, (_, n) => `other-${n}`);
  await reachedAll(world, ['crm', ...others]);
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

/** Each of these destinations has answered. */
async function reachedAll(world: SimulatedWorld, ids: readonly string[]): Promise<void> {
  for (const id of ids) world.addDestination(id);
  for (const id of ids) world.publish(id, 'first');
  await world.clock.pass(minuteMs);
  world.delivered.length = 0;
}

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
    await reachedAll(world, ['crm', ...others]);
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
    await reachedAll(world, ['crm', ...others]);
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
    await reachedAll(world, ['crm', ...others]);
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
    ['a.shop.com.br', 'shop.com.br'],
    ['bakery.com.br'],
    ['shop.azurewebsites.net', 'a.shop.azurewebsites.net'],
    ['bakery.azurewebsites.net'],
    ['xn--bcher-kva.co.uk', 'a.xn--bcher-kva.co.uk'],
    ['hooks.customers.svc.cluster.local', 'api.ours.svc.cluster.local'],
    ['192.0.2.7', '192.0.2.200'],
    ['[2001:db8:1::1]', '[2001:db8:1:2::1]', '2001:0db8:0001:ffff::'],
    ['localhost'],
  ];
  const providers = together.map((hosts) => new Set(hosts.map(providerOf)));
  for (const names of providers) assert.equal(names.size, 1);
  assert.equal(new Set(providers.flatMap((names) => [...names])).size, together.length);
});
