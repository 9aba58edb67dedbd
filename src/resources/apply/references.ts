import type { DesiredResources } from './desired.ts';
import { problemAt, type SourceDocument } from './document.ts';
import type { Problem } from '../problem.ts';
import type { Audience, ComputedTrait, Destination, Resource, Source } from '../resource.ts';

/**
 * What only shows beside other resources: sources and destinations that do not exist or are not
 * connected, and write keys, traits and ids of audiences that are not unique.
 * @param kept stored resources that these neither replace nor remove; their secrets do not matter
 */
export function findReferenceProblems(
  { resources, invalidIds }: DesiredResources,
  kept: readonly Resource[],
): Problem[] {
  const known = knownOf([...kept, ...resources.map(({ resource }) => resource)], invalidIds);
  const taken: Taken = { writeKeys: new Map(), syncedIds: new Map(), traits: new Map() };
  for (const resource of kept) take(resource, taken);

  return resources.flatMap(({ resource, document }) => {
    switch (resource.kind) {
      case 'Source':
        return findTakenKeys(resource, document, taken);
      case 'Destination':
        return resource.sources.flatMap((id, index) =>
          known.hasSource(id)
            ? []
            : [problemAt(document, ['sources', index], `source ${id} does not exist`)],
        );
      case 'Audience':
      case 'ComputedTrait':
        return [
          ...findTakenNames(resource, document, taken),
          ...findMissing(resource, document, known),
        ];
    }
  });
}

interface Known {
  hasSource(id: string): boolean;
  /** `invalid` for one that was given with mistakes: those are reported already. */
  destination(id: string): Destination | 'invalid' | undefined;
}

function knownOf(resources: readonly Resource[], invalidIds: ReadonlySet<string>): Known {
  const sources = new Set(invalidIds);
  const destinations = new Map<string, Destination>();
  for (const resource of resources)
    if (resource.kind === 'Source') sources.add(resource.id);
    else if (resource.kind === 'Destination') destinations.set(resource.id, resource);
  return {
    hasSource: (id) => sources.has(id),
    destination: (id) => destinations.get(id) ?? (invalidIds.has(id) ? 'invalid' : undefined),
  };
}

/** Who has what only one can have. */
interface Taken {
  readonly writeKeys: Map<string, string>;
  readonly syncedIds: Map<string, string>;
  readonly traits: Map<string, string>;
}

function take(resource: Resource, taken: Taken): void {
  if (resource.kind === 'Source')
    for (const writeKey of resource.writeKeys) taken.writeKeys.set(writeKey, resource.id);
  if (resource.kind !== 'Audience' && resource.kind !== 'ComputedTrait') return;
  taken.syncedIds.set(resource.id, resource.kind);
  taken.traits.set(resource.trait, `${resource.kind} ${resource.id}`);
}

/** The source's own keys are taken by it from here on. */
function findTakenKeys(
  { id, writeKeys }: Source,
  document: SourceDocument,
  taken: Taken,
): Problem[] {
  return writeKeys.flatMap((writeKey, index) => {
    const owner = taken.writeKeys.get(writeKey) ?? id;
    taken.writeKeys.set(writeKey, owner);
    if (owner === id) return [];
    const reason = `${writeKey} is already a write key of source ${owner}; write keys are unique`;
    return [problemAt(document, ['writeKeys', index], reason)];
  });
}

/** Of one id there is one state, whatever its kind; of one trait there is one value at a receiver. */
function findTakenNames(
  { kind, id, name, trait }: Audience | ComputedTrait,
  document: SourceDocument,
  taken: Taken,
): Problem[] {
  const idOwner = taken.syncedIds.get(id) ?? kind;
  const traitOwner = taken.traits.get(trait) ?? `${kind} ${id}`;
  taken.syncedIds.set(id, idOwner);
  taken.traits.set(trait, traitOwner);
  const problems: Problem[] = [];
  if (idOwner !== kind)
    problems.push(
      problemAt(
        document,
        ['id'],
        `${id} is already the id of ${idOwner} ${id}; audiences and computed traits share their ids`,
      ),
    );
  else if (traitOwner !== `${kind} ${id}`)
    problems.push(
      problemAt(
        document,
        ['name'],
        `${name} is delivered as trait ${trait}, which is already the trait of ${traitOwner}`,
      ),
    );
  return problems;
}

function findMissing(
  { source, destinations = [] }: Audience | ComputedTrait,
  document: SourceDocument,
  known: Known,
): Problem[] {
  if (!known.hasSource(source))
    return [problemAt(document, ['source'], `source ${source} does not exist`)];
  return destinations.flatMap((id, index) => {
    const destination = known.destination(id);
    if (destination === 'invalid' || destination?.sources.includes(source) === true) return [];
    const reason =
      destination === undefined
        ? `destination ${id} does not exist`
        : `destination ${id} takes nothing from source ${source}; add it to the destination's sources`;
    return [problemAt(document, ['destinations', index], reason)];
  });
}
