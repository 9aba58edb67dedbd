import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { collect, spawnCommand } from '../harness/run-command.ts';

const env = { PATH: process.env['PATH'] ?? '' };

test('a command ends quietly when nobody reads what it prints any more, as in `| head -1`', async () => {
  const child = spawnCommand(['listen', '--port', '0'], env);
  const stderr = collect(child.stderr);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  child.stdout.destroy();
  const url = line.toString().trim().replace('listening on ', '');
  await fetch(url, { method: 'POST', body: '{}' }).catch(() => undefined);
  const [code] = (await once(child, 'close')) as [number];
  assert.deepEqual([code, stderr()], [141, '']);
});

test('output that cannot be written for another reason is an error in one sentence', async () => {
  const main = fileURLToPath(import.meta.resolve('../../src/cli/main.ts'));
  const readOnly = openSync(main, 'r');
  const child: ChildProcess = spawn(process.execPath, [main, 'listen', '--port', '0'], {
    env,
    stdio: ['ignore', readOnly, 'pipe'],
  });
  closeSync(readOnly);
  assert.ok(child.stderr);
  const stderr = collect(child.stderr);
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(code, 1);
  assert.match(stderr(), /^postrider: stdout cannot be written to: EBADF.*\n$/);
});
