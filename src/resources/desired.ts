import type { SourceDocument } from './document.ts';
import { formatPath, type Problem } from './problem.ts';
import type { Resource, Source } from './resource.ts';
import { parseResource } from './schema.ts';
import { recordKey } from './stored.ts';

/** A valid resource and where it was written. */
interface DesiredResource {
  readonly resource: Resource;
  readonly document: SourceDocument;
}

export interface DesiredResources {
  readonly resources: readonly DesiredResource[];
  readonly problems: readonly Problem[];
  /** Sources that were given but are not valid: that they are missing is not a second problem. */
  readonly invalidSourceIds: ReadonlySet<string>;
}

/** Every document as a resource; each problem at its own file and line. */
export function parseDesired(documents: readonly SourceDocument[]): DesiredResources {
  const resources: DesiredResource[] = [];
  const problems: Problem[] = [];
  const invalidSourceIds = new Set<string>();
  const firstPlaces = new Map<string, string>();
  for (const document of documents) {
    const parsed = parseResource(document.value);
    if ('issues' in parsed) {
      problems.push(...parsed.issues.map(({ path, reason }) => problemAt(document, path, reason)));
      invalidSourceIds.add(String((document.value as { id?: unknown } | null)?.id));
      continue;
    }
    problems.push(...findRepeatedUrls(parsed.resource, document));
    const { kind, id } = parsed.resource;
    const firstPlace = firstPlaces.get(recordKey(parsed.resource));
    if (firstPlace !== undefined)
      problems.push(
        problemAt(document, ['id'], `${kind} ${id} is already defined at ${firstPlace}`),
      );
    firstPlaces.set(recordKey(parsed.resource), `${document.file}:${document.lineOf(['id'])}`);
    resources.push({ resource: parsed.resource, document });
  }
  return { resources, problems, invalidSourceIds };
}

/**
 * What only shows beside other resources: destinations whose sources do not exist, and write keys that
 * are not unique.
 * @param kept stored sources that these resources neither replace nor remove
 */
export function findReferenceProblems(
  { resources, invalidSourceIds }: DesiredResources,
  kept: readonly Source[],
): Problem[] {
  const sourceIds = new Set([...kept.map(({ id }) => id), ...invalidSourceIds]);
  const owners = new Map(
    kept.flatMap(({ id, writeKeys }) => writeKeys.map((writeKey) => [writeKey, id])),
  );
  for (const { resource } of resources) if (resource.kind === 'Source') sourceIds.add(resource.id);

  return resources.flatMap(({ resource, document }) =>
    resource.kind === 'Source'
      ? findTakenKeys(resource, document, owners)
      : resource.sources.flatMap((id, index) =>
          sourceIds.has(id)
            ? []
            : [problemAt(document, ['sources', index], `source ${id} does not exist`)],
        ),
  );
}

/** Each URL is posted to, so the same one twice would deliver every event twice. */
function findRepeatedUrls(resource: Resource, document: SourceDocument): Problem[] {
  if (resource.kind !== 'Destination') return [];
  const urls = resource.webhooks.map(({ url }) => new URL(url).href);
  return urls.flatMap((url, index) => {
    const first = urls.indexOf(url);
    if (first === index) return [];
    const reason = `is the same URL as webhooks[${first}].url; each is posted to once`;
    return [problemAt(document, ['webhooks', index, 'url'], reason)];
  });
}

/** Adds the source's own keys to `owners`. */
function findTakenKeys(
  { id, writeKeys }: Source,
  document: SourceDocument,
  owners: Map<string, string>,
): Problem[] {
  return writeKeys.flatMap((writeKey, index) => {
    const owner = owners.get(writeKey) ?? id;
    owners.set(writeKey, owner);
    if (owner === id) return [];
    const reason = `${writeKey} is already a write key of source ${owner}; write keys are unique`;
    return [problemAt(document, ['writeKeys', index], reason)];
  });
}

function problemAt(
  document: SourceDocument,
  path: readonly PropertyKey[],
  reason: string,
): Problem {
  const { file } = document;
  return { file, line: document.lineOf(path), path: formatPath(path), reason };
}
