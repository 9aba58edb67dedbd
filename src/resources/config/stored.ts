import { PostriderError } from '../../errors.ts';
import { parseCallPath } from '../../event/call-path.ts';
import { customerProblem } from '../../event/customer.ts';
import { isTime } from '../../event/timestamp.ts';
import { isUid } from '../../event/uid.ts';
import { formatPath } from '../problem.ts';
import { formatRate } from '../schema/texts.ts';
import { mapSecrets } from './resource-secrets.ts';
import {
  resourceKinds,
  type Destination,
  type FormerSecret,
  type Resource,
  type ResourceKind,
} from '../resource.ts';
import { parseResource } from '../schema/schema.ts';
import {
  isCiphertext,
  isSealedWithCurrentKey,
  seal,
  unseal,
  type SecretKeys,
  type SecretPlace,
} from './secrets.ts';

/**
 * The stored form of resources in the `config` topic: key `<kind>/<id>`, value JSON with sealed secrets. The uid and the
 * manager stand beside the resource, so that they can be read where the resource cannot. Former secrets and the paths of
 * placeholders in URLs stand there as well, because no file has them, and the customer, because no event's way depends on
 * it. Former releases ignore all of it.
 */

export interface ResourceName {
  readonly kind: ResourceKind;
  readonly id: string;
}

/** A resource as read, with ciphertexts in the place of its secrets. */
export interface SealedResource {
  readonly sealed: Resource;
}

/** The parts of a resource that no file has. */
type KeptBeside = Pick<Destination, 'uid' | 'managedBy' | 'formerSecrets' | 'urlPaths'>;

const keptBeside: ReadonlySet<string> = new Set<keyof KeptBeside>([
  'uid',
  'managedBy',
  'formerSecrets',
  'urlPaths',
]);

const version = 1;

export function recordKey({ kind, id }: ResourceName): string {
  return `${kind}/${id}`;
}

/** Undefined for a key whose kind this version does not have. */
export function parseRecordKey(key: string): ResourceName | undefined {
  const [kindName, id, ...rest] = key.split('/');
  const kind = resourceKinds.find((known) => known === kindName);
  if (kind === undefined || id === undefined || rest.length > 0) return undefined;
  return { kind, id };
}

/** @throws PostriderError `secret-unreadable` if it has secrets and there is no key. */
export function encodeResource(resource: Resource, keys: SecretKeys): string {
  const sealed = mapSecrets(resource, (secret, place) => seal(secret, place, keys));
  const { uid, managedBy, formerSecrets, urlPaths } = besideOf(sealed);
  const { customer, ...written }: Beside = { ...toDocument(sealed) };
  return JSON.stringify({
    version,
    uid,
    managedBy,
    customer,
    formerSecrets,
    urlPaths,
    resource: written,
  });
}

interface Beside extends Readonly<Record<string, unknown>> {
  readonly customer?: unknown;
}

function besideOf(resource: Resource): KeptBeside {
  return resource.kind === 'Audience' || resource.kind === 'ComputedTrait' ? {} : resource;
}

/** @throws PostriderError `resource-invalid`: not a resource of this name that this version can read. */
export function decodeResource(name: ResourceName, value: string): SealedResource {
  const invalid = (reason: string): PostriderError =>
    new PostriderError(
      'resource-invalid',
      `the config topic's record of ${name.kind} ${name.id} ${reason}`,
    );
  const stored = parseJson(value);
  if (stored?.['version'] !== version) throw invalid('is not one that this version can read');
  const parsed = parseResource(withCustomer(stored));
  if ('issues' in parsed) {
    const reasons = parsed.issues.map((issue) => `${formatPath(issue.path)} ${issue.reason}`);
    throw invalid(`is not valid: ${reasons.join('; ')}`);
  }
  const { kind, id } = parsed.resource;
  if (kind !== name.kind || id !== name.id) throw invalid(`holds ${kind} ${id}`);
  const { uid, managedBy } = identityIn(stored);
  const formerSecrets = kind === 'Destination' ? readFormerSecrets(stored['formerSecrets']) : [];
  if (formerSecrets === undefined) throw invalid('has former secrets that are not valid');
  const urlPaths = kind === 'Destination' ? readUrlPaths(stored['urlPaths']) : [];
  if (urlPaths === undefined) throw invalid('has paths of URLs that are not valid');
  return {
    sealed: Object.freeze({
      ...parsed.resource,
      ...(uid === undefined ? {} : { uid }),
      ...(managedBy === undefined ? {} : { managedBy }),
      ...(formerSecrets.length === 0 ? {} : { formerSecrets }),
      ...(urlPaths.length === 0 ? {} : { urlPaths }),
    }),
  };
}

/** The document as files have it. */
function withCustomer({ resource, customer }: Readonly<Record<string, unknown>>): unknown {
  const isDocument = typeof resource === 'object' && resource !== null;
  return isDocument && customer !== undefined ? { ...resource, customer } : resource;
}

/** Undefined if it is no list of them. */
function readFormerSecrets(stored: unknown = []): readonly FormerSecret[] | undefined {
  if (!Array.isArray(stored)) return undefined;
  return stored.every(isFormerSecret) ? stored : undefined;
}

/** Undefined if it is no list of them. */
function readUrlPaths(stored: unknown = []): readonly string[] | undefined {
  if (!Array.isArray(stored)) return undefined;
  const isPath = (text: unknown): text is string =>
    typeof text === 'string' && !('problem' in parseCallPath(text));
  return stored.every(isPath) ? stored : undefined;
}

function isFormerSecret(stored: unknown): stored is FormerSecret {
  if (typeof stored !== 'object' || stored === null) return false;
  const { secret, untilMs }: Partial<Record<keyof FormerSecret, unknown>> = stored;
  return typeof secret === 'string' && isTime(untilMs);
}

/** Also where the rest of the record is not readable. */
export function storedUid(value: string): string | undefined {
  return storedIdentity(value).uid;
}

/** The customer of a destination, also where the rest of the record is not readable. */
export function storedCustomer(value: string): string | undefined {
  const customer = parseJson(value)?.['customer'];
  return typeof customer === 'string' && customerProblem(customer) === undefined
    ? customer
    : undefined;
}

/** The part of a record that tells the resource from others of its name, and its manager. */
export type StoredIdentity = Pick<KeptBeside, 'uid' | 'managedBy'>;

/** Also where the rest of the record is not readable. */
export function storedIdentity(value: string): StoredIdentity {
  return identityIn(parseJson(value) ?? {});
}

function identityIn(stored: Readonly<Record<string, unknown>>): StoredIdentity {
  const { uid, managedBy } = stored;
  return {
    ...(isUid(uid) ? { uid } : {}),
    ...(managedBy === 'api' ? { managedBy } : {}),
  };
}

/** @throws PostriderError `secret-unreadable`. */
export function openResource({ sealed }: SealedResource, keys: SecretKeys): Resource {
  return mapSecrets(sealed, (secret, place) =>
    isPlainUrl(secret, place) ? secret : unseal(secret, place, keys),
  );
}

/** The URLs of notice hooks were not encrypted in earlier versions. */
function isPlainUrl(secret: string, { boundTo }: SecretPlace): boolean {
  return boundTo[0] === 'url' && !isCiphertext(secret);
}

/** True if any of its secrets was encrypted with the previous key, or not at all. */
export function needsNewKey({ sealed }: SealedResource, keys: SecretKeys): boolean {
  return secretsOf(sealed).some((secret) => !isSealedWithCurrentKey(secret, keys));
}

/** Says whether a field of the resource is to be encrypted. */
export function hasSecrets(resource: Resource): boolean {
  return secretsOf(resource).length > 0;
}

/** Says whether a field of the resource is encrypted. */
export function hasCiphertexts({ sealed }: SealedResource): boolean {
  return secretsOf(sealed).some(isCiphertext);
}

function secretsOf(resource: Resource): readonly string[] {
  const found: string[] = [];
  mapSecrets(resource, (secret) => {
    found.push(secret);
    return secret;
  });
  return found;
}

/** Shows only that each secret is set, and of a secret URL its origin and a hash. */
export function maskResource({ sealed }: SealedResource): Resource {
  return mapSecrets(sealed, (_secret, _place, shown) => shown);
}

/** A resource in the format of resource files. */
export function toDocument(resource: Resource): object {
  const { rateLimitOf, ...written } = Object.fromEntries(
    Object.entries(resource).filter(([name]) => !keptBeside.has(name)),
  );
  if (!('rateLimit' in resource)) return written;
  const counted = rateLimitOf as Destination['rateLimitOf'];
  return { ...written, rateLimit: formatRate(resource.rateLimit, counted) };
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null ? { ...json } : undefined;
  } catch {
    return undefined;
  }
}
