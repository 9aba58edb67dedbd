import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noteNotChecked } from './not-checked.ts';
import { findProgram, type Program } from './programs.ts';

/**
 * A test that calls a program from outside npm, or reads its files; `run` gets the paths, in order.
 * Where one is missing the run goes on and ends with a list of what was not checked and how to get
 * it; with `CI` set, that is a failure.
 */
export function testNeeding<const Needed extends readonly Program[]>(
  needed: Needed,
  title: string,
  run: (...paths: { [K in keyof Needed]: string }) => void | Promise<void>,
): void {
  test(title, async (context) => {
    const found = needed.map((program) => ({ ...program, path: findProgram(program) }));
    const missing = found.filter(({ path }) => path === undefined);
    for (const { name } of missing) noteNotChecked(title, name);
    if (missing.length === 0) {
      await run(...(found.map(({ path }) => path) as { [K in keyof Needed]: string }));
      return;
    }
    const sentence = missing
      .map(({ name, install }) => `${name} is missing: ${install}`)
      .join('; ');
    assert.ok((process.env['CI'] ?? '') === '', sentence);
    context.skip(sentence);
  });
}
