import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { plantedEnv } from './find.ts';
import { defectMutants } from './known-defects.ts';
import { runLimited } from './run-limited.ts';

const mostCpuMs = 30_000;

test('a planted text is loaded in the place of the file, by child processes too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plant-'));
  const [main, part, list] = ['main.ts', 'part.ts', 'texts.json'].map((name) => join(folder, name));
  assert.ok(main !== undefined && part !== undefined && list !== undefined);
  writeFileSync(part, 'export const exitCode: number = 3;');
  writeFileSync(
    main,
    `import { fork } from 'node:child_process';
     import { exitCode } from './part.ts';
     if (process.send !== undefined) process.exit(exitCode);
     else fork(import.meta.filename).on('exit', (code: number) => process.exit(code + exitCode));`,
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(list, JSON.stringify({ [part]: 'export const exitCode: number = 0;' }));
  const plain = await runLimited({ args: [main], env: process.env, mostCpuMs });
  assert.equal(plain.how, 'failed', plain.output);
  const withBug = await runLimited({ args: [main], env: plantedEnv(list), mostCpuMs });
  assert.equal(withBug.how, 'passed', withBug.output);
});

test('a process that runs in a loop is ended by the CPU time that it used', async () => {
  const args = ['--eval', 'for (;;);'];
  const { how, cpuMs } = await runLimited({ args, env: process.env, mostCpuMs: 400 });
  assert.equal(how, 'hung');
  assert.ok(cpuMs >= 400);
});

test('every defect of the past can still be planted', () => {
  assert.ok(defectMutants().length >= 12);
});
