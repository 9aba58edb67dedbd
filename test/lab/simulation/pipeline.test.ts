import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { makeScenario } from './make-scenario.ts';
import { lesser, shrink } from './shrink.ts';

const main = fileURLToPath(new URL('main.ts', import.meta.url));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `npm run simulate -- …`, in a process of its own: its time would be that of this one too. */
async function run(...flags: readonly string[]): Promise<Ended> {
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...flags], {
      env,
      maxBuffer: 64 * 1024 * 1024,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return error as Ended;
  }
}

describe('the whole pipeline in simulated time', () => {
  test('keeps every promise, whatever goes wrong', async () => {
    const { code, stdout, stderr } = await run('--seeds', '60', '--jobs', '2');
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^Seeds: 1 to 60, 0 of which break a promise$/m);
  });

  test('is the same of a seed and of its scenario in a file, to the byte, with the database of an audience, which takes its real time, and operators, whose commands are killed and run again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'postrider-simulate-'));
    const file = join(folder, 'scenario.json');
    writeFileSync(file, JSON.stringify(makeScenario(159)));
    const [ofSeed, ofFile] = [await run('--seed', '159'), await run('--scenario', file)];
    rmSync(folder, { recursive: true });
    assert.equal(ofFile.code, 0);
    assert.match(ofSeed.stdout, /sync-\d: is done: \d+ came, \d+ left\n/);
    assert.match(ofSeed.stdout, /worker-0\.1: attempts m\d+ at d\d\n/);
    assert.match(ofSeed.stdout, /resume-\d+: \d+ events sent again, in redrive [0-9a-f]{8}\n/);
    assert.match(ofSeed.stdout, /resume-\d+: cut: [^\n]*"kill"/);
    const [, lastLines = ''] = /^\(\d+ lines before\)\n([^]*)$/.exec(ofFile.stdout) ?? [];
    assert.match(lastLines, /\nfingerprint [0-9a-f]{16}\n$/);
    assert.ok(ofSeed.stdout.endsWith(lastLines));
  });

  test('says what is wrong with its flags', async () => {
    assert.match(
      (await run('--scenario', '/none.json')).stderr,
      /^simulate: \/none\.json holds no scenario/,
    );
    const { code, stderr } = await run('--sed', '1');
    assert.equal(code, 2);
    assert.match(stderr, /'--sed'[^]*usage: npm run simulate/);
  });
});

describe('a scenario that breaks a promise', () => {
  test('is made as small as it can be while it still does', async () => {
    const scenario = Array.from({ length: 200 }, (_, seed) => makeScenario(seed + 1)).find(
      ({ faults, destinations }) =>
        destinations.length > 2 && faults.some(({ kind }) => kind === 'kill'),
    );
    assert.ok(scenario);
    const least = await shrink(
      scenario,
      ({ faults }) => Promise.resolve(faults.some(({ kind }) => kind === 'kill')),
      1_000,
    );
    const { faults, destinations, bursts, workers, partitions } = least;
    assert.deepEqual(
      [faults.length, destinations.length, bursts.length, workers, partitions],
      [1, 1, 1, 1, 1],
    );
    assert.deepEqual([bursts[0]?.calls, destinations[0]?.urls[0]?.troubles], [1, []]);
  });

  test('loses no destination that a fault is about', () => {
    for (let seed = 1; seed <= 50; seed += 1)
      for (const { faults, destinations } of lesser(makeScenario(seed)))
        for (const fault of faults)
          if ('destination' in fault) assert.ok(fault.destination < destinations.length);
  });
});
