import type { SyncEntry } from '../../resources/audiences/record.ts';
import { formatTable } from '../../resources/table.ts';

const head = ['STARTED', 'TRAIT', 'WHAT', 'OUTCOME', 'USERS', 'CHANGES', 'TOOK', 'WHY'];

/** What the last syncs did, the newest first, in lines. */
export function presentHistory(syncs: readonly SyncEntry[]): string {
  return formatTable(
    head,
    syncs.map((entry) => [
      entry.startedAt,
      entry.trait,
      entry.action,
      entry.outcome,
      String(entry.members),
      changesOf(entry),
      `${(entry.durationMs / 1_000).toFixed(1)} s`,
      entry.reason ?? '',
    ]),
  );
}

function changesOf({ added, removed, changed, baseline, forgotten }: SyncEntry): string {
  const counts = [
    [added, '+'],
    [removed, '-'],
    [changed, '~'],
    [baseline, '='],
    [forgotten, 'x'],
  ] as const;
  return counts.flatMap(([count, sign]) => (count === 0 ? [] : [`${sign}${count}`])).join(' ');
}
