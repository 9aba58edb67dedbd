import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, type Run } from './cells.ts';
import type { Peer } from './peer.ts';
import { crashResult, hangingResult, matrixResults } from './results.ts';

const [kept] = cells;
const closed = cells.find(({ scheme, answering }) => scheme === 'https' && answering.closes);
assert.ok(kept !== undefined && closed !== undefined);

function peer(name: string): Peer {
  return {
    name,
    start: () => {
      throw new Error('not started');
    },
  };
}

const own = peer('Postrider');
const plain = peer('Bento');
const tuned = peer('Bento, tuned');

function run(perCpuSecond: number, more: Partial<Run> = {}): Run {
  const common = { deliveries: perCpuSecond, cpuUs: 1_000_000, wallMs: 500 };
  return { ...common, rssBytes: 100 * 2 ** 20, connections: 0.8, resumed: 0.25, ...more };
}

const matrix = new Map([
  [
    kept,
    new Map([
      [own, [run(10_000), run(30_000), run(20_000)]],
      [plain, [run(9_000), run(9_000), run(9_000)]],
      [tuned, [run(20_000), run(20_000), run(16_000)]],
    ]),
  ],
  [
    closed,
    new Map([
      [own, [run(1_000)]],
      [plain, [run(4_000)]],
    ]),
  ],
]);

test('each cell is compared, round by round, with whoever else does most in a CPU second there', () => {
  const [first, second] = matrixResults(matrix, [own, plain, tuned], { Bento: 'v1' });
  assert.deepEqual(first?.ratios, [0.5, 1.5, 1.25]);
  assert.equal(first.absolutes['the best of the others'], 'Bento, tuned');
  assert.equal(first.absolutes['Bento'], 'v1');
  assert.deepEqual(second?.ratios, [0.25]);
  assert.equal(second.absolutes['the best of the others'], 'Bento');
});

test('tables have a row for each cell, and are empty where a peer was not measured', () => {
  const [first] = matrixResults(matrix, [own, plain, tuned], {});
  const [cpu, rate, connections, memory] = first?.tables ?? [];
  assert.deepEqual(cpu?.columns, ['endpoint', 'Postrider', 'Bento', 'Bento, tuned']);
  assert.deepEqual(cpu.rows, [
    [kept.name, '20,000', '9,000', '20,000'],
    [closed.name, '1,000', '4,000', ''],
  ]);
  assert.deepEqual(rate?.rows[0], [kept.name, '40,000', '18,000', '40,000']);
  assert.deepEqual(connections?.rows[0], [kept.name, '800', '800', '800']);
  assert.deepEqual(connections.rows[1], [
    closed.name,
    '800, 25 % resumed',
    '800, 25 % resumed',
    '',
  ]);
  assert.deepEqual(memory?.rows[0], [kept.name, '100', '100', '100']);
});

test('an event that Postrider loses is a failure, one that another loses is a figure', () => {
  const crash = { silentMs: 9_540, repeated: 1_234, lost: 0 };
  const good = crashResult(
    new Map([
      [own, crash],
      [plain, { ...crash, lost: 5 }],
    ]),
  );
  assert.equal(good.passed, true);
  assert.deepEqual(good.tables?.[0]?.rows, [
    ['Postrider', '9.5', '1,234', '0'],
    ['Bento', '9.5', '1,234', '5'],
  ]);
  assert.equal(crashResult(new Map([[own, { ...crash, lost: 1 }]])).passed, false);
});

test('a healthy destination that gets less than nearly everything is a failure', () => {
  const beside = { deliveredShare: 1, p50Ms: 2, p99Ms: 9.87 };
  const nothing = { deliveredShare: 0, p50Ms: NaN, p99Ms: NaN };
  const good = hangingResult(
    new Map([
      [own, beside],
      [plain, nothing],
    ]),
  );
  assert.equal(good.passed, true);
  assert.deepEqual(good.tables?.[0]?.rows, [
    ['Postrider', '100.0 %', '2.0', '9.9'],
    ['Bento', '0.0 %', 'none', 'none'],
  ]);
  assert.equal(hangingResult(new Map([[own, { ...beside, deliveredShare: 0.98 }]])).passed, false);
});
