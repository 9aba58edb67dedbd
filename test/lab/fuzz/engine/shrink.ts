import { judge, signatureOf } from './judge.ts';
import type { Finding, Target } from './target.ts';

/** Leaves parts out, from large to single bytes, for as long as the same rule is broken. */
export async function shrink(target: Target, finding: Finding, untilMs: number): Promise<Finding> {
  if (finding.kind !== 'failure') return finding;
  const signature = signatureOf(finding);
  let smallest = finding;
  for (let size = finding.input.length >> 1; size > 0; size >>= 1) {
    for (let from = 0; from < smallest.input.length && performance.now() < untilMs;) {
      const { input } = smallest;
      const less = Buffer.concat([input.subarray(0, from), input.subarray(from + size)]);
      const found = await judge(target, less);
      if (found !== undefined && signatureOf(found) === signature) smallest = found;
      else from += size;
    }
  }
  return smallest;
}
