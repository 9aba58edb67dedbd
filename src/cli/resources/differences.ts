import { printableJson } from '../../printable.ts';
import { PostriderError } from '../../errors.ts';
import type { Treated } from '../../explain/preview/compare.ts';
import type { Plan } from '../../resources/apply/apply.ts';
import type { ParsedFile } from '../../resources/apply/document.ts';
import type { FieldChange } from '../../resources/apply/field-changes.ts';
import { formatChange, type Change } from '../../resources/apply/plan.ts';
import type { Context } from '../context.ts';
import { present, type OutputOptions } from '../terminal/output.ts';
import { planFrom, type FileOptions } from './plan-files.ts';
import { noteWaiting } from './removal.ts';

export interface DiffOptions extends FileOptions {
  /** The number of newest calls of each source to compare with. */
  readonly last?: number;
}

/**
 * Shows the changes that applying the files would make, each field before and after.
 * @throws PostriderError `resources-differ` if anything would change
 */
export async function showDifferences(
  context: Context,
  files: ParsedFile,
  options: DiffOptions,
): Promise<void> {
  const { changes, stored } = await planFrom(context, files, options);
  const differing = changes.filter(({ action }) => action !== 'unchanged');
  await noteWaiting(
    context,
    stored,
    differing.filter(({ action }) => action === 'delete'),
  );
  const treated =
    options.last === undefined
      ? undefined
      : await treatedBy(context, { changes: differing, stored }, options.last);
  printChanges(context, options, { isCompared: true, changes: differing, treated }, (change) =>
    [explainChange(change), ...(treated?.get(change) ?? []).map(treatedLine)].join('\n'),
  );
  if (differing.length > 0)
    throw new PostriderError(
      'resources-differ',
      `${differing.length} of ${changes.length} resources would change`,
    );
  context.note('nothing would change');
}

/** Few who compare files want that, and the router's code takes a while to load. */
async function treatedBy(
  context: Context,
  plan: Plan,
  count: number,
): Promise<ReadonlyMap<Change, readonly Treated[]>> {
  const { compareLastCalls } = await import('./last-calls.ts');
  return compareLastCalls(context, plan, count);
}

export interface Outcome {
  /** False: the files were only checked, because the stored resources are not known. */
  readonly isCompared: boolean;
  readonly changes: readonly Change[];
  /** The counts of calls that changed destinations would treat differently. */
  readonly treated?: ReadonlyMap<Change, readonly Treated[]> | undefined;
}

/** @param textOf a change, for people; undefined: they need not see it */
export function printChanges(
  context: Context,
  { output }: OutputOptions,
  { isCompared, changes, treated }: Outcome,
  textOf: (change: Change) => string | undefined,
): void {
  const answer = present(
    output,
    () => ({
      compared: isCompared,
      changes: changes.map((change) => dataOf(change, treated?.get(change))),
    }),
    () => changes.flatMap((change) => textOf(change) ?? []).join('\n'),
  );
  if (answer !== '') context.print(answer);
}

/** The change's line, and one for each field. */
function explainChange(change: Change): string {
  const head = formatChange({ ...change, fields: [] });
  return [head, ...change.fields.map(explainField)].join('\n');
}

function explainField({ path, values, isSecret }: FieldChange): string {
  if (isSecret === true) return `  ${path}: (secret) changed`;
  if (values === undefined) return `  ${path}`;
  return `  ${path}: ${valueText(values.before)} → ${valueText(values.after)}`;
}

function valueText(value: unknown): string {
  return value === undefined ? 'not set' : printableJson(value, 0);
}

/** For example `  of the last 1,000 calls of shop, 12 more and 40 fewer would be sent`. */
function treatedLine({ source, calls, more, fewer, otherBody }: Treated): string {
  const inText = (count: number): string => count.toLocaleString('en');
  const sent = [
    more === 0 ? undefined : `${inText(more)} more`,
    fewer === 0 ? undefined : `${inText(fewer)} fewer`,
  ].filter((part) => part !== undefined);
  const parts = [
    sent.length === 0 ? undefined : `${sent.join(' and ')} would be sent`,
    otherBody === 0 ? undefined : `${inText(otherBody)} would have another body`,
  ].filter((part) => part !== undefined);
  const what = parts.length === 0 ? 'none would be treated differently' : parts.join(', ');
  return `  of the last ${inText(calls)} calls of ${source}, ${what}`;
}

function dataOf(
  { action, kind, id, fields, note: noted }: Change,
  treated: readonly Treated[] | undefined,
): object {
  const last = treated === undefined ? {} : { last: treated };
  return { action, kind, id, fields: fields.map(fieldData), note: noted ?? null, ...last };
}

function fieldData({ path, values, isSecret }: FieldChange): object {
  if (isSecret === true) return { path, secret: true };
  if (values === undefined) return { path };
  const { before = null, after = null } = values;
  return { path, before, after };
}
