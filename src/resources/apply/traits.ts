import { PostriderError } from '../../errors.ts';
import {
  type AudienceRecord,
  formerDestinations,
  formerTraits,
  toldOf,
  type ToldTrait,
} from '../audiences/record.ts';
import type { AudienceRecords } from '../audiences/records.ts';
import type { StoredResources } from '../config/stored-resources.ts';
import { recordKey, type ResourceName } from '../config/stored.ts';
import type { Problem } from '../problem.ts';
import type { Audience, ComputedTrait, Resource } from '../resource.ts';
import { traitName } from '../schema/audience-schema.ts';
import type { DesiredResource, DesiredResources } from './desired.ts';
import { problemAt } from './document.ts';

/** The desired resources, with the traits that audiences and computed traits have from now on. */
interface SettledTraits {
  readonly desired: DesiredResources;
  readonly problems: readonly Problem[];
  /** Notes on resources whose name and trait differ, or whose trait changes, by record key. */
  readonly notes: ReadonlyMap<string, string>;
}

/**
 * A trait is derived from the name once. It stays when the name changes, unless `rename` is set, because
 * nothing would take the old trait back at the receivers.
 */
export function settleTraits(
  desired: DesiredResources,
  stored: StoredResources,
  rename: boolean,
): SettledTraits {
  const problems: Problem[] = [];
  const notes = new Map<string, string>();
  const settle = (one: DesiredResource): DesiredResource => {
    const { resource, document } = one;
    const key = recordKey(resource);
    const before = stored.get(key)?.sealed?.sealed;
    const kept = traitOf(before);
    const wanted = traitOf(resource);
    if (wanted === undefined || kept === undefined || wanted === kept) return one;
    if (rename) {
      const note = `the trait becomes ${wanted}; ${kept} stays as it is at the receivers`;
      notes.set(key, note);
      return one;
    }
    const because = `because at the receivers ${kept} would stay as it is`;
    if (wanted !== traitName(resource.name))
      problems.push(
        problemAt(document, ['trait'], `is ${kept} and changes with --rename only, ${because}`),
      );
    else if (before?.name !== resource.name)
      notes.set(
        key,
        `the trait stays ${kept}, ${because}; to change it to ${wanted}, use --rename`,
      );
    return { document, resource: Object.freeze({ ...resource, trait: kept }) };
  };
  return { desired: { ...desired, resources: desired.resources.map(settle) }, problems, notes };
}

function traitOf(resource: Resource | undefined): string | undefined {
  return resource !== undefined && 'trait' in resource ? resource.trait : undefined;
}

/**
 * The consequence of an audience's or computed trait's change for users that have its trait; undefined: none.
 * @param connected every destination of its source
 */
export function describeTold(
  { told }: AudienceRecord,
  audience: Audience | ComputedTrait,
  connected: readonly string[],
): string | undefined {
  const { id, trait, source } = audience;
  const former = formerTraits(told, audience).filter(({ members }) => members > 0);
  const present = toldOf(told, audience);
  const sentences = former.map(({ members, trait: before, source: from }) => {
    const next = present === undefined ? `${users(members)} will get ${trait}; ` : '';
    const where = from === source ? '' : ` from source ${from}`;
    return `${next}${users(members)} ${keep(members)} ${before}${where}`;
  });
  const left = formerDestinations(present, audience, connected);
  if (left.length > 0)
    sentences.push(
      `${users(present?.members ?? 0)} ${keep(present?.members ?? 0)} ${trait} at ${left.join(', ')}`,
    );
  if (sentences.length === 0) return undefined;
  return `${sentences.join('; ')} unless you retire it with \`audience-sync ${id} --retire\``;
}

/**
 * Once an audience is gone, nothing takes its trait back from users.
 * @throws PostriderError `resource-invalid` while users have one
 */
export function refuseWhileTold(records: AudienceRecords, { kind, id }: ResourceName): void {
  const told = (records.get(id)?.told ?? []).filter(({ members }) => members > 0);
  if (told.length === 0) return;
  throw new PostriderError(
    'resource-invalid',
    `${kind} ${id} cannot be deleted without --retire or --keep-traits, because ${describeUsers(told)} from it: --retire takes the trait back from these users, and with --keep-traits they keep it`,
  );
}

function describeUsers(told: readonly ToldTrait[]): string {
  return told
    .map(({ members, trait }) => `${users(members)} ${members === 1 ? 'has' : 'have'} ${trait}`)
    .join(', and ');
}

function users(count: number): string {
  return count === 1 ? '1 user' : `${count.toLocaleString('en')} users`;
}

function keep(count: number): string {
  return count === 1 ? 'keeps' : 'keep';
}
