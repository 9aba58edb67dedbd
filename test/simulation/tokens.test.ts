import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TokenAnswer } from '../../src/delivery/sender.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { answerOk, failsWith, hourMs, SimulatedWorld } from '../delivery/simulated-world.ts';
import { Scene } from './scene.ts';

const oauth2 = {
  tokenUrl: 'https://auth.example/token',
  clientId: 'postrider',
  clientSecret: 'secret',
  auth: 'basic',
} as const;

function withLogin(host: string, changes: object = {}): Pick<Destination, 'webhooks'> {
  return {
    webhooks: [{ url: `https://${host}/hook`, headers: {}, oauth2: { ...oauth2, ...changes } }],
  };
}

const none: TokenAnswer = { kind: 'none', detail: 'it answered 500' };
const hanging = { answer: none, afterMs: 5_000 };

/** The tokens with which requests went to the endpoint, in their order. */
function recordTokens(world: SimulatedWorld): (string | undefined)[] {
  const used: (string | undefined)[] = [];
  world.answer = (_url, sending) => {
    used.push(sending.authorization(0));
    return answerOk;
  };
  return used;
}

describe('a destination behind an OAuth 2 login', () => {
  test('has its token fetched once, however many events and URLs with the same login wait for it', async () => {
    const world = new SimulatedWorld();
    const used = recordTokens(world);
    world.addDestination('crm', withLogin('crm.example'));
    world.addDestination('ads', withLogin('ads.example'));
    for (let n = 0; n < 50; n++) world.publish(n % 2 === 0 ? 'crm' : 'ads', `u${n}`);
    await world.clock.pass(1_000);
    assert.equal(world.delivered.length, 50);
    assert.equal(world.tokenRequests.length, 1);
    assert.deepEqual(new Set(used), new Set(['Bearer t1']));
  });

  test('has a token of its own where only the scope differs', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', withLogin('crm.example'));
    world.addDestination('ads', withLogin('ads.example', { scope: 'ads' }));
    world.publish('crm');
    world.publish('ads');
    await world.clock.pass(1_000);
    assert.equal(world.tokenRequests.length, 2);
  });

  test('gets its events without a pause while tokens are renewed, and with none that has ended', async () => {
    const world = new SimulatedWorld();
    const endsMs = new Map<string, number>();
    world.tokenAnswer = () => {
      const token = `t${endsMs.size}`;
      endsMs.set(`Bearer ${token}`, world.clock.now() + 60_000);
      return { answer: { kind: 'token', token, lifeS: 60 }, afterMs: 500 };
    };
    world.answer = (_url, sending, nowMs) => {
      const isValid = (endsMs.get(sending.authorization(0) ?? '') ?? 0) > nowMs + 5_000;
      return isValid ? answerOk : failsWith(401);
    };
    world.addDestination('crm', withLogin('crm.example'));
    for (let n = 0; n < 1_200; n++) {
      world.publish('crm', `u${n}`);
      await world.clock.pass(500);
      if (n > 2) assert.ok(world.delivered.length >= n, `the event ${n} waits`);
    }
    assert.equal(world.metrics.requests.get('delivered'), world.requests.length);
    assert.equal(world.tokenRequests.length, Math.ceil(600 / (0.8 * 54)));
  });

  test('has no token renewed that nobody uses', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', withLogin('crm.example'));
    world.publish('crm');
    await world.clock.pass(10 * 60_000);
    assert.equal(world.tokenRequests.length, 1);
    world.publish('crm');
    await world.clock.pass(1_000);
    assert.equal(world.tokenRequests.length, 2);
    assert.equal(world.delivered.length, 2);
  });

  test('gets an event again with another token when it refuses one that may have been revoked, which is no attempt', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm', withLogin('crm.example'));
    world.publish('crm');
    await world.clock.pass(40_000);
    world.answer = (_url, sending) =>
      sending.authorization(0) === 'Bearer t1' ? failsWith(401) : answerOk;
    for (let n = 0; n < 20; n++) world.publish('crm', `u${n}`);
    await world.clock.pass(1_000);
    assert.equal(world.delivered.length, 21);
    assert.equal(world.tokenRequests.length, 2);
    assert.equal(world.atRetry, 0);
  });

  test('that refuses every token is asked for one more each half minute, and its attempts count', async () => {
    const world = new SimulatedWorld();
    world.answer = () => failsWith(401);
    world.addDestination('crm', withLogin('crm.example'));
    const id = world.publish('crm');
    await world.clock.pass(5 * hourMs);
    const [letter] = world.deadLetters;
    assert.equal(letter?.messageId, id);
    assert.ok(letter.attempts >= 5);
    assert.ok(world.tokenRequests.length <= 5 * 120);
  });

  test('does not take a token from another that is content with it, while no other can be had', async () => {
    const world = new SimulatedWorld();
    world.answer = (url) => (url.includes('ads') ? failsWith(401) : answerOk);
    world.tokenAnswer = () => ({
      answer: { kind: 'token', token: 't', lifeS: 3_600 },
      afterMs: 50,
    });
    world.addDestination('crm', withLogin('crm.example'));
    world.addDestination('ads', withLogin('ads.example'));
    world.publish('crm');
    await world.clock.pass(40_000);
    world.tokenAnswer = () => hanging;
    world.publish('ads');
    await world.clock.pass(1_000);
    world.publish('crm');
    await world.clock.pass(1_000);
    assert.equal(world.delivered.length, 2);
  });
});

describe('an authorization server that gives no token', () => {
  test('costs no attempt and no time of the retry window, and says so', async () => {
    const world = new SimulatedWorld();
    world.answer = () => failsWith(503);
    world.tokenAnswer = () => ({ answer: { kind: 'token', token: 't', lifeS: 60 }, afterMs: 50 });
    world.addDestination('crm', withLogin('crm.example'));
    const tried = world.publish('crm');
    await world.clock.pass(1_000);
    assert.equal(world.requests.length, 1);
    const fresh = world.publish('crm', 'u2', {});
    world.tokenAnswer = () => ({ answer: none, afterMs: 50 });
    await world.clock.pass(12 * hourMs);
    const [report] = [world.engine.reports.of('crm')];
    assert.equal(report.state, 'failing');
    assert.equal(report.urls[0]?.breaker, 'open');
    assert.equal(
      report.urls[0].lastAnswer?.detail,
      'no token from https://auth.example/token: it answered 500',
    );
    assert.deepEqual(world.deadLetters, []);
    assert.ok((world.metrics.deferrals.get('token') ?? 0) > 0);
    world.answer = () => answerOk;
    world.tokenAnswer = () => ({ answer: { kind: 'token', token: 't2', lifeS: 60 }, afterMs: 50 });
    await world.clock.pass(hourMs);
    assert.deepEqual(world.delivered.toSorted(), [tried, fresh].toSorted());
    assert.equal(world.engine.reports.of('crm').state, 'ok');
  });

  test('is asked again within a minute after hours, without an event to ask for', async () => {
    const world = new SimulatedWorld();
    world.tokenAnswer = () => hanging;
    world.addDestination('crm', withLogin('crm.example'));
    world.publish('crm');
    await world.clock.pass(4 * hourMs);
    const before = world.tokenRequests.length;
    await world.clock.pass(2 * 65_000);
    assert.ok(world.tokenRequests.length - before >= 1);
    assert.ok(before < 4 * 120, `${before} tries in four hours`);
  });

  test('is asked at once when an operator retries the destination', async () => {
    const world = new SimulatedWorld();
    world.tokenAnswer = () => ({ answer: none, afterMs: 50 });
    world.addDestination('crm', withLogin('crm.example'));
    world.publish('crm');
    await world.clock.pass(hourMs);
    world.tokenAnswer = () => ({ answer: { kind: 'token', token: 't', lifeS: 60 }, afterMs: 50 });
    world.recall('crm');
    await world.clock.pass(1_000);
    assert.equal(world.delivered.length, 1);
  });

  test('takes no slot while it hangs', async () => {
    const world = new SimulatedWorld({ maxInFlight: 8 });
    world.tokenAnswer = () => hanging;
    world.addDestination('crm', withLogin('crm.example'));
    for (let n = 0; n < 100; n++) world.publish('crm', `u${n}`);
    for (let ms = 0; ms < 60_000; ms += 100) {
      assert.equal(world.engine.state().inFlight, 0);
      await world.clock.pass(100);
    }
    assert.equal(world.requests.length, 0);
  });

  test('keeps only its own URL from getting events, which other URLs of the destination get', async () => {
    const world = new SimulatedWorld();
    world.tokenAnswer = () => ({ answer: none, afterMs: 50 });
    const [behindLogin] = withLogin('crm.example').webhooks;
    if (behindLogin === undefined) throw new Error('no webhook');
    const open = { url: 'https://open.example/', headers: {} };
    world.addDestination('crm', { webhooks: [behindLogin, open] });
    for (let n = 0; n < 20; n++) world.publish('crm', `u${n}`);
    await world.clock.pass(20_000);
    assert.equal(world.delivered.length, 20);
    assert.ok((world.metrics.urlSkips.get('token') ?? 0) > 0);
  });

  test('delays no neighbor in the same partition while it hangs', async () => {
    const p99Of = async (isHanging: boolean): Promise<number> => {
      const scene = new Scene({ partitions: 1, maxInFlight: 64 });
      scene.addDestinations(1, 'healthy');
      scene.addDestinations(1, 'crm', withLogin('crm.example'));
      if (isHanging) scene.world.tokenAnswer = () => hanging;
      await scene.run(60_000, [
        { destination: 'healthy-0', perSecond: 200 },
        { destination: 'crm-0', perSecond: 200 },
      ]);
      assert.equal(scene.deferrals('healthy'), 0);
      return scene.p99Ms('healthy');
    };
    const [wellMs, besideMs] = [await p99Of(false), await p99Of(true)];
    assert.ok(besideMs <= 1.5 * wellMs, `p99 ${besideMs} ms beside it, ${wellMs} ms without`);
  });
});
