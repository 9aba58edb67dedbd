import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchSender, Outbox } from '../../src/client/sending.ts';
import { encodeCall, type EncodedCall } from '../../src/client/encode-call.ts';
import type { AnalyticsError } from '../../src/client/errors.ts';
import { delivered, type SendResult } from '../../src/client/transport.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';

const startMs = Date.UTC(2026, 0, 1);

interface Attempt {
  readonly atMs: number;
  readonly ids: readonly string[];
  readonly answer: (result: SendResult) => void;
}

interface SceneOptions {
  readonly flushAt?: number;
  readonly maxBatchBytes?: number;
  readonly maxInFlight?: number;
  /** Without it each attempt waits to be answered by the test. */
  readonly result?: (attempt: number, ids: readonly string[]) => SendResult;
}

/** The sending half of the client with a transport that the test answers for. */
class Scene {
  readonly clock = new SimulatedClock(startMs);
  readonly attempts: Attempt[] = [];
  readonly delivered: string[] = [];
  readonly failed: [string, AnalyticsError][] = [];
  readonly warnings: string[] = [];
  closedTransports = 0;
  readonly outbox: Outbox;
  readonly sender: BatchSender;

  constructor(options: SceneOptions = {}) {
    const { flushAt = 3, maxBatchBytes = 1_000_000, maxInFlight = 2, result } = options;
    this.sender = new BatchSender({
      transport: {
        maxInFlight,
        send: (calls) =>
          new Promise((answer) => {
            const ids = calls.map(({ messageId }) => messageId);
            const nth = this.attempts.push({ atMs: this.clock.steadyNow(), ids, answer });
            if (result !== undefined) answer(result(nth, ids));
          }),
        close: () => {
          this.closedTransports += 1;
          for (const { answer } of this.attempts) answer(again());
          return Promise.resolve();
        },
      },
      clock: this.clock,
      random: () => 0,
      onSettled: ({ messageId }, error) => {
        if (error === undefined) this.delivered.push(messageId);
        else this.failed.push([messageId, error]);
      },
      warn: (message) => this.warnings.push(message),
      debug: undefined,
    });
    this.outbox = new Outbox({
      sender: this.sender,
      ...{ flushAt, maxBatchBytes, flushAfterMs: 5_000, clock: this.clock },
    });
  }

  add(...ids: readonly string[]): void {
    for (const id of ids) this.outbox.add(callOf(id));
  }

  /** Lets so much time pass and everything happen, what is put off to the next turn included. */
  async pass(ms: number): Promise<void> {
    await new Promise(setImmediate);
    await this.clock.pass(ms);
    await new Promise(setImmediate);
    await this.clock.pass(0);
  }

  sentIds(): (readonly string[])[] {
    return this.attempts.map(({ ids }) => ids);
  }
}

function callOf(messageId: string): EncodedCall {
  const rules = { anonymousPages: false, nowMs: startMs, context: undefined };
  return encodeCall('identify', { userId: 'u', messageId }, rules);
}

function again(waitMs?: number): SendResult {
  return { outcome: 'again', reason: 'fails', waitMs };
}

test('nothing is sent inside the call', async () => {
  const scene = new Scene({ flushAt: 1 });
  scene.add('a');
  await Promise.resolve();
  assert.equal(scene.attempts.length, 0);
  await scene.pass(0);
  assert.equal(scene.attempts.length, 1);
});

test('batches of flushAt calls leave at once, the rest when flushAfter has passed since then', async () => {
  const scene = new Scene({ maxInFlight: 9, result: () => delivered });
  await scene.pass(2_000);
  scene.add('a', 'b', 'c', 'd', 'e', 'f', 'g');
  await scene.pass(4_999);
  assert.deepEqual(scene.sentIds(), [
    ['a', 'b', 'c'],
    ['d', 'e', 'f'],
  ]);
  await scene.pass(1);
  assert.deepEqual(scene.sentIds()[2], ['g']);
  assert.deepEqual(scene.delivered, ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
});

test('a call waits no longer than flushAfter, however long nothing was queued before', async () => {
  const scene = new Scene();
  await scene.pass(12_000);
  scene.add('a');
  await scene.pass(2_999);
  assert.equal(scene.attempts.length, 0);
  await scene.pass(1);
  assert.deepEqual(scene.sentIds(), [['a']]);
});

test('a clock that is set holds no call up and sends none early', async () => {
  for (const byMs of [-3_600_000, 3_600_000]) {
    const scene = new Scene({ result: (nth) => (nth === 1 ? again(2_000) : delivered) });
    scene.clock.set(byMs);
    scene.add('a');
    scene.clock.set(byMs);
    await scene.pass(5_000);
    assert.equal(scene.attempts.length, 1);
    scene.clock.set(byMs);
    await scene.pass(1_999);
    assert.deepEqual(scene.delivered, []);
    await scene.pass(1);
    assert.deepEqual([scene.delivered, scene.warnings], [['a'], []]);
  }
});

test('an hour by which the clock is set forward is no outage', async () => {
  const scene = new Scene({ flushAt: 1, result: () => again() });
  scene.add('a');
  await scene.pass(0);
  scene.clock.set(3_600_000);
  await scene.pass(1_000);
  assert.deepEqual(scene.warnings, []);
});

test('a batch is cut before it grows beyond its bytes', async () => {
  const { bytes } = callOf('a');
  const scene = new Scene({ flushAt: 100, maxBatchBytes: 2 * (bytes + 1) });
  scene.add('a', 'b', 'c');
  scene.outbox.flush();
  await scene.pass(0);
  assert.deepEqual(scene.sentIds(), [['a', 'b'], ['c']]);
});

test('so many batches are on their way at a time, and the others wait their turn', async () => {
  const scene = new Scene({ flushAt: 1 });
  scene.add('a', 'b', 'c');
  await scene.pass(0);
  assert.deepEqual(scene.sentIds(), [['a'], ['b']]);
  scene.attempts[1]?.answer(delivered);
  await scene.pass(0);
  assert.deepEqual(scene.sentIds(), [['a'], ['b'], ['c']]);
});

test('a batch is sent again until it is delivered, after waits that double up to 5 s', async () => {
  const scene = new Scene({ flushAt: 1, result: (nth) => (nth < 10 ? again() : delivered) });
  scene.add('a');
  await scene.pass(60_000);
  const times = scene.attempts.map(({ atMs }) => atMs);
  const waits = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  assert.deepEqual([scene.delivered, scene.failed], [['a'], []]);
});

test('an outage is told once when it has lasted for 10 s, and the next one after a delivery', async () => {
  let isAway = true;
  const scene = new Scene({ flushAt: 1, result: () => (isAway ? again() : delivered) });
  const told =
    'No call could be delivered for 11 s; they wait and are sent again. The last failure: fails';
  scene.add('a', 'b');
  // Attempts fail at 0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3 and 11.3 s.
  await scene.pass(11_200);
  assert.deepEqual(scene.warnings, []);
  await scene.pass(100);
  assert.deepEqual(scene.warnings, [told]);
  await scene.pass(3_600_000);
  assert.equal(scene.warnings.length, 1);
  isAway = false;
  await scene.pass(5_000);
  assert.equal(scene.delivered.length, 2);
  isAway = true;
  scene.add('c');
  await scene.pass(11_200);
  assert.equal(scene.warnings.length, 1);
  await scene.pass(100);
  assert.deepEqual(scene.warnings, [told, told]);
});

test('single deliveries in between are no outage', async () => {
  const scene = new Scene({ flushAt: 1, result: (nth) => (nth % 4 === 0 ? delivered : again()) });
  for (let seconds = 0; seconds < 60; seconds += 1) {
    scene.add(`call ${seconds}`);
    await scene.pass(1_000);
  }
  assert.deepEqual(scene.warnings, []);
});

test('a batch that waits to be sent again does not hold up another', async () => {
  const scene = new Scene({ flushAt: 1 });
  scene.add('a', 'b');
  await scene.pass(0);
  scene.attempts[0]?.answer(again());
  scene.attempts[1]?.answer(delivered);
  await scene.pass(0);
  assert.deepEqual(scene.delivered, ['b']);
});

test('batches that always fail hold no place that another could have', async () => {
  const isBad = (ids: readonly string[]): boolean => ids[0]?.startsWith('bad') ?? false;
  const scene = new Scene({
    flushAt: 1,
    result: (_nth, ids) => (isBad(ids) ? again() : delivered),
  });
  scene.add('bad 1', 'bad 2', 'a');
  await scene.pass(100);
  assert.deepEqual(scene.delivered, ['a'], 'it has its turn after the first wait');
  await scene.pass(60_000);
  // Something was delivered since: the others wait by themselves.
  const before = scene.attempts.length;
  for (let nth = 0; nth < 10; nth += 1) {
    scene.add(`b${nth}`);
    await scene.pass(0);
    assert.equal(scene.delivered.at(-1), `b${nth}`);
  }
  assert.equal(scene.attempts.length, before + 10);
  await scene.pass(10_000);
  assert.ok(scene.attempts.length > before + 12, 'what fails is sent again');
});

test('in an outage no more batches are tried than there are places, each in its turn', async () => {
  const scene = new Scene({ flushAt: 1, result: () => again() });
  scene.add('a', 'b', 'c', 'd');
  await scene.pass(99);
  assert.deepEqual(scene.sentIds(), [['a'], ['b']]);
  await scene.pass(1);
  assert.deepEqual(scene.sentIds(), [['a'], ['b'], ['c'], ['d']]);
  await scene.pass(600_000);
  // Two places, each with an attempt in five seconds.
  assert.ok(scene.attempts.length < 2 * 150, `${scene.attempts.length} attempts`);
  const tries = ['a', 'b', 'c', 'd'].map(
    (id) => scene.sentIds().filter(([each]) => each === id).length,
  );
  assert.ok(Math.min(...tries) > Math.max(...tries) - 2, tries.join(', '));
});

test('what the endpoint asks for by Retry-After holds for every batch', async () => {
  const scene = new Scene({ flushAt: 1, result: (nth) => (nth === 1 ? again(30_000) : delivered) });
  scene.add('a');
  await scene.pass(0);
  scene.add('b');
  await scene.pass(29_999);
  assert.equal(scene.attempts.length, 1);
  await scene.pass(1);
  assert.deepEqual(scene.delivered.sort(), ['a', 'b']);
});

test('of several times that the endpoint asks for, the latest holds', async () => {
  const scene = new Scene({ flushAt: 1, maxInFlight: 3 });
  scene.add('a', 'b');
  await scene.pass(0);
  scene.attempts[0]?.answer(again(1_000));
  scene.add('c');
  await scene.pass(500);
  scene.attempts[1]?.answer(again(30_000));
  await scene.pass(29_999);
  assert.deepEqual(scene.sentIds(), [['a'], ['b']]);
  await scene.pass(1);
  assert.equal(scene.attempts.length, 5);
});

test('a refused call is told once and not sent again, its neighbours are delivered', async () => {
  const scene = new Scene();
  const calls = ['a', 'b', 'c'].map(callOf);
  for (const call of calls) scene.outbox.add(call);
  await scene.pass(0);
  const cause = new Error('why');
  const refused = new Map(
    calls.slice(1, 2).map((call) => [call, { code: 'refused', message: 'no', cause } as const]),
  );
  scene.attempts[0]?.answer({ outcome: 'settled', refused });
  await scene.pass(60_000);
  assert.equal(scene.attempts.length, 1);
  assert.deepEqual(scene.delivered, ['a', 'c']);
  const told = scene.failed.map(([id, error]) => [id, error.code, error.message, error.cause]);
  assert.deepEqual(told, [['b', 'refused', 'no', cause]]);
});

test('settled waits for what was added before', async () => {
  const scene = new Scene({ flushAt: 2 });
  scene.add('a', 'b');
  let isSettled = false;
  void scene.sender.settled().then(() => {
    isSettled = true;
  });
  await scene.pass(0);
  scene.attempts[0]?.answer(again());
  await scene.pass(100);
  assert.equal(isSettled, false);
  scene.attempts[1]?.answer(delivered);
  await scene.pass(0);
  assert.equal(isSettled, true);
});

test('closing sends everything, retries included, and then closes the transport', async () => {
  const scene = new Scene({ result: (nth) => (nth <= 2 ? again() : delivered) });
  scene.add('a', 'b', 'c', 'd');
  scene.outbox.flush();
  const closed = scene.sender.close(60_000);
  await scene.pass(1_000);
  await closed;
  assert.deepEqual(scene.delivered.sort(), ['a', 'b', 'c', 'd']);
  assert.equal(scene.closedTransports, 1);
});

test('closing ends at its time: what waits, is on its way or was not started is given up', async () => {
  const scene = new Scene({ flushAt: 1, maxInFlight: 2 });
  scene.add('pausing', 'on its way', 'not started');
  const closed = scene.sender.close(10_000);
  await scene.pass(0);
  scene.attempts[0]?.answer(again(300_000));
  await scene.pass(9_999);
  assert.equal(scene.failed.length, 0);
  await scene.pass(1);
  await closed;
  const codes = scene.failed.map(([id, error]) => `${id}: ${error.code}`).sort();
  assert.deepEqual(codes, [
    'not started: not-delivered',
    'on its way: not-delivered',
    'pausing: not-delivered',
  ]);
  const messages = new Set(scene.failed.map(([, { message }]) => message));
  assert.deepEqual([...messages], ['the time for closing was over; the last failure: fails']);
});
