import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { roleArgv } from '../lab/bench/measure.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { dockerfile, readStages } from './dockerfile.ts';

testNeeding([programs.hadolint], 'the linter of Dockerfiles has nothing to say', (hadolint) => {
  const { status, stdout } = spawnSync(hadolint, [fileURLToPath(dockerfile)], { encoding: 'utf8' });
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test('Node is process 1 of the image, without npm or a shell, and not as root', () => {
  const image = readStages().at(-1);
  assert.deepEqual(image?.entrypoint, ['node', '/app/dist/cli/main.js']);
  assert.match(image.user ?? '', /^[1-9]\d*:[1-9]\d*$/);
  assert.equal(image.environment['NODE_ENV'], 'production');
  assert.equal(image.environment['NODE_OPTIONS'], roleArgv.join(' '));
});

test('what only builds the image is not in it', () => {
  const image = readStages().at(-1);
  const copied = image?.steps.flatMap((step) => ('copy' in step ? step.copy : []));
  assert.deepEqual(copied, [
    '/usr/local/bin/node',
    'package.json',
    'LICENSE',
    '/app/node_modules',
    '/app/dist',
    'deploy/postrider',
  ]);
  assert.ok(image?.steps.every((step) => 'copy' in step));
});

test('in the image, `postrider` runs what the image runs', () => {
  const image = readStages().at(-1);
  const script = new URL('../../deploy/postrider', import.meta.url);
  assert.ok((statSync(script).mode & 0o111) === 0o111, 'not executable');
  assert.ok(
    readFileSync(script, 'utf8').includes(`\nexec ${image?.entrypoint?.join(' ') ?? ''} "$@"\n`),
  );
});
