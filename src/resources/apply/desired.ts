import { isIP } from 'node:net';
import { certificateProblem } from '../client-certificate.ts';
import { recordKey } from '../config/stored.ts';
import { mostInFlight, type Resource } from '../resource.ts';
import type { Problem } from '../problem.ts';
import { beyondBounds, type RetryBounds } from '../schema/retry-rules.ts';
import { isInside, postgresUrlProblem, urlProblem } from '../schema/texts.ts';
import { findTooLarge } from './sizes.ts';
import { problemAt, type ParsedFile, type SourceDocument } from './document.ts';

/** A valid resource and where it was written. */
export interface DesiredResource {
  readonly resource: Resource;
  readonly document: SourceDocument;
}

export interface DesiredResources {
  readonly resources: readonly DesiredResource[];
  readonly problems: readonly Problem[];
  /**
   * Ids of resources that were given but are not valid. A reference to one of them is not a second problem.
   */
  readonly invalidIds: ReadonlySet<string>;
}

/** Settings of roles and jobs that bound the content of resources. */
export interface ResourceBounds extends RetryBounds {
  /** Certificates have to be valid then. */
  readonly nowMs: number;
  /** `DELIVERY_MAX_IN_FLIGHT` of the workers, of which a destination may use a part. */
  readonly deliveryMaxInFlight: number;
  /** `AUDIENCE_FILES_DIR` of syncs, an absolute path. */
  readonly audienceFilesDir: string;
}

/** Every document as a resource; each problem at its own file and line. */
export function parseDesired(
  documents: readonly SourceDocument[],
  bounds: ResourceBounds,
): DesiredResources {
  const resources: DesiredResource[] = [];
  const problems: Problem[] = [];
  const invalidIds = new Set<string>();
  const firstPlaces = new Map<string, SourceDocument>();
  for (const document of documents) {
    const { parsed } = document;
    if ('issues' in parsed) {
      for (const { path, reason } of parsed.issues)
        problems.push(problemAt(document, path, reason));
      const id = (document.value as { readonly id?: unknown } | null)?.id;
      if (typeof id === 'string') invalidIds.add(id);
      continue;
    }
    problems.push(...findSealedUrls(parsed.resource, document));
    problems.push(...findRepeatedUrls(parsed.resource, document));
    problems.push(...findWrongCertificates(parsed.resource, document, bounds));
    problems.push(...findWrongRows(parsed.resource, document, bounds));
    problems.push(...findTooManyInFlight(parsed.resource, document, bounds));
    problems.push(...findRetryBeyond(parsed.resource, document, bounds));
    for (const { path, reason } of findTooLarge(parsed.resource))
      problems.push(problemAt(document, path, reason));
    const { kind, id } = parsed.resource;
    const first = firstPlaces.get(recordKey(parsed.resource));
    if (first !== undefined) {
      const place = `${first.file}:${first.lineOf(['id'])}`;
      problems.push(problemAt(document, ['id'], `${kind} ${id} is already defined at ${place}`));
    }
    firstPlaces.set(recordKey(parsed.resource), document);
    resources.push({ resource: parsed.resource, document });
  }
  return { resources, problems, invalidIds };
}

/** Not part of the schema, which also reads stored resources. */
function findSealedUrls(resource: Resource, document: SourceDocument): Problem[] {
  return urlsOf(resource).flatMap(([path, url]) => {
    const reason = urlProblem(url);
    return reason === undefined ? [] : [problemAt(document, path, reason)];
  });
}

/** Each URL gets every event, so a repeated URL would deliver every event twice. */
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

/** Not part of the schema, which also reads stored resources, whose keys are sealed and whose certificates expire. */
function findWrongCertificates(
  resource: Resource,
  document: SourceDocument,
  { nowMs }: ResourceBounds,
): Problem[] {
  if (resource.kind !== 'Destination') return [];
  return resource.webhooks.flatMap(({ clientCertificate }, index) => {
    const problem = clientCertificate && certificateProblem(clientCertificate, nowMs);
    if (problem === undefined) return [];
    const path = ['webhooks', index, 'clientCertificate', problem.field];
    return [problemAt(document, path, problem.reason)];
  });
}

/** Not part of the schema, which also reads resources with sealed secrets, and those of other settings. */
function findWrongRows(
  resource: Resource,
  document: SourceDocument,
  { audienceFilesDir }: ResourceBounds,
): Problem[] {
  const [field, rows] =
    resource.kind === 'Audience'
      ? (['members', resource.members] as const)
      : resource.kind === 'ComputedTrait'
        ? (['values', resource.values] as const)
        : [];
  if (field === undefined) return [];
  if ('postgres' in rows) {
    const reason = postgresUrlProblem(rows.postgres);
    return reason === undefined ? [] : [problemAt(document, [field, 'postgres'], reason)];
  }
  if ('sql' in rows) {
    const outside = filesNamedIn(rows.sql).find((file) => !isInside(audienceFilesDir, file));
    if (outside === undefined) return [];
    const reason = `names ${outside}, which is not in AUDIENCE_FILES_DIR (${audienceFilesDir}); a sync reads no other files`;
    return [problemAt(document, [field, 'sql'], reason)];
  }
  if (isInside(audienceFilesDir, rows.file)) return [];
  const reason = `must be in AUDIENCE_FILES_DIR (${audienceFilesDir}); a sync reads no other files`;
  return [problemAt(document, [field, 'file'], reason)];
}

/** The files that are visible before the query runs. The sync's database opens no others in any case. */
function filesNamedIn(sql: string): readonly string[] {
  const named = sql.matchAll(
    /\b(?:from|join)\s+'([^']*)'|\b\w+\s*\(\s*\[?\s*'([^']*[/\\][^']*)'/gi,
  );
  return Array.from(named, ([, from, argument]) => from ?? argument ?? '').map((name) =>
    /^[a-z][a-z0-9+.-]*:\/\//i.test(name) ? `/${name}` : name,
  );
}

/** Not part of the schema, which also reads resources that were applied with another setting. */
function findTooManyInFlight(
  resource: Resource,
  document: SourceDocument,
  { deliveryMaxInFlight }: ResourceBounds,
): Problem[] {
  if (resource.kind !== 'Destination') return [];
  const most = mostInFlight(deliveryMaxInFlight);
  if ((resource.maxInFlight ?? 0) <= most) return [];
  const reason = `must be at most ${most}, a quarter of DELIVERY_MAX_IN_FLIGHT (${deliveryMaxInFlight}); the rest is for other destinations`;
  return [problemAt(document, ['maxInFlight'], reason)];
}

function findRetryBeyond(
  resource: Resource,
  document: SourceDocument,
  bounds: ResourceBounds,
): Problem[] {
  if (resource.kind !== 'Destination' || resource.retry === undefined) return [];
  return beyondBounds(resource.retry, bounds).map(({ path, reason }) =>
    problemAt(document, ['retry', ...path], reason),
  );
}

/** The addresses of `localhost`, in either family. */
const loopback = ['127.0.0.1', '::1'];

/** The addresses to which delivery may connect. */
interface Allowed {
  readonly allows: (address: string) => boolean;
  /** The operator named a network of the address. */
  readonly names: (address: string) => boolean;
}

/**
 * URLs that delivery will probably refuse, because they have an address that is not public, or `localhost`, or would
 * send a client's secret unencrypted. Not an error, because the setting of the workers decides, which may differ from
 * the one here.
 */
export function findRefusedUrls({ documents }: ParsedFile, allowed: Allowed): Problem[] {
  return documents.flatMap((document) => {
    const { parsed } = document;
    if (!('resource' in parsed)) return [];
    return [...urlsOf(parsed.resource), ...tokenUrlsOf(parsed.resource)].flatMap(([path, url]) => {
      const reason = warningOf(url, path.at(-1) === 'tokenUrl', allowed);
      return reason === undefined ? [] : [problemAt(document, path, reason)];
    });
  });
}

function warningOf(url: string, isTokenUrl: boolean, allowed: Allowed): string | undefined {
  const { hostname, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const addresses = addressesOf(host);
  if (isTokenUrl && protocol === 'http:' && !addresses.some(allowed.names))
    return 'is not https; no token is asked for there unless DELIVERY_ALLOW_NETWORKS of the workers has its network';
  if (addresses.length === 0 || addresses.some(allowed.allows)) return undefined;
  return `${host} is not a public address; deliveries there are refused unless DELIVERY_ALLOW_NETWORKS of the workers allows them`;
}

/** Each URL with its path in the resource. */
function urlsOf(resource: Resource): readonly (readonly [readonly PropertyKey[], string])[] {
  if (resource.kind === 'NoticeHook') return [[['url'], resource.url]];
  if (resource.kind !== 'Destination') return [];
  const { webhooks, notify } = resource;
  return [
    ...webhooks.map(({ url }, index) => [['webhooks', index, 'url'], url] as const),
    ...(notify === undefined ? [] : [[['notify', 'url'], notify.url] as const]),
  ];
}

/** The URLs of authorization servers, with their paths. */
function tokenUrlsOf(resource: Resource): ReturnType<typeof urlsOf> {
  if (resource.kind !== 'Destination') return [];
  return resource.webhooks.flatMap(({ oauth2 }, index) =>
    oauth2 === undefined
      ? []
      : [[['webhooks', index, 'oauth2', 'tokenUrl'], oauth2.tokenUrl] as const],
  );
}

/** For names, only those that resolve to this machine everywhere. */
function addressesOf(host: string): readonly string[] {
  if (/(?:^|\.)localhost\.?$/.test(host)) return loopback;
  return isIP(host) === 0 ? [] : [host];
}
