import { printableJson } from '../../printable.ts';
import { PostriderError } from '../../errors.ts';
import type { ParsedFile } from '../../resources/apply/document.ts';
import type { FieldChange } from '../../resources/apply/field-changes.ts';
import { formatChange, type Change } from '../../resources/apply/plan.ts';
import type { Context } from '../context.ts';
import { present, type OutputOptions } from '../terminal/output.ts';
import { planFrom, type FileOptions } from './plan-files.ts';
import { noteWaiting } from './removal.ts';

/**
 * Shows the changes that applying the files would make, each field before and after.
 * @throws PostriderError `resources-differ` if anything would change
 */
export async function showDifferences(
  context: Context,
  files: ParsedFile,
  options: FileOptions,
): Promise<void> {
  const { changes, stored } = await planFrom(context, files, options);
  const differing = changes.filter(({ action }) => action !== 'unchanged');
  await noteWaiting(
    context,
    stored,
    differing.filter(({ action }) => action === 'delete'),
  );
  printChanges(context, options, { isCompared: true, changes: differing }, explainChange);
  if (differing.length > 0)
    throw new PostriderError(
      'resources-differ',
      `${differing.length} of ${changes.length} resources would change`,
    );
  context.note('nothing would change');
}

export interface Outcome {
  /** False: the files were only checked, because the stored resources are not known. */
  readonly isCompared: boolean;
  readonly changes: readonly Change[];
}

/** @param textOf a change, for people; undefined: they need not see it */
export function printChanges(
  context: Context,
  { output }: OutputOptions,
  { isCompared, changes }: Outcome,
  textOf: (change: Change) => string | undefined,
): void {
  const answer = present(
    output,
    () => ({ compared: isCompared, changes: changes.map(dataOf) }),
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

function dataOf({ action, kind, id, fields, note: noted }: Change): object {
  return { action, kind, id, fields: fields.map(fieldData), note: noted ?? null };
}

function fieldData({ path, values, isSecret }: FieldChange): object {
  if (isSecret === true) return { path, secret: true };
  if (values === undefined) return { path };
  const { before = null, after = null } = values;
  return { path, before, after };
}
