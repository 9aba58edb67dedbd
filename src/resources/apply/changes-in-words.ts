import { shortened } from '../../event/last-answer.ts';
import { enumeratedBy, printableJson } from '../../printable.ts';
import { secretMask } from '../schema/schema-parts.ts';
import { fieldsOf, type FieldChange } from './field-changes.ts';
import type { Change } from './plan.ts';

/**
 * Changes as the audit has them: each field by its name, with its former and its new value. What is secret is not in
 * them, nor anything that grants access by itself. Bounded, because an apply may change all resources.
 */

const mostValueCharacters = 200;
const mostCharacters = 3_000;

/**
 * Deletions and updates come first: of thousands of changes, those of what exists matter most.
 *
 * `update Destination/crm: webhooks[0].url "https://a.example/" → "https://b.example/", sharedSecret (secret)`
 */
export function changesInWords(changes: readonly Change[]): string {
  const ordered = changes.toSorted((a, b) => order[a.action] - order[b.action]);
  return enumeratedBy(ordered, changeInWords, '; ');
}

const order: Readonly<Record<Change['action'], number>> = {
  delete: 0,
  update: 1,
  create: 2,
  unchanged: 3,
};

export function changeInWords(change: Change): string {
  const what = `${change.action} ${change.kind}/${change.id}`;
  const fields = fieldsIn(change);
  if (fields.length === 0) return what;
  return shortened(`${what}: ${fields.map(fieldInWords).join(', ')}`, mostCharacters);
}

function fieldsIn({ action, resource, deleted, fields }: Change): readonly FieldChange[] {
  if (action === 'create' && resource !== undefined) return fieldsOf({ after: resource });
  return deleted === undefined ? fields : fieldsOf({ before: deleted.sealed });
}

function fieldInWords({ path, values, isSecret }: FieldChange): string {
  if (isSecret === true) return `${path} (secret)`;
  if (values === undefined) return path;
  const { before, after } = values;
  const sides = [before, after].filter((side) => side !== undefined).map(valueInWords);
  if (before === undefined) return `${path} ${sides.join('')}`;
  return `${path} ${sides.join(' → ')}${after === undefined ? ' → not set' : ''}`;
}

function valueInWords(value: unknown): string {
  const text = printableJson(value, 0).replaceAll(JSON.stringify(secretMask), '(secret)');
  return shortened(text, mostValueCharacters);
}
