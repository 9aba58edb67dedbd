import { Worker } from 'node:worker_threads';
import type { Finding, FuzzLimits, FuzzResult } from './target.ts';

/** Place of the number of inputs so far, of the current one's length, and of its bytes. */
export const countAt = 0;
export const lengthAt = 1;
export const inputAt = 8;
export const mostSharedBytes: number = 1024 * 1024;

/** What the worker is told. */
export interface Task {
  readonly module: string;
  readonly limits: FuzzLimits;
  readonly shared: SharedArrayBuffer;
}

const hangMs = 30_000;
const lookMs = 1_000;
const heapMb = 1_024;

/**
 * Fuzzes one target in a thread of its own, which can be ended where an input makes it run forever, fill its
 * memory, or end with an error that nobody catches.
 * @param module URL of the target's module
 */
export async function fuzzApart(module: URL, limits: FuzzLimits): Promise<FuzzResult> {
  const shared = new SharedArrayBuffer(inputAt + mostSharedBytes);
  const task: Task = { module: module.href, limits, shared };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: task,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  const numbers = new Int32Array(shared, 0, 2);
  let result: FuzzResult | undefined;
  let fatal: Finding | undefined;
  let lastCount = -1;
  let sinceMs = performance.now();
  const watch = setInterval(() => {
    const count = Atomics.load(numbers, countAt);
    if (count !== lastCount) {
      lastCount = count;
      sinceMs = performance.now();
    } else if (performance.now() - sinceMs > hangMs) {
      fatal ??= { kind: 'hang', what: `no end after ${hangMs / 1_000} s`, input: current(shared) };
      void worker.terminate();
    }
  }, lookMs);
  worker.on('message', (found: FuzzResult) => {
    result = revived(found);
  });
  worker.on('error', (error) => {
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    fatal ??= { kind: 'crash', what: what.slice(0, 1_000), input: current(shared) };
  });
  await new Promise((resolve) => worker.once('exit', resolve));
  clearInterval(watch);
  if (fatal === undefined && result !== undefined) return result;
  const runs = Atomics.load(numbers, countAt);
  const findings = [...(result?.findings ?? []), ...(fatal === undefined ? [] : [fatal])];
  return { runs, corpus: 0, blocks: 0, findings };
}

function current(shared: SharedArrayBuffer): Buffer {
  const length = Atomics.load(new Int32Array(shared, 0, 2), lengthAt);
  return Buffer.from(new Uint8Array(shared, inputAt, length));
}

/** Buffers cross between threads as plain bytes. */
function revived(result: FuzzResult): FuzzResult {
  return {
    ...result,
    findings: result.findings.map((each) => ({ ...each, input: Buffer.from(each.input) })),
  };
}

/** A finding for a person, with its input if that is short. */
export function describeFinding(finding: Finding): string {
  const { kind, what, input } = finding;
  const shown = input.length <= 200 ? ` ${JSON.stringify(input.toString('latin1'))}` : '';
  return `${kind}: ${what}; input of ${input.length} bytes${shown}`;
}
