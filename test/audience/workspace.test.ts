import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadState, saveState } from '../../src/audience/checkpoint.ts';
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

/** As a sync leaves it. */
async function keepCheckpoint(directory: string, name: string, topic: string): Promise<void> {
  const workspace = await openWorkspace({ name, directory, filesDir: directory });
  const { connection } = workspace.database;
  const copy = workspace.file('state.duckdb');
  const subject = {
    name: `${topic} of 2, Audience vip/shop/vip`,
    topicId: 'any',
    ends: new Map([[0, 1]]),
    nowMs: 1,
    maxAgeMs: 1,
  };
  await loadState(connection, undefined, copy, subject);
  await connection.run('create table deletions (user_id varchar, time_ms double)');
  await saveState(connection, workspace.checkpoint ?? '', copy, subject, 1);
  await workspace.close();
}

test('checkpoints of audiences that are no more are removed, and nothing else', async (t) => {
  const directory = await startFolder(t);
  const own = 'shop-audience-members';
  await keepCheckpoint(directory, 'shop-vip', own);
  await keepCheckpoint(directory, 'shop-gone', own);
  await mkdir(path.join(directory, 'shop-gone', 'run-killed'));
  await writeFile(path.join(directory, 'shop-gone', 'run-killed', 'scratch.duckdb'), '');
  await mkdir(path.join(directory, 'shop-damaged'));
  await writeFile(path.join(directory, 'shop-damaged', 'checkpoint.duckdb'), 'nonsense');
  await keepCheckpoint(directory, 'shop-eu-vip', 'shop-eu-audience-members');
  await keepCheckpoint(directory, 'shop-mixed', own);
  await writeFile(path.join(directory, 'shop-mixed', 'notes.txt'), 'mine');
  for (const name of ['lists', 'shop-lists', 'shop-runs/run-of-today', 'shop.eu'])
    await mkdir(path.join(directory, name), { recursive: true });
  for (const list of ['shop-lists/today.csv', 'shop-runs/run-of-today/list.csv', 'shop-file'])
    await writeFile(path.join(directory, list), 'id\n1\n');

  const topology = { prefix: 'shop-', topics: { audienceMembers: own } };
  await removeUnknown(directory, topology, (id) => id === 'vip');
  assert.deepEqual((await readdir(directory)).sort(), [
    'lists',
    'shop-eu-vip',
    'shop-file',
    'shop-lists',
    'shop-mixed',
    'shop-runs',
    'shop-vip',
    'shop.eu',
  ]);
  assert.deepEqual(await readdir(path.join(directory, 'shop-eu-vip')), ['checkpoint.duckdb']);
});

test('what a live run works on stays, also if its audience is unknown', async (t) => {
  const directory = await startFolder(t);
  const workspace = await openWorkspace({ name: 'p.vip', directory, filesDir: directory });
  const topology = { prefix: 'p.', topics: { audienceMembers: 'p.audience-members' } };
  await removeUnknown(directory, topology, () => false);
  assert.equal((await runsIn(directory)).length, 1);
  await workspace.close();
  await removeUnknown(directory, topology, () => false);
  assert.deepEqual(await readdir(directory), []);
});
