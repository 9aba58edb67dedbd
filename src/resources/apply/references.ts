import type { DesiredResources } from './desired.ts';
import { hintAt } from '../../near.ts';
import { problemAt, type SourceDocument } from './document.ts';
import type { AudienceRecords } from '../audiences/records.ts';
import type { Problem } from '../problem.ts';
import type { Audience, ComputedTrait, Destination, Resource, Source } from '../resource.ts';

/**
 * Finds problems that only show beside other resources: sources and destinations that do not exist or are not
 * connected, and write keys and ids of audiences that are not unique.
 * @param kept stored resources that these neither replace nor remove; their secrets do not matter. Undefined
 * if they are not known: then nothing counts as missing
 */
export function findReferenceProblems(
  { resources, invalidIds }: DesiredResources,
  kept: readonly Resource[] | undefined,
): Problem[] {
  const desired = resources.map(({ resource }) => resource);
  const known = knownOf([...(kept ?? []), ...desired], invalidIds, kept !== undefined);
  const taken: Taken = { writeKeys: new Map(), syncedIds: new Map() };
  for (const resource of kept ?? []) take(resource, taken);

  return resources.flatMap(({ resource, document }) => {
    switch (resource.kind) {
      case 'Source':
        return findTakenKeys(resource, document, taken);
      case 'Destination':
        return resource.sources.flatMap((id, index) =>
          known.hasSource(id) ? [] : [problemAt(document, ['sources', index], noSource(id, known))],
        );
      case 'Audience':
      case 'ComputedTrait':
        return [
          ...findTakenId(resource, document, taken),
          ...findMissing(resource, document, known),
        ];
      case 'NoticeHook':
        return [];
    }
  });
}

interface Known {
  hasSource(id: string): boolean;
  readonly sourceIds: Iterable<string>;
  readonly destinationIds: Iterable<string>;
  /**
   * `unclear` for a destination with mistakes, which are reported already, and for one that may exist without
   * being known.
   */
  destination(id: string): Destination | 'unclear' | undefined;
}

function knownOf(
  resources: readonly Resource[],
  invalidIds: ReadonlySet<string>,
  areAll: boolean,
): Known {
  const sources = new Set<string>();
  const destinations = new Map<string, Destination>();
  for (const resource of resources)
    if (resource.kind === 'Source') sources.add(resource.id);
    else if (resource.kind === 'Destination') destinations.set(resource.id, resource);
  return {
    hasSource: (id) => sources.has(id) || invalidIds.has(id) || !areAll,
    sourceIds: sources,
    destinationIds: new Set(destinations.keys()),
    destination: (id) =>
      destinations.get(id) ?? (invalidIds.has(id) || !areAll ? 'unclear' : undefined),
  };
}

function noSource(id: string, { sourceIds }: Known): string {
  return `source ${id} does not exist${hintAt(id, sourceIds)}`;
}

/** The owners of what must be unique. */
interface Taken {
  readonly writeKeys: Map<string, string>;
  readonly syncedIds: Map<string, string>;
}

function take(resource: Resource, taken: Taken): void {
  if (resource.kind === 'Source')
    for (const writeKey of resource.writeKeys) taken.writeKeys.set(writeKey, resource.id);
  if (isSynced(resource)) taken.syncedIds.set(resource.id, resource.kind);
}

function isSynced(resource: Resource): resource is Audience | ComputedTrait {
  return resource.kind === 'Audience' || resource.kind === 'ComputedTrait';
}

/** From here on, the source's own keys are taken. */
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

/** An id has one record of state, whatever the kind. */
function findTakenId(
  { kind, id }: Audience | ComputedTrait,
  document: SourceDocument,
  taken: Taken,
): Problem[] {
  const owner = taken.syncedIds.get(id) ?? kind;
  taken.syncedIds.set(id, owner);
  if (owner === kind) return [];
  const reason = `${id} is already the id of ${owner} ${id}; audiences and computed traits share their ids`;
  return [problemAt(document, ['id'], reason)];
}

function findMissing(
  { source, destinations = [] }: Audience | ComputedTrait,
  document: SourceDocument,
  known: Known,
): Problem[] {
  if (!known.hasSource(source)) return [problemAt(document, ['source'], noSource(source, known))];
  return destinations.flatMap((id, index) => {
    const destination = known.destination(id);
    if (destination === 'unclear' || destination?.sources.includes(source) === true) return [];
    const reason =
      destination === undefined
        ? `destination ${id} does not exist${hintAt(id, known.destinationIds)}`
        : `destination ${id} does not receive calls of source ${source}; add the source to its sources`;
    return [problemAt(document, ['destinations', index], reason)];
  });
}

/**
 * At a receiver, a trait has one value.
 * @param kept as of `findReferenceProblems`
 * @param records of what users have been told
 */
export function findTraitProblems(
  { resources }: DesiredResources,
  kept: readonly Resource[],
  records: AudienceRecords,
): Problem[] {
  const owners = new Map<string, string>();
  const ownerOf = ({ kind, id, trait }: Audience | ComputedTrait): string => {
    const owner = owners.get(trait) ?? `${kind} ${id}`;
    owners.set(trait, owner);
    return owner;
  };
  kept.filter(isSynced).forEach(ownerOf);
  return resources.flatMap(({ resource, document }) => {
    if (!isSynced(resource)) return [];
    const { kind, id, name, trait } = resource;
    const owner = ownerOf(resource);
    const refuse = (why: string): Problem[] => [
      problemAt(document, ['name'], `${name} is delivered as trait ${trait}, which ${why}`),
    ];
    if (owner !== `${kind} ${id}`) return refuse(`is already the trait of ${owner}`);
    const former = formerOwner(records, id, trait);
    if (former === undefined) return [];
    return refuse(
      `users still have from ${former}: \`audience-sync ${former} --retire\` takes it back from them first`,
    );
  });
}

/** The id of another audience that may still take this trait back from users, before this one has said it. */
function formerOwner(records: AudienceRecords, id: string, trait: string): string | undefined {
  if (records.get(id)?.told.some((each) => each.trait === trait) === true) return undefined;
  for (const [other, { told }] of records)
    if (other !== id && told.some((each) => each.trait === trait && each.members > 0)) return other;
  return undefined;
}
