import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { openWorkspace, removeUnknown } from '../../src/audience/workspace.ts';

async function startFolder(t: TestContext): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'postrider-test-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

async function runsIn(directory: string): Promise<string[]> {
  const entries = await readdir(path.join(directory, 'p.vip'));
  return entries.filter((entry) => entry.startsWith('run-')).sort();
}

/** Another process with a run of its own, as far as its database is concerned. */
async function startOther(folder: string): Promise<{ stop(): Promise<void> }> {
  const library = JSON.stringify(import.meta.resolve('@duckdb/node-api'));
  const file = JSON.stringify(path.join(folder, 'scratch.duckdb'));
  const script = `const { DuckDBInstance } = await import(${library});
    globalThis.kept = await DuckDBInstance.create(${file}); console.log('ready'); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return {
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

test('a newcomer leaves the tables of a run that lives alone, and removes what a killed one left', async (t) => {
  const directory = await startFolder(t);
  const options = { name: 'p.vip', directory, filesDir: directory };
  const older = await openWorkspace(options);
  const newer = await openWorkspace(options);
  assert.equal((await runsIn(directory)).length, 2);
  await newer.close();
  await older.close();
  assert.deepEqual(await runsIn(directory), []);

  const folder = path.join(directory, 'p.vip', 'run-other');
  await mkdir(folder);
  const other = await startOther(folder);
  await (await openWorkspace(options)).close();
  assert.deepEqual(await runsIn(directory), ['run-other']);
  await other.stop();
  await (await openWorkspace(options)).close();
  assert.deepEqual(await runsIn(directory), []);
});

test('a run that has only made its folder is left alone for a minute', async (t) => {
  const directory = await startFolder(t);
  const options = { name: 'p.vip', directory, filesDir: directory };
  const folder = path.join(directory, 'p.vip', 'run-young');
  await mkdir(folder, { recursive: true });
  await (await openWorkspace(options)).close();
  assert.deepEqual(await runsIn(directory), ['run-young']);
  const longAgo = Date.now() / 1_000 - 120;
  await utimes(folder, longAgo, longAgo);
  await (await openWorkspace(options)).close();
  assert.deepEqual(await runsIn(directory), []);
});

test('checkpoints of audiences that are no more are removed, and nothing else', async (t) => {
  const directory = await startFolder(t);
  for (const name of ['p.vip', 'p.gone', 'p.eu.other', 'lists'])
    await mkdir(path.join(directory, name));
  await removeUnknown(directory, 'p.', (id) => id === 'vip');
  assert.deepEqual((await readdir(directory)).sort(), ['lists', 'p.eu.other', 'p.vip']);
});
