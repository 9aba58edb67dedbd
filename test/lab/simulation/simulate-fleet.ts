import { fork } from 'node:child_process';
import { firstLine } from '../bench/measure.ts';
import type { Fleet, FleetResult } from './fleet.ts';

/** A fleet in simulated time, in a process of its own, with the CPU time that it took. */
export async function simulateFleet(
  fleet: Fleet,
): Promise<FleetResult & { readonly cpuMs: number }> {
  const child = fork(new URL('fleet.child.ts', import.meta.url), [JSON.stringify(fleet)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  return JSON.parse(await firstLine(child)) as FleetResult & { readonly cpuMs: number };
}
