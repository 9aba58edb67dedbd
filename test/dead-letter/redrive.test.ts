import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from '../../src/dead-letter/pace.ts';
import { mostInFlight, redrive, type RedriveOptions } from '../../src/dead-letter/redrive.ts';
import { Redrives, redriveRecord } from '../../src/dead-letter/redrives.ts';
import { sentAgain, type RejectedCall } from '../../src/dead-letter/rejected.ts';
import { sentBefore, sift, type Objection } from '../../src/dead-letter/sift.ts';
import { PostriderError } from '../../src/errors.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import type { SteadyClock } from '../../src/ops/clock.ts';
import { rejectedLetter, topology } from './letters.ts';
import { WaitingClock } from './waiting-clock.ts';

/** Never aborted. */
const { signal: goOn } = new AbortController();

async function* lettersOf(...offsets: readonly number[]): AsyncGenerator<RejectedCall> {
  for (const offset of offsets) {
    await Promise.resolve();
    yield rejectedLetter({ offset });
  }
}

/** A run whose producer answers at once, with what `refuse` says. */
function run(
  changes: Partial<RedriveOptions<RejectedCall>>,
  refuse: (record: OutgoingRecord) => PostriderError | undefined = () => undefined,
): { readonly written: OutgoingRecord[]; readonly done: Promise<void> } {
  const written: OutgoingRecord[] = [];
  const done = redrive({
    letters: lettersOf(1),
    sentAgain: (letter) => sentAgain(letter, topology),
    producer: {
      produce: (record, answer) => {
        written.push(record);
        const refused = refuse(record);
        queueMicrotask(() => {
          answer(refused);
        });
      },
    },
    clock: new WaitingClock(),
    redrivesTopic: 'p.redrives',
    rate: 1_000,
    id: 'run1',
    signal: new AbortController().signal,
    onRefused: () => {
      assert.fail('refused');
    },
    onUnmarked: () => {
      assert.fail('unmarked');
    },
    ...changes,
  });
  return { written, done };
}

test('a letter is written down once its copy is safe', async () => {
  const { written, done } = run({});
  await done;
  assert.deepEqual(
    written.map(({ topic, key }) => `${topic} ${String(key)}`),
    ['web-calls u1', 'p.redrives p.ingest.rejected:2:1'],
  );
  assert.equal(
    written[1]?.value,
    '{"time":"1970-01-01T00:00:00.000Z","redrive":"run1","letterMs":2000}',
  );
});

test('a run is not over before everything is written down', async () => {
  const answers: (() => void)[] = [];
  const { done } = run({
    producer: {
      produce: (_, answer) => {
        answers.push(answer);
      },
    },
  });
  let isOver = false;
  const ended = done.then(() => {
    isOver = true;
  });
  for (const step of ['the copy', 'the mark']) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isOver, false, `over before ${step} is safe`);
    answers.shift()?.();
  }
  await ended;
});

test('a run ends at any rate, however the window is divided among letters', async () => {
  for (const rate of [7, 100, 200, 300, 700]) {
    const answers: (() => void)[] = [];
    let isOver = false;
    const { done } = run({
      rate,
      clock: new WaitingClock(),
      letters: lettersOf(1, 2, 3, 4, 5, 6, 7, 8, 9),
      producer: {
        produce: (_, answer) => {
          answers.push(answer);
        },
      },
    });
    void done.then(() => {
      isOver = true;
    });
    for (let turn = 0; turn < 50; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      answers.splice(0).forEach((answer) => {
        answer();
      });
    }
    assert.ok(isOver, `at ${rate} a second`);
  }
});

test('a letter that Kafka refuses is reported, not written down, and the others go on', async () => {
  const error = new PostriderError('record-refused', 'too large');
  const reported: number[] = [];
  let sends = 0;
  const { written, done } = run(
    {
      letters: lettersOf(1, 2),
      onRefused: ({ record }) => {
        reported.push(record.offset);
      },
    },
    ({ topic }) => (topic === 'web-calls' && sends++ === 0 ? error : undefined),
  );
  await done;
  assert.deepEqual(reported, [1]);
  assert.deepEqual(
    written.filter(({ topic }) => topic === 'p.redrives').map(({ key }) => key),
    ['p.ingest.rejected:2:2'],
  );
});

test('a mark that Kafka refuses is reported and ends the run: another one would send the letter again', async () => {
  const unmarked: number[] = [];
  const sent: number[] = [];
  const { written, done } = run(
    {
      letters: lettersOf(...Array.from({ length: 1_000 }, (_, offset) => offset)),
      onSent: ({ record }) => {
        sent.push(record.offset);
      },
      onUnmarked: ({ record }) => {
        unmarked.push(record.offset);
      },
    },
    ({ key }) =>
      key === 'p.ingest.rejected:2:1' ? new PostriderError('record-refused', 'no') : undefined,
  );
  await done;
  assert.deepEqual(unmarked, [1]);
  assert.ok(sent.includes(1), 'its copy is safe');
  assert.ok(sent.length <= mostInFlight(1_000), `${sent.length} were sent`);
  assert.equal(written.length, 2 * sent.length);
});

test('a run whose letters cannot be read on writes down what it has sent, and fails', async () => {
  async function* broken(): AsyncGenerator<RejectedCall> {
    yield* lettersOf(1);
    throw new Error('away');
  }
  const { written, done } = run({ letters: broken() });
  await assert.rejects(done, /away/);
  assert.equal(written.length, 2);
});

for (const [when, count] of [
  ['while letters are left', 4],
  ['before the last marks', 2],
] as const)
  test(`a run whose producer is closed ${when} fails, and marks nothing that is acknowledged afterwards`, async () => {
    const answers: (() => void)[] = [];
    const stopped = new PostriderError('stopped', 'closed');
    const { done } = run({
      letters: lettersOf(...Array.from({ length: count }, (_, offset) => offset)),
      producer: {
        produce: (_, answer) => {
          if (answers.length === 2) throw stopped;
          answers.push(answer);
        },
      },
      onSent: () => {
        assert.fail('counted, but not marked');
      },
    });
    const ended = assert.rejects(done, stopped);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(answers.length, 2);
    // The producer calls these, and nobody would catch what they throw.
    for (const answer of answers) answer();
    await ended;
  });

test('a run that is ended early finishes what it began', async () => {
  const stop = new AbortController();
  const sent: number[] = [];
  const { done } = run({
    letters: lettersOf(1, 2, 3),
    signal: stop.signal,
    onSent: ({ record }) => {
      sent.push(record.offset);
      stop.abort();
    },
  });
  await done;
  assert.deepEqual(sent, [1]);
});

/** How many letters are on their way at a time, where Kafka answers late. */
async function mostAtOnce(changes: Partial<RedriveOptions<RejectedCall>>): Promise<number> {
  const answers: (() => void)[] = [];
  let most = 0;
  const { done } = run({
    ...changes,
    producer: {
      produce: (_, answer) => {
        answers.push(answer);
        most = Math.max(most, answers.length);
      },
    },
  });
  const ended = done.then(() => true);
  for (;;) {
    const isOver = await Promise.race([ended, new Promise((go) => setTimeout(go, 1, false))]);
    if (isOver === true) return most;
    for (const answer of answers.splice(0)) answer();
  }
}

test('no more letters are on their way at a time than are sent in a second, or a hundred', async () => {
  let hours = 0;
  const never = { cancel: () => undefined };
  const clock: SteadyClock = {
    now: () => 0,
    // The pace has time for one letter each time.
    steadyNow: () => (hours += 1) * 3_600_000,
    after: () => never,
  };
  const letters = (): AsyncGenerator<RejectedCall> =>
    lettersOf(...Array.from({ length: 2_000 }, (_, offset) => offset));
  for (const [rate, most] of [
    [20, 100],
    [1_000, 1_000],
  ] as const)
    assert.equal(await mostAtOnce({ letters: letters(), rate, clock }), most);
});

test('no more than 32 megabytes of letters are on their way at a time, and one that is larger', async () => {
  async function* large(): AsyncGenerator<RejectedCall> {
    for (let offset = 0; offset < 60; offset += 1) {
      await Promise.resolve();
      yield rejectedLetter({ offset, value: Buffer.alloc(1_000_000) });
    }
  }
  assert.equal(await mostAtOnce({ letters: large(), rate: 1e9 }), 34);
});

function sentAt(time: string, offset: number): Redrives {
  const redrives = new Redrives('p.ingest.rejected');
  const { key, value } = redriveRecord('', rejectedLetter({ offset }), { time, redrive: 'run0' });
  redrives.collect({ key: Buffer.from(String(key)), value: Buffer.from(String(value)) });
  return redrives;
}

async function sifted(redrives: Redrives, againMs?: number): Promise<[number[], Objection[]]> {
  const passed: number[] = [];
  const objections: Objection[] = [];
  const judges = [sentBefore(redrives, againMs, '--again sends them too')];
  const letters = sift(lettersOf(1, 2, 3), judges, (objection) => objections.push(objection));
  for await (const { record } of letters) passed.push(record.offset);
  return [passed, objections];
}

test('letters that were sent again before are left out', async () => {
  const [passed, objections] = await sifted(sentAt('2026-11-20T10:00:00.000Z', 2));
  assert.deepEqual(passed, [1, 3]);
  assert.deepEqual(objections, [{ why: 'sent again before', remedy: '--again sends them too' }]);
});

test('asked for, letters that were sent again before a time are sent once more, later ones not', async () => {
  const before = Date.parse('2026-11-20T10:00:00.000Z');
  assert.deepEqual((await sifted(sentAt('2026-11-20T09:59:59.999Z', 2), before))[0], [1, 2, 3]);
  assert.deepEqual((await sifted(sentAt('2026-11-20T10:00:00.000Z', 2), before))[0], [1, 3]);
});

test('a pace spreads turns evenly', async () => {
  const clock = new WaitingClock();
  const pace = new Pace(2, clock);
  const turns: number[] = [];
  for (let i = 0; i < 4; i += 1) {
    await pace.turn(goOn);
    turns.push(clock.now());
  }
  assert.deepEqual(turns, [0, 500, 1_000, 1_500]);
});

test('a pace does not make up for a long pause', async () => {
  const clock = new WaitingClock();
  const pace = new Pace(100, clock);
  await pace.turn(goOn);
  clock.nowMs = 60_000;
  for (let i = 0; i < 111; i += 1) await pace.turn(goOn);
  // A tenth of a second's worth at once, then ten milliseconds each.
  assert.equal(clock.now(), 61_000);
});

test('a run that is ended while it waits for its turn does not wait on', async () => {
  const stop = new AbortController();
  let waitingMs = 0;
  const clock: SteadyClock = {
    now: () => 0,
    steadyNow: () => 0,
    after: (delayMs) => {
      waitingMs = delayMs;
      setImmediate(() => {
        stop.abort();
      });
      return { cancel: () => undefined };
    },
  };
  const { signal } = stop;
  const { written, done } = run({ letters: lettersOf(1, 2), rate: 1 / 3_600, clock, signal });
  await done;
  assert.equal(waitingMs, 3_600_000);
  assert.deepEqual(
    written.map(({ topic }) => topic),
    ['web-calls', 'p.redrives'],
  );
});
