import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeFinding, fuzzApart } from './engine/apart.ts';
import { keptInputs } from './engine/corpus.ts';
import { judge } from './engine/judge.ts';
import type { Target } from './engine/target.ts';
import { moduleOf, targetNames } from './engine/targets.ts';

/** Many inputs on a fast machine, enough on a busy one. */
const limits = { seed: 1, durationMs: 250, leastRuns: 64, mostRuns: 1_000 };

for (const name of targetNames)
  test(`${name} stands what is fed to it`, { timeout: 120_000 }, async () => {
    const { findings, runs, blocks } = await fuzzApart(moduleOf(name), limits);
    assert.deepEqual(findings.map(describeFinding), []);
    assert.ok(runs >= limits.leastRuns && blocks > 10, 'it was fed, and code was reached');
  });

for (const name of targetNames) {
  const inputs = keptInputs(name);
  if (inputs.size > 0)
    test(`${name} stands what broke it before`, async () => {
      const { target } = (await import(moduleOf(name).href)) as { readonly target: Target };
      for (const [file, input] of inputs) {
        const finding = await judge(target, input);
        assert.equal(finding && describeFinding(finding), undefined, file);
      }
      await target.close?.();
    });
}
