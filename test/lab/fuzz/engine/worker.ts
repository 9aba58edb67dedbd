import { parentPort, workerData } from 'node:worker_threads';
import { countAt, inputAt, lengthAt, mostSharedBytes, type Task } from './apart.ts';
import { Coverage } from './coverage.ts';
import { fuzz } from './fuzz.ts';
import type { Target } from './target.ts';

const { module, limits, shared } = workerData as Task;
const numbers = new Int32Array(shared, 0, 2);
const bytes = new Uint8Array(shared, inputAt);

// Code counts from its compilation on, so the target comes after.
const coverage = Coverage.open();
const { target } = (await import(module)) as { readonly target: Target };
coverage.alsoOf(target.covers ?? []);

const result = await fuzz(target, coverage, limits, (input) => {
  bytes.set(input.subarray(0, mostSharedBytes));
  Atomics.store(numbers, lengthAt, Math.min(input.length, mostSharedBytes));
  Atomics.add(numbers, countAt, 1);
});
coverage.close();
await target.close?.();
parentPort?.postMessage(result);
