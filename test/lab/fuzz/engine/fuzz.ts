import type { Coverage } from './coverage.ts';
import { judge, signatureOf } from './judge.ts';
import { mutate, type Material } from './mutate.ts';
import { Random } from './random.ts';
import { shrink } from './shrink.ts';
import type { Finding, FuzzLimits, FuzzResult, Target } from './target.ts';

/** Looking at coverage costs milliseconds, so it is done for many inputs at once. */
const inputsPerLook = 64;
const mostFindings = 20;
const shrinkMs = 3_000;
const defaultMostBytes = 4_096;

/**
 * Feeds changed inputs to a target. An input that reaches new code is kept, and changed further.
 * @param onInput called with each input before it is fed
 */
export async function fuzz(
  target: Target,
  coverage: Coverage,
  { seed, durationMs, leastRuns, mostRuns }: FuzzLimits,
  onInput: (input: Buffer) => void,
): Promise<FuzzResult> {
  const random = new Random(seed);
  const corpus: Buffer[] = [];
  const material: Material = {
    corpus,
    words: (target.words ?? []).map((word) => Buffer.from(word, 'latin1')),
    mostBytes: target.mostBytes ?? defaultMostBytes,
  };
  const findings = new Map<string, Finding>();
  let runs = 0;
  const feed = async (input: Buffer): Promise<void> => {
    runs += 1;
    onInput(input);
    const finding = await judge(target, input);
    if (finding === undefined) return;
    const signature = signatureOf(finding);
    if (findings.has(signature)) return;
    findings.set(signature, await shrink(target, finding, performance.now() + shrinkMs));
  };
  const seen = new Set<string>();
  const endMs = performance.now() + durationMs;
  const isTimeUp = (): boolean => runs >= leastRuns && performance.now() > endMs;
  /** Finds, by halves, those that reach the blocks, and keeps them. */
  const keep = async (inputs: readonly Buffer[], wanted: Set<string>): Promise<void> => {
    const [only] = inputs;
    if (only === undefined) return;
    if (inputs.length === 1) {
      corpus.push(only);
      return;
    }
    const middle = inputs.length >> 1;
    for (const half of [inputs.slice(0, middle), inputs.slice(middle)]) {
      if (wanted.size === 0 || isTimeUp()) return;
      for (const input of half) await feed(input);
      const look = coverage.take();
      const reached = new Set([...wanted].filter((block) => look.reaches(block)));
      if (reached.size > 0) await keep(half, reached);
      for (const block of reached) wanted.delete(block);
    }
  };

  for (const each of target.seeds) {
    const input = Buffer.from(each);
    await feed(input);
    for (const block of coverage.take().blocks) seen.add(block);
    corpus.push(input);
  }
  while (!isTimeUp() && runs < mostRuns && findings.size < mostFindings) {
    const inputs = Array.from({ length: inputsPerLook }, () =>
      mutate(chosen(corpus, random), material, random),
    );
    for (const input of inputs) await feed(input);
    const fresh = new Set([...coverage.take().blocks].filter((block) => !seen.has(block)));
    for (const block of fresh) seen.add(block);
    if (fresh.size > 0) await keep(inputs, fresh);
  }
  return { runs, corpus: corpus.length, blocks: seen.size, findings: [...findings.values()] };
}

/** Half of the time one of the newest: they lead on. */
function chosen(corpus: readonly Buffer[], random: Random): Buffer {
  const from = random.below(2) === 0 ? Math.max(0, corpus.length - 16) : 0;
  return corpus[from + random.below(corpus.length - from)] ?? Buffer.alloc(0);
}
