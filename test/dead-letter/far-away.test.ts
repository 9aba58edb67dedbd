import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { redrive } from '../../src/dead-letter/redrive.ts';
import type { RejectedCall } from '../../src/dead-letter/rejected.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { openScene } from '../kafka/produce/scene.ts';
import { rejectedLetter } from './letters.ts';

const distanceMs = 30;

async function* manyLetters(count: number): AsyncGenerator<RejectedCall> {
  const value = Buffer.alloc(700, 'x');
  for (let offset = 0; offset < count; offset += 1) {
    await Promise.resolve();
    yield rejectedLetter({ offset, key: `u${offset}`, value });
  }
}

/** What takes no time is done in each millisecond. */
async function passSlowly(clock: SimulatedClock, forMs: number): Promise<void> {
  for (let ms = 0; ms < forMs; ms += 1) {
    await clock.pass(1);
    for (let turn = 0; turn < 3; turn += 1) await setImmediate();
  }
}

test('twenty thousand letters a second are sent and marked where the brokers are 30 ms away', async () => {
  const clock = new SimulatedClock();
  const { cluster, producer } = openScene({ clock, partitions: 12 });
  cluster.makeTopic('redrives', 12);
  cluster.delay = () =>
    new Promise<void>((resolve) => {
      clock.after(distanceMs, resolve);
    });
  let sent = 0;
  const done = redrive({
    letters: manyLetters(25_000),
    sentAgain: ({ record: { key, value } }) => ({ topic: 'a', key, value }),
    producer,
    clock,
    redrivesTopic: 'redrives',
    rate: 1e6,
    id: 'run1',
    signal: new AbortController().signal,
    onSent: () => {
      sent += 1;
    },
    onRefused: () => assert.fail('refused'),
    onUnmarked: () => assert.fail('unmarked'),
  });
  await passSlowly(clock, 1_000);
  assert.ok(sent >= 20_000, `${sent} in the first second`);
  await passSlowly(clock, 1_000);
  await done;
  assert.equal(sent, 25_000);
});
