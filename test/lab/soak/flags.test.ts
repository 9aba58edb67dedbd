import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFlags } from './flags.ts';

test('flags have defaults, and a seed by chance', () => {
  const { seed, ...rest } = readFlags([]);
  assert.ok(Number.isInteger(seed) && seed >= 1);
  assert.deepEqual(rest, { minutes: 10, fault: undefined, report: false });
  assert.deepEqual(readFlags(['--minutes', '60', '--seed', '7', '--report']), {
    minutes: 60,
    seed: 7,
    fault: undefined,
    report: true,
  });
});

const mistakes: readonly [args: readonly string[], message: RegExp][] = [
  [['--minutes', '0'], /^--minutes must be a whole number from 1 to 1440; it is "0"$/],
  [['--minutes', '1.5'], /^--minutes must be a whole number/],
  [['--seed', 'x'], /^--seed must be a whole number from 1 to 2147483647; it is "x"$/],
  [['--fault', 'broker-kiled'], /^there is no fault broker-kiled; did you mean broker-killed\? /],
  [['--fault', 'role-killed', '--report'], /^--report is about all faults/],
  [['--minute', '1'], /--minute/],
  [['1'], /1/],
];

for (const [args, message] of mistakes)
  test(`${args.join(' ')} is refused with a sentence that says why`, () => {
    assert.throws(() => readFlags(args), { message });
  });
