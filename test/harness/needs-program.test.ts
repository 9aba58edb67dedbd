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

/** A run of one test, and what `npm run check` says at its end. */
function runTest(program: string, env: Readonly<Record<string, string>>): Run {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-needs-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'one.test.ts'),
    `import { testNeeding } from '${needsProgram.href}';
     const program = { name: '${program}', install: 'apt-get install ${program}' };
     testNeeding([program], 'the rules are valid', (path) => { console.log('called ' + path); });`,
  );
  const { PATH = '', HOME = '' } = process.env;
  const options = { cwd: folder, env: { PATH, HOME, ...env }, encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync(process.execPath, ['--test', 'one.test.ts'], options);
  const end = `const { notCheckedText } = await import('${notChecked.href}'); console.log(notCheckedText());`;
  const { stdout: told } = spawnSync(process.execPath, ['--input-type=module', '-e', end], options);
  return { code: status, output: stdout + told };
}

test('a run ends with what was not checked for want of a program, and how to get it', () => {
  const { code, output } = runTest('frobnicate', {});
  assert.equal(code, 0, output);
  assert.doesNotMatch(output, /called/);
  assert.match(
    output,
    /\nNot checked, because a program is missing:\n- frobnicate: 1 test\nInstall what is missing: npm exec -- node .*install-programs\.ts\n/,
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
