import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { PassedTests } from './passed.ts';

const project: Readonly<Record<string, string>> = {
  'package.json': '{}',
  'package-lock.json': '{}',
  'tsconfig.json': '{}',
  'docs/page.md': 'a page',
  'src/cli/main.ts': "import '../shown.ts';",
  'src/shown.ts': '',
  'src/routing.ts': "import { limit } from './limit.ts';",
  'src/limit.ts': 'export const limit = 1;',
  'test/routing.test.ts': "import '../src/routing.ts';",
  'test/pages.test.ts': "read('docs');",
  'test/command.test.ts': "import { spawn } from 'node:child_process';",
};

/** Which test files run again after a change, of those that had all passed. */
function runAgain(change: Readonly<Record<string, string>>): string[] {
  const root = mkdtempSync(join(tmpdir(), 'postrider-passed-'));
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      writeFileSync(join(root, file), text);
    }
  };
  write(project);
  const tests = Object.keys(project).filter((file) => file.endsWith('.test.ts'));
  const before = new PassedTests(root);
  for (const file of tests) before.add(file, before.stateOf(file));
  before.write();
  write(change);
  const now = new PassedTests(root);
  const again = tests.filter((file) => !now.has(file));
  rmSync(root, { recursive: true });
  return again.map((file) => file.replace('test/', '').replace('.test.ts', ''));
}

test('nothing runs again while nothing changes', () => {
  assert.deepEqual(runAgain({}), []);
});

test('a test runs again when a file changes that it loads through another', () => {
  assert.deepEqual(runAgain({ 'src/limit.ts': 'export const limit = 2;' }), ['routing']);
});

test('a test that names a folder runs again when a file is changed, or added, in it', () => {
  assert.deepEqual(runAgain({ 'docs/page.md': 'another text' }), ['pages']);
  assert.deepEqual(runAgain({ 'docs/more/second.md': 'a second page' }), ['pages']);
});

test('a test that starts processes runs again when a command changes', () => {
  assert.deepEqual(runAgain({ 'src/shown.ts': 'export {};' }), ['command']);
});

test('all run again with other packages', () => {
  assert.deepEqual(runAgain({ 'package-lock.json': '{"a":1}' }), ['routing', 'pages', 'command']);
});
