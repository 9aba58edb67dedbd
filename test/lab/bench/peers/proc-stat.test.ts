import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStat, usageOf } from './proc-stat.ts';

const units = { ticksPerSecond: 100, pageBytes: 4_096 };
const line = (name: string): string =>
  `4711 (${name}) S 1 4711 4711 0 -1 4194304 9012 11 3 0 250 50 7 8 20 0 12 0 91234 1600000000 5000 18446744073709551615 1 1 0 0`;

test('CPU time is user and system time of the process alone, memory is what is resident', () => {
  assert.deepEqual(parseStat(line('bento'), units), {
    cpuUs: 3_000_000,
    rssBytes: 5_000 * 4_096,
  });
});

test("a program's name may hold blanks and brackets", () => {
  assert.deepEqual(parseStat(line('a) S (b'), units), parseStat(line('bento'), units));
});

test('ticks and pages are what the system says', () => {
  const { cpuUs, rssBytes } = parseStat(line('x'), { ticksPerSecond: 1_000, pageBytes: 65_536 });
  assert.deepEqual([cpuUs, rssBytes], [300_000, 5_000 * 65_536]);
});

test('a line that is none is an error, not a figure', () => {
  assert.throws(() => parseStat('no such thing', units), /no line of \/proc\/PID\/stat: no such/);
});

test(
  'what this process uses is about what Node says of it',
  { skip: process.platform !== 'linux' },
  () => {
    const { cpuUs, rssBytes } = usageOf([process.pid]);
    const { user, system } = process.cpuUsage();
    assert.ok(Math.abs(cpuUs - user - system) < 200_000, `${cpuUs} µs`);
    assert.ok(Math.abs(rssBytes / process.memoryUsage.rss() - 1) < 0.2, `${rssBytes} bytes`);
  },
);
