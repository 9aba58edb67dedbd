import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';

interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = globSync('.github/workflows/*.yml', { cwd: root }).sort();
const read = (file: string): string => readFileSync(`${root}/${file}`, 'utf8');

testNeeding([programs.actionlint], 'actionlint finds nothing in the workflows', (actionlint) => {
  const { status, stdout } = spawnSync(actionlint, { cwd: root, encoding: 'utf8' });
  assert.equal(stdout, '');
  assert.equal(status, 0);
});

test('every action is pinned by its commit, with the version beside it', () => {
  for (const file of files)
    for (const [, used = ''] of read(file).matchAll(/uses: (.*)/g))
      assert.match(used, /^[\w-]+\/[\w-]+@[a-f\d]{40} # v\d+\.\d+\.\d+$/, file);
});

test('workflows may read, and only what publishes may more, after a person has approved it', () => {
  const rights: Record<string, unknown> = {};
  for (const file of files) {
    const { permissions, jobs } = parse(read(file)) as Workflow;
    assert.deepEqual(permissions, { contents: 'read' }, file);
    for (const [name, job] of Object.entries(jobs)) {
      if (job.permissions === undefined) continue;
      assert.equal(job.environment, 'release', name);
      rights[name] = job.permissions;
    }
  }
  assert.deepEqual(rights, {
    npm: { 'id-token': 'write' },
    publish: { 'id-token': 'write', contents: 'write' },
  });
});

test('secrets are given to steps that log in, and to no other', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as {
    jobs: Record<string, { steps: { run?: string; env?: Record<string, string> }[] }>;
  };
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const withSecrets = steps.filter(({ env }) => JSON.stringify(env ?? {}).includes('secrets.'));
  assert.equal(withSecrets.length, 2);
  for (const { run = '' } of withSecrets)
    for (const line of run.trim().split('\n')) assert.match(line, / login .*--password-stdin /);
});

test('the scripts that workflows run are those of the project', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
  for (const file of files)
    for (const [, name = ''] of read(file).matchAll(/npm run ([\w:-]+)/g))
      assert.ok(name in scripts, `${file}: ${name}`);
});
