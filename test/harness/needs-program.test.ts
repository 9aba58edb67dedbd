import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const needsProgram = new URL('needs-program.ts', import.meta.url);
const notChecked = new URL('not-checked.ts', import.meta.url);

interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** A run of Node's test runner with one test, as `npm run check` makes one. */
function runTest(program: string, env: Readonly<Record<string, string>>): Run {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-needs-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'one.test.ts'),
    `import { testNeeding } from '${needsProgram.href}';
     const program = { name: '${program}', install: 'apt-get install ${program}' };
     testNeeding([program], 'the rules are valid', (path) => { console.log('called ' + path); });`,
  );
  const setup = `--test-global-setup=${notChecked.pathname}`;
  const { PATH = '', HOME = '' } = process.env;
  const { status, stdout } = spawnSync(process.execPath, ['--test', setup, 'one.test.ts'], {
    cwd: folder,
    env: { PATH, HOME, ...env },
    encoding: 'utf8',
  });
  return { code: status, output: stdout };
}

test('a run ends with what was not checked for want of a program, and how to get it', () => {
  const { code, output } = runTest('frobnicate', {});
  assert.equal(code, 0, output);
  assert.doesNotMatch(output, /called/);
  const end = output.slice(output.indexOf('duration_ms'));
  assert.match(
    end,
    /\nNot checked:\n- the rules are valid\n +needs frobnicate: apt-get install frobnicate\n$/,
  );
});

test('with CI set, a missing program is a failure', () => {
  const { code, output } = runTest('frobnicate', { CI: 'true' });
  assert.equal(code, 1);
  assert.match(output, /frobnicate is missing: apt-get install frobnicate/);
});

test('a program that is there is called, and nothing is listed', () => {
  const { code, output } = runTest('sh', {});
  assert.equal(code, 0, output);
  assert.match(output, /called \/.*\/sh/);
  assert.doesNotMatch(output, /Not checked/);
});
