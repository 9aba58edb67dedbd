import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutantsOf, planted } from './operators.ts';

function changesOf(text: string): string[] {
  return mutantsOf('src/a.ts', text).map(({ id }) => id.slice('src/a.ts '.length));
}

test('a condition is turned around, taken for true, and taken for false', () => {
  assert.deepEqual(changesOf('function f() { if (isOpen) close(); }'), [
    'f: isOpen → !(isOpen)',
    'f: isOpen → true',
    'f: isOpen → false',
    'f: close(); → ;',
  ]);
});

test('a comparison gets another edge, and its opposite', () => {
  assert.deepEqual(changesOf('const f = () => a < b;'), ['f: a < b → a <= b', 'f: a < b → a >= b']);
  assert.deepEqual(changesOf('const f = () => a === b;'), ['f: a === b → a !== b']);
});

test('awaits, early returns, fallbacks and elements go missing', () => {
  assert.deepEqual(changesOf('class C { async m() { await x(); } }'), [
    'C.m: await x(); → ;',
    'C.m: await x() → (x())',
  ]);
  assert.ok(changesOf('function f() { if (a) return; g(); }').includes('f: return; → ;'));
  assert.deepEqual(changesOf('const f = () => a ?? b;'), ['f: a ?? b → a', 'f: a ?? b → b']);
  assert.deepEqual(changesOf('const f = () => a?.b;'), ['f: a?.b → a.b']);
  assert.deepEqual(changesOf('const f = () => [a];'), ['f: [a] → []']);
  assert.deepEqual(changesOf('const f = () => Math.min(a, b);'), ['f: Math.min → Math.max']);
});

test('a number is one more or one less, unless it is an amount of time or bytes that somebody chose', () => {
  assert.deepEqual(changesOf('const mostGaps = 3;'), ['module: 3 → 4', 'module: 3 → 2']);
  assert.deepEqual(changesOf('const waitMs = 5 + 3;'), ['module: 5 + 3 → 5 - 3']);
});

test('types, logs, metrics and messages are left alone', () => {
  const left = [
    'type A = 1 | true;',
    'import a from "./a.ts";',
    'this.#log.warn({ a: 1 }, "b");',
    'events.delivered(true);',
    'throw new RangeError("a" + 1);',
    'class C { constructor(a: number) { this.a = a; } }',
  ];
  for (const text of left) assert.deepEqual(changesOf(text), [], text);
});

test('a mutant is the same after lines have moved, and names its line', () => {
  const text = 'function f() {\n  return !a;\n}';
  const [before] = mutantsOf('src/a.ts', text);
  const [after] = mutantsOf('src/a.ts', `// More.\n\n${text}`);
  assert.equal(before?.id, after?.id);
  assert.deepEqual([before?.line, after?.line], [2, 4]);
  assert.ok(before);
  assert.equal(planted(text, before), 'function f() {\n  return a;\n}');
});

test('two equal changes in one function have different names', () => {
  const ids = changesOf('function f() { g(1); g(1); }');
  assert.equal(new Set(ids).size, ids.length);
});
