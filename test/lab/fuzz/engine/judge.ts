import type { Finding, Target } from './target.ts';

/** What one input may take beside its result. */
const mostCpuMs = 500;
const mostGrowthBytes = 384 * 1024 * 1024;
/** A busy machine, a full collection or a first compilation may slow one run, not three. */
const slowRuns = 3;

/** Runs the target on one input; undefined if all rules hold. */
export async function judge(target: Target, input: Buffer): Promise<Finding | undefined> {
  const limitMs = target.mostCpuMs ?? mostCpuMs;
  const before = peakBytes();
  let fastestMs = Infinity;
  for (let run = 0; run < slowRuns; run += 1) {
    const usage = process.threadCpuUsage();
    try {
      // Rules about memory sharing would be broken by a target that changes its input.
      await target.check(Buffer.from(input));
    } catch (error) {
      return { kind: 'failure', what: described(error), input };
    }
    const { user, system } = process.threadCpuUsage(usage);
    fastestMs = Math.min(fastestMs, (user + system) / 1_000);
    const grown = peakBytes() - before;
    if (grown > mostGrowthBytes) {
      const what = `memory grew by ${Math.round(grown / 2 ** 20)} MB`;
      return { kind: 'memory', what, input };
    }
    if (fastestMs <= limitMs) return undefined;
  }
  return { kind: 'slow', what: `took ${Math.round(fastestMs)} ms of CPU time`, input };
}

/** Only ever grows, so that memory that was freed again is seen too. */
function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}

/** Two findings with the same description are one: the error's kind and where it came from. */
function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = /(?:src|fuzz\/targets|node_modules)\/[^\s)]+/.exec(error.stack ?? '')?.[0] ?? '';
  const [sentence = ''] = error.message.split('\n');
  return `${error.name}: ${sentence.slice(0, 200)} (${place})`;
}

/** What tells findings apart: texts may quote the input. */
export function signatureOf({ kind, what }: Finding): string {
  return `${kind} ${what.replace(/:.*\(/, '(').replaceAll(/\d+ m?s?\b/gi, '')}`;
}
