import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answerOk, failsWith, hourMs, minuteMs } from '../delivery/simulated-world.ts';
import type { Answer } from '../delivery/simulated-world.ts';
import { silentOnKeptConnection, unreachedInTime } from '../../src/delivery/outcome.ts';
import { Scene } from './scene.ts';
import type { Traffic } from './scene.ts';

const refused: Answer = {
  outcome: { kind: 'retryable', cause: 'connection', detail: 'ECONNREFUSED', unreached: true },
  afterMs: 2,
};
const ok: Answer = { ...answerOk, afterMs: 20 };

/** Each at a provider of its own, or all at one. */
function endpoints(scene: Scene, count: number, name: string, provider?: string): Traffic[] {
  return Array.from({ length: count }, (_, n) => {
    const destination = `${name}-${n}`;
    const url = `https://${destination}.${provider ?? `${destination}-host`}.example/hook`;
    scene.world.addDestination(destination, { webhooks: [{ url, headers: {} }] });
    return { destination, perSecond: 5, users: 50 };
  });
}

function cutOffLabel({ world }: Scene): number {
  return world.metrics.requests.get('cut-off') ?? 0;
}

/** At the end of an outage: an event whose four hours were over within it waits for `crm-0`. */
async function lateAfterOutage(outageMs: number): Promise<{ world: Scene['world']; id: string }> {
  const scene = new Scene();
  const { world } = scene;
  const traffic = endpoints(scene, 40, 'crm');
  world.answer = () => ok;
  await scene.run(2_000, traffic);
  const seldom = traffic.map((each) => ({ ...each, perSecond: 0.2 }));
  const late = { attempts: 3, dueMs: world.clock.now(), deadlineMs: world.clock.now() + 60_000 };
  world.answer = () => refused;
  await scene.run(2_000, traffic);
  const id = world.publish('crm-0', 'late', late, 'retry.10s');
  await scene.run(outageMs, seldom);
  return { world, id };
}

describe('while nobody can be reached from here', () => {
  test('nothing is spent, and afterwards what windows hold goes out in its order, and not at once', async () => {
    const scene = new Scene({ partitions: 12 });
    const { world } = scene;
    const traffic = endpoints(scene, 40, 'crm');
    world.answer = () => ok;
    await scene.run(10_000, traffic);
    world.answer = () => refused;
    const fromMs = world.clock.now();
    await scene.run(20_000, traffic);
    assert.ok(world.engine.state().isCutOff);
    const told = traffic.map(({ destination: id }) => world.engine.reports.standing(id)?.state);
    assert.deepEqual(new Set(told), new Set([undefined]));
    const attempts = world.metrics.requests.get('connection') ?? 0;
    assert.ok(attempts < 60, `${attempts} attempts were counted before it was recognised`);
    const tries = world.requests.filter(({ atMs }) => atMs >= fromMs).length - attempts;
    assert.ok(tries <= 3 * 20 + 100, `${tries} requests to whom nobody can reach`);
    world.answer = () => ok;
    const backMs = world.clock.now();
    await scene.run(minuteMs, traffic);
    assert.equal(world.engine.state().isCutOff, false);
    const atOnce = [...world.mostInFlight.values()].reduce((sum, most) => sum + most, 0);
    assert.ok(atOnce < 40 * 64);
    const firstSecond = world.requests.filter(
      ({ atMs }) => atMs >= backMs && atMs < backMs + 1_000,
    );
    assert.ok(firstSecond.length <= 1_000, `${firstSecond.length} requests in the first second`);
    await world.clock.pass(10 * minuteMs);
    assert.deepEqual([world.deadLetters, scene.deferrals()], [[], 0]);
    assert.equal(new Set(world.delivered).size, scene.published);
    // Those whose attempts were counted came back later.
    assert.ok(scene.inversions() <= attempts * 10, `${scene.inversions()} inversions`);
  });

  test('its events take half of the windows, and the rest is put off for few writes and no attempts', async () => {
    const scene = new Scene({ partitions: 1 });
    const { world } = scene;
    const traffic = endpoints(scene, 40, 'crm');
    world.answer = () => ok;
    await scene.run(10_000, traffic);
    world.answer = () => refused;
    await scene.run(minuteMs, traffic);
    const attempts = world.metrics.requests.get('connection') ?? 0;
    assert.ok(attempts < 60, `${attempts} attempts`);
    const fullness = world.claim('delivery').fullness();
    assert.ok(fullness > 0.4 && fullness < 0.6, `${fullness} of the window`);
    const writes = world.retries.length / scene.published;
    assert.ok(writes <= 3, `${writes} writes to retry topics an event`);
    world.answer = () => ok;
    await world.clock.pass(10 * minuteMs);
    assert.deepEqual(world.deadLetters, []);
    assert.equal(new Set(world.delivered).size, scene.published);
  });

  test('all slots are used again soon after', async () => {
    const scene = new Scene({ partitions: 12 });
    const { world } = scene;
    const traffic = endpoints(scene, 40, 'crm');
    world.answer = () => ok;
    await scene.run(2_000, traffic);
    world.answer = () => refused;
    await scene.run(10_000, traffic);
    assert.ok(world.engine.state().isCutOff);
    world.answer = () => ({ ...ok, afterMs: 500 });
    await scene.run(30_000, traffic);
    // 40 destinations with 5 events a second each need 100.
    assert.ok(world.mostInFlightAtAll >= 100, `${world.mostInFlightAtAll} at a time`);
  });

  test('the time is not taken from the four hours, even where the attempt after it fails once more', async () => {
    const { world, id } = await lateAfterOutage(3 * minuteMs);
    world.answer = (_url, { messageId }) => (messageId === id ? failsWith(503) : ok);
    await world.clock.pass(20_000);
    world.answer = () => ok;
    await world.clock.pass(10 * minuteMs);
    assert.deepEqual(world.deadLetters, []);
    assert.ok(world.delivered.includes(id));
  });

  test('an event that was on its way to a destination that is deleted meanwhile is given up', async () => {
    const scene = new Scene();
    const { world } = scene;
    const traffic = endpoints(scene, 40, 'crm');
    world.addDestination('slow', { webhooks: [{ url: 'https://slow.slow.example', headers: {} }] });
    world.answer = () => ok;
    world.publish('slow');
    await scene.run(2_000, traffic);
    world.answer = (url) => ({ ...refused, afterMs: url.includes('slow') ? 4_000 : 2 });
    const id = world.publish('slow');
    await scene.run(2_000, traffic);
    assert.ok(world.engine.state().isCutOff);
    world.destinations.delete('slow');
    world.engine.destinationChanged('slow');
    await world.clock.pass(5_000);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
      [[id, 'destination-deleted']],
    );
  });

  test('destinations with a second URL at another provider are found out about as well', async () => {
    const scene = new Scene();
    const { world } = scene;
    const traffic = Array.from({ length: 40 }, (_, n) => {
      const webhooks = ['first', 'second'].map((which) => ({
        url: `https://crm-${n}.${which}-${n}.example/hook`,
        headers: {},
      }));
      world.addDestination(`crm-${n}`, { webhooks });
      return { destination: `crm-${n}`, perSecond: 5, users: 50 };
    });
    world.answer = () => ok;
    await scene.run(5_000, traffic);
    world.answer = () => refused;
    await scene.run(10_000, traffic);
    assert.ok(world.engine.state().isCutOff);
    world.answer = () => ok;
    await scene.run(minuteMs, traffic);
    assert.equal(world.engine.state().isCutOff, false);
    await world.clock.pass(10 * minuteMs);
    assert.equal(new Set(world.delivered).size, scene.published);
  });

  test('it is over for those that are left, whoever is deleted meanwhile', async () => {
    const scene = new Scene();
    const { world } = scene;
    const [gone, left] = [endpoints(scene, 100, 'gone'), endpoints(scene, 3, 'left')];
    world.answer = () => ok;
    await scene.run(5_000, [...gone, ...left]);
    world.answer = () => refused;
    await scene.run(10_000, [...gone, ...left]);
    assert.ok(world.engine.state().isCutOff);
    for (const { destination } of gone) {
      world.destinations.delete(destination);
      world.engine.destinationChanged(destination);
    }
    world.answer = () => ok;
    await scene.run(minuteMs, left);
    assert.equal(world.engine.state().isCutOff, false);
  });

  test('it is over although one on our side of it always has work, and all others were slow in it', async () => {
    const scene = new Scene();
    const { world } = scene;
    const perSecond = 1;
    const traffic = [...endpoints(scene, 40, 'out'), ...endpoints(scene, 1, 'inside')].map(
      (each) => ({ ...each, perSecond }),
    );
    world.answer = () => ok;
    await scene.run(5_000, traffic);
    // What is sent by a kept connection gets no answer, and then none can be opened.
    const silent = new Set<string>();
    world.answer = (url) => {
      if (url.includes('inside')) return ok;
      const outcome = silent.has(url) ? unreachedInTime : silentOnKeptConnection;
      silent.add(url);
      return { outcome, afterMs: 5_000 };
    };
    await scene.run(20_000, traffic);
    assert.ok(world.engine.state().isCutOff);
    world.answer = () => ok;
    await scene.run(10_000, traffic);
    assert.equal(world.engine.state().isCutOff, false);
  });

  test('events of a destination that is deleted, or of a partition that goes, are let go of', async () => {
    const scene = new Scene({ partitions: 1 });
    const { world } = scene;
    const traffic = endpoints(scene, 40, 'crm');
    world.answer = () => ok;
    await scene.run(3_000, traffic);
    world.answer = () => ({ ...refused, afterMs: 500 });
    await scene.run(3_000, traffic);
    assert.ok(world.engine.state().isCutOff);
    world.destinations.delete('crm-0');
    world.engine.destinationChanged('crm-0');
    await world.clock.pass(2_000);
    world.revoke('delivery');
    await world.clock.pass(2_000);
    assert.equal(world.inWork('delivery'), 0);
  });
});

describe('it is not us', () => {
  for (const { title, failing, provider, well } of [
    { title: 'where one provider of many customers fails', failing: 40, provider: 'x', well: 20 },
    { title: 'where half of the providers fail', failing: 20, provider: undefined, well: 20 },
    { title: 'where there are few, and all fail', failing: 7, provider: undefined, well: 0 },
  ])
    test(title, async () => {
      const scene = new Scene();
      const { world } = scene;
      const traffic = [
        ...endpoints(scene, failing, 'bad', provider),
        ...endpoints(scene, well, 'well'),
      ];
      world.answer = (url) => (url.includes('bad') ? refused : ok);
      await scene.run(20_000, traffic);
      assert.equal(cutOffLabel(scene), 0);
      if (well > 0) assert.ok(scene.p99Ms('well') <= 100, `p99 of ${scene.p99Ms('well')} ms`);
      assert.ok((world.metrics.breakerChanges.get('open') ?? 0) > 0);
    });

  const dropped: Answer = { outcome: unreachedInTime, afterMs: 5_000 };
  for (const { title, dead, away, everyMs } of [
    {
      title: 'where sixty customers have been dead for long, and all others use one platform',
      dead: 60,
      away: refused,
      everyMs: 1_000,
    },
    {
      title: 'on a quiet night, where ten customers drop packets',
      dead: 10,
      away: dropped,
      everyMs: minuteMs,
    },
  ])
    test(title, async () => {
      const scene = new Scene({ partitions: 4 });
      const { world } = scene;
      const all = [...endpoints(scene, dead, 'dead'), ...endpoints(scene, 40, 'well', 'platform')];
      world.answer = (url) => (url.includes('dead') ? away : ok);
      for (let call = 0; call < 150; call++) {
        for (const { destination } of all) scene.publish(destination);
        await world.clock.pass(everyMs);
      }
      assert.equal(cutOffLabel(scene), 0);
      assert.ok(scene.p99Ms('well') <= 130, `p99 of ${scene.p99Ms('well')} ms`);
    });

  for (const { title, away } of [
    { title: 'where sixty customers die at once, and all others use one platform', away: refused },
    { title: 'where sixty customers begin to drop packets at once', away: dropped },
  ])
    test(`(or looks like it) ${title}, and others are not kept waiting`, async () => {
      const scene = new Scene({ partitions: 1 });
      const { world } = scene;
      const traffic = [
        ...endpoints(scene, 60, 'dies'),
        ...endpoints(scene, 40, 'well', 'platform'),
      ].map((each) => ({ ...each, perSecond: 1 }));
      world.answer = () => ok;
      await scene.run(10_000, traffic);
      world.answer = (url) => (url.includes('dies') ? away : ok);
      await scene.run(3 * minuteMs, traffic);
      assert.ok(scene.p99Ms('well') <= 130, `p99 of ${scene.p99Ms('well')} ms`);
    });

  test('and one endpoint on our side of the outage does not end it, however little others get', async () => {
    const scene = new Scene();
    const { world } = scene;
    const seldom = endpoints(scene, 100, 'out').map((each) => ({ ...each, perSecond: 0.1 }));
    const traffic = [...seldom, ...endpoints(scene, 1, 'inside')];
    world.answer = () => ok;
    await scene.run(10_000, traffic);
    world.answer = (url) => (url.includes('inside') ? ok : refused);
    await scene.run(20_000, traffic);
    const attempts = (): number => world.metrics.requests.get('connection') ?? 0;
    const before = attempts();
    await scene.run(2 * minuteMs, traffic);
    assert.ok(world.engine.state().isCutOff);
    assert.equal(attempts(), before);
  });

  test('and endpoints on our side of the outage go on', async () => {
    const scene = new Scene();
    const { world } = scene;
    const traffic = [...endpoints(scene, 40, 'out'), ...endpoints(scene, 1, 'inside')];
    world.answer = () => ok;
    await scene.run(5_000, traffic);
    world.answer = (url) => (url.includes('inside') ? ok : refused);
    await scene.run(15_000, traffic);
    const sinceMs = world.clock.now();
    await scene.run(2 * minuteMs, traffic);
    assert.ok(world.engine.state().isCutOff);
    assert.ok(scene.p99Ms('inside', sinceMs) <= 100);
    world.answer = () => ok;
    await world.clock.pass(hourMs);
    assert.equal(new Set(world.delivered).size, scene.published);
  });
});
