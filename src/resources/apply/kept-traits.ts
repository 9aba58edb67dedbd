import type { DesiredResource, DesiredResources } from './desired.ts';
import { problemAt } from './document.ts';
import type { Problem } from '../problem.ts';
import type { Resource } from '../resource.ts';
import { recordKey } from '../config/stored.ts';
import type { StoredResources } from '../config/stored-resources.ts';
import { traitName } from '../schema/trait-name.ts';

/** The desired resources, with the traits that audiences and computed traits have from now on. */
export interface SettledTraits {
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
