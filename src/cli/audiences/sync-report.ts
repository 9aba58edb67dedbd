import type { SyncProgress } from '../../audience/open-audience.ts';
import { describeLeftOut, type ReadReport } from '../../audience/read/report.ts';
import { kindOf, type Change, type SyncTarget } from '../../audience/changes.ts';
import type { SyncResult } from '../../audience/sync.ts';
import { PostriderError } from '../../errors.ts';
import { printable } from '../../printable.ts';
import type { SyncEntry } from '../../resources/audiences/record.ts';
import { formatTable } from '../../resources/table.ts';

/** The result of a sync. */
export type SyncOutcome = {
  readonly audience: SyncTarget;
  readonly dryRun: boolean;
} & (
  | {
      readonly result: SyncResult;
      readonly read: ReadReport | undefined;
      readonly error?: undefined;
    }
  | { readonly result?: undefined; readonly error: Error }
);

const signs = { added: '+', removed: '-', changed: '~', baseline: '=', forgotten: 'x' } as const;

/** For a person, in lines. */
export function presentSync(outcome: SyncOutcome): string[] {
  const { audience, dryRun, result } = outcome;
  if (result === undefined) return [];
  const { members, added, removed, changed, baseline, forgotten, tooLarge, durationMs } = result;
  const counts = [
    `${added} added`,
    `${removed} removed`,
    ...(audience.kind === 'ComputedTrait' ? [`${changed} changed`] : []),
    ...(baseline > 0 ? [`${baseline} sent again`] : []),
    ...(forgotten > 0 ? [`${forgotten} deleted and not sent`] : []),
    ...(tooLarge > 0 ? [`${tooLarge} left out, because their calls would be too large`] : []),
  ];
  const took = `${members} users in ${(durationMs / 1_000).toFixed(1)} s`;
  const note = dryRun ? ' (dry run: nothing was sent)' : '';
  const line = `${audience.kind} ${audience.id}: ${counts.join(', ')}; ${took}${note}`;
  const sample = dryRun ? result.sample.map((change) => `  ${presentChange(change)}`) : [];
  return [line, ...presentRows(outcome.read), ...sample];
}

/** Facts about the data that a person should know; usually none. */
function presentRows(read: ReadReport | undefined): string[] {
  if (read === undefined) return [];
  const { rows, duplicates, conflicts, placeholderIds, leftOut } = read;
  const leftOutRows = describeLeftOut(leftOut);
  const facts = [
    ...(duplicates > 0 ? [`${duplicates} repeated a user`] : []),
    ...(conflicts > 0 ? [`${conflicts} users had several values, of which one was used`] : []),
    ...(placeholderIds > 0
      ? [`${placeholderIds} ids look like no users, such as NULL, NaN or Total`]
      : []),
    ...(leftOutRows === '' ? [] : [`left out: ${leftOutRows}`]),
  ];
  return facts.length === 0 ? [] : [`  of ${rows} rows ${facts.join('; ')}`];
}

function presentChange(change: Change): string {
  const { userId, value, was } = change;
  const kind = kindOf(change);
  const values = kind === 'changed' ? ` ${was ?? ''} → ${value ?? ''}` : '';
  return printable(`${signs[kind]} ${userId}${values}`);
}

/** For programs: one object with a list of the results of all syncs. */
export function syncData(outcomes: readonly SyncOutcome[]): object {
  const audiences = outcomes.map((outcome) => {
    const { audience, dryRun, result } = outcome;
    const { kind, id, trait } = audience;
    if (result === undefined) return { kind, id, trait, dryRun, error: outcome.error.message };
    const { sample, ...counts } = result;
    const { read } = outcome;
    const shown = { ...counts, record: undefined, read, sample: dryRun ? sample : undefined };
    return { kind, id, trait, dryRun, ...shown };
  });
  return { audiences };
}

/** The stage of a sync, in words. */
export function describeProgress({ id }: SyncTarget, { stage, done }: SyncProgress): string {
  const count = done.toLocaleString('en');
  const stages: Readonly<Record<SyncProgress['stage'], string>> = {
    fencing: 'making sure that no other sync of it is running',
    remembering: `reading what was sent before: ${count} records`,
    reading: 'reading its data',
    comparing: 'comparing',
    sending: `${count} changes sent`,
  };
  return `${id}: ${stages[stage]}`;
}

/** @throws PostriderError the reason of the only sync, or `input-invalid` for some of several */
export function failIfFailed(outcomes: readonly SyncOutcome[]): void {
  const failures = outcomes.flatMap(({ error }) => error ?? []);
  const [failure] = failures;
  if (failure === undefined) return;
  if (outcomes.length === 1) throw failure;
  const message = `${failures.length} of ${outcomes.length} were not synced, for the reasons above`;
  throw new PostriderError('input-invalid', message);
}

const head = ['STARTED', 'TRAIT', 'WHAT', 'OUTCOME', 'USERS', 'CHANGES', 'TOOK', 'WHY'];

/** The last syncs, the newest first, in lines. */
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
