import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const page = 'docs/design/walk.md';
const link = /\[`([^`]+)`\]\(([^)]+\.ts)\)/g;

/** The functions, classes, types and methods (`Class.method`) that a file declares. */
function declaredIn(path: string): ReadonlySet<string> {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (ts.isFunctionDeclaration(statement) || ts.isInterfaceDeclaration(statement))
      names.add(statement.name?.text ?? '');
    if (!ts.isClassDeclaration(statement)) continue;
    const owner = statement.name?.text ?? '';
    names.add(owner);
    for (const { name } of statement.members)
      if (name !== undefined && 'text' in name) names.add(`${owner}.${name.text}`);
  }
  return names;
}

test('each function that the walk along an event names is in the file that it links to', () => {
  const links = [...readFileSync(page, 'utf8').matchAll(link)];
  assert.ok(links.length > 50);
  const missing = links.filter(
    ([, name = '', path = '']) => !declaredIn(join('docs/design', path)).has(name),
  );
  assert.deepEqual(
    missing.map(([, name, path]) => `${name} in ${path}`),
    [],
  );
});

test('the walk is at most 150 lines', () => {
  assert.ok(readFileSync(page, 'utf8').split('\n').length <= 150);
});

test('the files and folders of src that CONTRIBUTING.md names are there', () => {
  const named = readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/`(src\/[^`*]+)`/g);
  const missing = [...named].map(([, path = '']) => path).filter((path) => !existsSync(path));
  assert.deepEqual(missing, []);
});
