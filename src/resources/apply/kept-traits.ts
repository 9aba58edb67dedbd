import type { DesiredResource, DesiredResources } from './desired.ts';
import { problemAt } from './document.ts';
import type { Problem } from '../problem.ts';
import type { Resource } from '../resource.ts';
import { recordKey } from '../config/stored.ts';
import type { StoredResources } from '../config/stored-resources.ts';
import { traitName } from '../schema/trait-name.ts';

/** What was desired, with the traits that audiences and computed traits have from now on. */
export interface SettledTraits {
  readonly desired: DesiredResources;
  readonly problems: readonly Problem[];
  /** What to say of a resource whose name and trait part, or whose trait changes, by record key. */
  readonly notes: ReadonlyMap<string, string>;
}

/**
 * A trait follows from the name once. It stays when the name changes, unless `rename` says otherwise:
 * nobody would ever take the old one back at the receivers.
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
      const note = `delivered as ${wanted} from now on; at the receivers, ${kept} stays as it is`;
      notes.set(key, note);
      return one;
    }
    const because = `because at the receivers ${kept} would stay as it is`;
    if (wanted !== traitName(resource.name))
      problems.push(
        problemAt(document, ['trait'], `is ${kept} and changes with --rename only, ${because}`),
      );
    else if (before?.name !== resource.name)
      notes.set(key, `still delivered as ${kept}, ${because}; --rename makes it ${wanted}`);
    return { document, resource: Object.freeze({ ...resource, trait: kept }) };
  };
  return { desired: { ...desired, resources: desired.resources.map(settle) }, problems, notes };
}

function traitOf(resource: Resource | undefined): string | undefined {
  return resource !== undefined && 'trait' in resource ? resource.trait : undefined;
}
