import { globSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './operators.ts';

export const root: string = fileURLToPath(new URL('../../../', import.meta.url));

const targets = [
  'src/delivery/{engine,disposal,verdict,due-gate,taken,waiting-records,awaiting-config,fencing,retry-policy,packing}.ts',
  'src/delivery/{bundle,lane}/*.ts',
  'src/kafka/{fetch,consume,follow,produce}/*.ts',
  'src/kafka/cluster/latest-metadata.ts',
];
const leftAlone = new Set([
  // Its tests need a real broker.
  'src/kafka/produce/transactions.ts',
  // They only count and tell.
  'src/delivery/lane/figures.ts',
  'src/kafka/consume/consume-metrics.ts',
  'src/kafka/produce/events.ts',
]);

/** What is mutated: the engine, the cursors, the groups, the followers and the producer. */
export function targetFiles(glob = '**'): string[] {
  return globSync(targets, { cwd: root })
    .filter((file) => !leftAlone.has(file) && matchesGlob(file, glob))
    .sort();
}

/**
 * So many of the mutants, by chance, and spread evenly: each file has its share. A greater sample of the same
 * chance holds all of a smaller one.
 */
export function sample(
  byFile: ReadonlyMap<string, readonly Mutant[]>,
  count: number,
  random: () => number,
): Mutant[] {
  const placed = [...byFile.values()].flatMap((mutants) =>
    shuffled(mutants, random).map((mutant, index) => ({
      mutant,
      at: (index + random()) / mutants.length,
    })),
  );
  return placed
    .sort((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

function shuffled<T>(all: readonly T[], random: () => number): T[] {
  return all
    .map((each) => ({ each, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ each }) => each);
}
