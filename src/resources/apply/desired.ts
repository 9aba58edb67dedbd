import { problemAt, type SourceDocument } from './document.ts';
import { postgresUrlProblem } from '../schema/postgres-url.ts';
import { mostInFlight } from '../most-in-flight.ts';
import type { Problem } from '../problem.ts';
import type { Resource } from '../resource.ts';
import { parseResource } from '../schema/schema.ts';
import { recordKey } from '../config/stored.ts';

/** A valid resource and where it was written. */
export interface DesiredResource {
  readonly resource: Resource;
  readonly document: SourceDocument;
}

export interface DesiredResources {
  readonly resources: readonly DesiredResource[];
  readonly problems: readonly Problem[];
  /** Of what was given but is not valid: that it is missing is not a second problem. */
  readonly invalidIds: ReadonlySet<string>;
}

/**
 * Every document as a resource; each problem at its own file and line.
 * @param deliveryMaxInFlight of a worker, by its setting
 */
export function parseDesired(
  documents: readonly SourceDocument[],
  deliveryMaxInFlight: number,
): DesiredResources {
  const resources: DesiredResource[] = [];
  const problems: Problem[] = [];
  const invalidIds = new Set<string>();
  const firstPlaces = new Map<string, string>();
  for (const document of documents) {
    const parsed = parseResource(document.value);
    if ('issues' in parsed) {
      problems.push(...parsed.issues.map(({ path, reason }) => problemAt(document, path, reason)));
      invalidIds.add(String((document.value as { id?: unknown } | null)?.id));
      continue;
    }
    problems.push(...findRepeatedUrls(parsed.resource, document));
    problems.push(...findWrongDatabase(parsed.resource, document));
    problems.push(...findTooManyInFlight(parsed.resource, document, deliveryMaxInFlight));
    const { kind, id } = parsed.resource;
    const firstPlace = firstPlaces.get(recordKey(parsed.resource));
    if (firstPlace !== undefined)
      problems.push(
        problemAt(document, ['id'], `${kind} ${id} is already defined at ${firstPlace}`),
      );
    firstPlaces.set(recordKey(parsed.resource), `${document.file}:${document.lineOf(['id'])}`);
    resources.push({ resource: parsed.resource, document });
  }
  return { resources, problems, invalidIds };
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

/** Not a matter of the schema, which also reads resources whose secrets are sealed. */
function findWrongDatabase(resource: Resource, document: SourceDocument): Problem[] {
  const [field, rows] =
    resource.kind === 'Audience'
      ? (['members', resource.members] as const)
      : resource.kind === 'ComputedTrait'
        ? (['values', resource.values] as const)
        : [];
  if (field === undefined || !('postgres' in rows)) return [];
  const reason = postgresUrlProblem(rows.postgres);
  return reason === undefined ? [] : [problemAt(document, [field, 'postgres'], reason)];
}

/** Not a matter of the schema, which also reads what was applied with another setting. */
function findTooManyInFlight(
  resource: Resource,
  document: SourceDocument,
  deliveryMaxInFlight: number,
): Problem[] {
  if (resource.kind !== 'Destination') return [];
  const most = mostInFlight(deliveryMaxInFlight);
  if ((resource.maxInFlight ?? 0) <= most) return [];
  const reason = `must be at most ${most}, a quarter of DELIVERY_MAX_IN_FLIGHT (${deliveryMaxInFlight}); the rest is for other destinations`;
  return [problemAt(document, ['maxInFlight'], reason)];
}
