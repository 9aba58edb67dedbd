import { isDeepStrictEqual } from 'node:util';
import { PostriderError } from '../../errors.ts';
import { parseDesired } from './desired.ts';
import type { ParsedFile } from './document.ts';
import { settleTraits } from './kept-traits.ts';
import { InvalidResources } from '../problem.ts';
import { findReferenceProblems } from './references.ts';
import { resourceKinds, type Resource, type ResourceKind } from '../resource.ts';
import type { SecretKeys } from '../config/secrets.ts';
import {
  encodeResource,
  hasSecrets,
  maskResource,
  needsNewKey,
  openResource,
  recordKey,
  toDocument,
  type ResourceName,
} from '../config/stored.ts';
import type { StoredResource, StoredResources } from '../config/stored-resources.ts';

/** What an apply does to one resource. */
export interface Change extends ResourceName {
  readonly action: 'create' | 'update' | 'unchanged' | 'delete';
  /** What differs, for people; of updates only. */
  readonly fields: readonly string[];
  /** Missing for deletions. */
  readonly resource?: Resource;
  /** The value to write to the `config` topic, null for a tombstone; missing where nothing is written. */
  readonly value?: string | null;
  /** What else somebody should know of it. */
  readonly note?: string;
}

export interface PlanOptions {
  readonly secretKeys: SecretKeys;
  /** Also delete what is stored and not in the files. */
  readonly prune: boolean;
  /** Traits follow names that have changed. */
  readonly rename: boolean;
  /** The key that the stored secrets were encrypted with is lost. */
  readonly newKey: boolean;
  /** `DELIVERY_MAX_IN_FLIGHT` of the workers, of which a destination may have a part. */
  readonly deliveryMaxInFlight: number;
}

/**
 * Compares what the files say with what is stored. The changes are in an order in which every
 * reference is valid at every step.
 * @throws InvalidResources with every problem of the files
 * @throws PostriderError `secret-unreadable` if there are secrets to encrypt and no key, or the wrong one
 */
export function planApply(
  files: ParsedFile,
  stored: StoredResources,
  { secretKeys, prune, rename, newKey, deliveryMaxInFlight }: PlanOptions,
): readonly Change[] {
  const parsed = parseDesired(files.documents, deliveryMaxInFlight);
  const { desired, notes, ...settled } = settleTraits(parsed, stored, rename);
  const desiredKeys = new Set(desired.resources.map(({ resource }) => recordKey(resource)));
  const others = [...stored.values()].filter(({ name }) => !desiredKeys.has(recordKey(name)));
  const kept = (prune ? [] : others).flatMap(({ sealed }) => sealed?.sealed ?? []);
  const problems = [
    ...files.problems,
    ...desired.problems,
    ...settled.problems,
    ...findReferenceProblems(desired, kept),
  ];
  if (problems.length > 0) throw new InvalidResources(problems);

  const written = desired.resources
    .map(({ resource }) => {
      const key = recordKey(resource);
      const note = notes.get(key);
      const change = planOne(resource, stored.get(key), secretKeys);
      return note === undefined ? change : { ...change, note };
    })
    .sort((a, b) => rank(a.kind) - rank(b.kind));
  if (!newKey && written.some(writesSecrets)) refuseWrongKey(stored, secretKeys);
  const deleted = (prune ? others : [])
    .map(({ name }) => planDelete(name))
    .sort((a, b) => rank(b.kind) - rank(a.kind));
  return [...written, ...deleted];
}

/**
 * What shows without a look at what is stored.
 * @param stored all resources that are; undefined where that is not known yet
 * @throws InvalidResources with every problem of the files
 */
export function checkFiles(
  files: ParsedFile,
  stored: readonly Resource[] | undefined,
  deliveryMaxInFlight: number,
): void {
  const desired = parseDesired(files.documents, deliveryMaxInFlight);
  const references = stored === undefined ? [] : findReferenceProblems(desired, stored);
  const problems = [...files.problems, ...desired.problems, ...references];
  if (problems.length > 0) throw new InvalidResources(problems);
}

/** A deletion by itself: of `delete`, or of what an apply prunes. */
export function planDelete({ kind, id }: ResourceName): Change {
  return { action: 'delete', kind, id, fields: [], value: null };
}

/** `update Destination crm: webhooks, sharedSecret` */
export function formatChange({ action, kind, id, fields, note }: Change): string {
  const what = `${action} ${kind} ${id}`;
  const changed = fields.length === 0 ? what : `${what}: ${fields.join(', ')}`;
  return note === undefined ? changed : `${changed} (${note})`;
}

function planOne(
  resource: Resource,
  stored: StoredResource | undefined,
  secretKeys: SecretKeys,
): Change {
  const { kind, id } = resource;
  const fields = stored === undefined ? [] : differences(resource, stored, secretKeys);
  if (stored !== undefined && fields.length === 0)
    return { action: 'unchanged', kind, id, fields, resource };
  const action = stored === undefined ? 'create' : 'update';
  return { action, kind, id, fields, resource, value: encodeResource(resource, secretKeys) };
}

function differences(
  resource: Resource,
  { sealed }: StoredResource,
  secretKeys: SecretKeys,
): readonly string[] {
  if (sealed === undefined) return ['the stored record, which could not be read'];
  try {
    const fields = differingFields(resource, openResource(sealed, secretKeys));
    return fields.length === 0 && needsNewKey(sealed, secretKeys) ? ['encryption key'] : fields;
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    const visible = differingFields(maskResource({ sealed: resource }), maskResource(sealed));
    return [...visible, 'secrets, which could not be decrypted'];
  }
}

function differingFields(one: Resource, other: Resource): string[] {
  const before = new Map(Object.entries(toDocument(other)));
  const after = new Map(Object.entries(toDocument(one)));
  const names = new Set([...after.keys(), ...before.keys()]);
  return [...names].filter((name) => !isDeepStrictEqual(before.get(name), after.get(name)));
}

function writesSecrets({ resource, value }: Change): boolean {
  return value !== undefined && resource !== undefined && hasSecrets({ sealed: resource });
}

/** Whoever reads none of the secrets that are there would write some that no role can read. */
function refuseWrongKey(stored: StoredResources, secretKeys: SecretKeys): void {
  let failure: PostriderError | undefined;
  for (const { sealed } of stored.values()) {
    if (sealed === undefined || !hasSecrets(sealed)) continue;
    try {
      openResource(sealed, secretKeys);
      return;
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
      failure ??= error;
    }
  }
  if (failure === undefined) return;
  throw new PostriderError(
    'secret-unreadable',
    `nothing was applied: no stored secret can be read with this SECRET_KEY (${failure.message}). If the key of before is lost, apply everything again with --new-key`,
  );
}

function rank(kind: ResourceKind): number {
  return resourceKinds.indexOf(kind);
}
