import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import type { ToldTrait } from '../../resources/audiences/record.ts';
import { readAudienceRecords } from '../../resources/audiences/records.ts';
import { refuseWhileTold } from '../../resources/apply/traits.ts';
import { recordKey, type ResourceName } from '../../resources/config/stored.ts';
import { ofKind, type StoredResources } from '../../resources/config/stored-resources.ts';
import type { Resource } from '../../resources/resource.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { changeInWords } from '../../resources/apply/changes-in-words.ts';
import { formatChange, planDeletion } from '../../resources/apply/plan.ts';
import { parseKind } from '../../resources/present.ts';
import { audited } from '../audit.ts';
import type { Context } from '../context.ts';
import { auditedChange } from '../resources/audited-change.ts';
import { confirmRemoval } from '../resources/removal.ts';

/** `postrider delete`: one resource. */
export function registerDelete(program: Command, context: Context): void {
  program
    .command('delete')
    .description('delete a resource')
    .argument('<kind>', 'source, destination, audience, computed-trait or notice-hook')
    .argument('<id>')
    .option(
      '--retire',
      'for an audience or computed trait: send each of its users the end of the trait',
    )
    .option(
      '--keep-traits',
      'for an audience or computed trait: send nothing, so that users keep the trait',
    )
    .option('--take-over', 'also if the API manages it')
    .option('--yes', 'do not ask')
    .action((kind: string, id: string, options: DeleteOptions) =>
      deleteResource(context, kind, id, options),
    );
}

interface DeleteOptions {
  readonly retire?: true;
  readonly keepTraits?: true;
  readonly takeOver?: true;
  readonly yes?: true;
}

async function deleteResource(
  context: Context,
  kindName: string,
  id: string,
  options: DeleteOptions,
): Promise<void> {
  const kind = parseKind(kindName);
  const { kafka, log } = context;
  const topology = await context.topology();
  const stored = await readStoredResources({ kafka, topology, log });
  if (kind === 'Audience' || kind === 'ComputedTrait') {
    await deleteAudience(context, stored, { kind, id }, options);
    return;
  }
  if (options.retire === true || options.keepTraits === true)
    throw new PostriderError('usage', `--retire and --keep-traits are not for a ${kind}`);
  await writeDeletion(context, stored, { kind, id }, options);
}

async function writeDeletion(
  context: Context,
  stored: StoredResources,
  name: ResourceName,
  options: DeleteOptions,
): Promise<void> {
  const wishes = { takeOver: options.takeOver === true };
  planDeletion(stored, name, wishes);
  await confirmRemoval(context, stored, [name], options);
  const changes = await auditedChange(context, ({ resources }) => {
    const change = planDeletion(resources, name, wishes);
    const done = deletionEntry(changeInWords(change), options);
    return Promise.resolve({ changes: [change], done });
  });
  for (const change of changes) context.print(formatChange(change));
}

/** For an audience, with what its users are told. */
function deletionEntry(
  what: string,
  { retire, keepTraits }: DeleteOptions,
): { readonly action: 'delete'; readonly detail: string } {
  const told = retire === true ? ' --retire' : keepTraits === true ? ' --keep-traits' : '';
  return { action: 'delete', detail: `${what}${told}` };
}

/**
 * The resource goes first, so that no sync tells anybody meanwhile. What is known of its users outlives it
 * until all of them were told: a run that was cut off goes on when it is run again.
 */
async function deleteAudience(
  context: Context,
  stored: StoredResources,
  name: ResourceName & { readonly kind: 'Audience' | 'ComputedTrait' },
  options: DeleteOptions,
): Promise<void> {
  const { retire, keepTraits } = options;
  if (retire === true && keepTraits === true)
    throw new PostriderError('usage', 'either --retire or --keep-traits, not both');
  const records = await readAudienceRecords(context.kafka, await context.topology());
  const isChosen = retire === true || keepTraits === true;
  if (!isChosen) refuseWhileTold(records, name);
  const resource = stored.get(recordKey(name))?.sealed?.sealed;
  const isLeft = records.has(name.id) && ofSynced(stored, name.id) === undefined;
  if (!isLeft) await writeDeletion(context, stored, name, options);
  if (!isChosen && !records.has(name.id)) return;
  // Another command has no need of DuckDB.
  const { retireAudience } = await import('../../audience/retire.ts');
  const { removeUnknown } = await import('../../audience/workspace.ts');
  const { describeRetired, retireDeps, retireOptions } = await import('../audiences/retiring.ts');
  process.umask(0o077);
  const isSilent = retire !== true;
  const deps = await retireDeps(context);
  const unrecorded = resource === undefined ? undefined : unrecordedTrait(resource);
  const retiring = await retireOptions(context, isSilent);
  const end = (): ReturnType<typeof retireAudience> =>
    retireAudience(deps, name.id, unrecorded, retiring);
  // The run that was cut off has written of the deletion.
  const entry = deletionEntry(`delete ${recordKey(name)}`, options);
  const retired = await (isLeft ? audited(context, entry, end) : end());
  for (const each of retired)
    context.print(`${name.kind} ${name.id}: ${describeRetired(each, isSilent)}`);
  if (retiring.directory !== undefined)
    await removeUnknown(retiring.directory, deps.topology, (id) => id !== name.id);
}

function ofSynced(stored: StoredResources, id: string): ResourceName | undefined {
  const found = [...ofKind(stored, 'Audience'), ...ofKind(stored, 'ComputedTrait')];
  return found.find(({ name }) => name.id === id)?.name;
}

/** The trait that a former version may have told without a record. */
function unrecordedTrait(resource: Resource): ToldTrait | undefined {
  if (resource.kind !== 'Audience' && resource.kind !== 'ComputedTrait') return undefined;
  const { kind, name, source, trait, destinations } = resource;
  return { kind, name, source, trait, destinations, formerDestinations: [], members: 0 };
}
