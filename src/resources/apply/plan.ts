import { PostriderError } from '../../errors.ts';
import type { WithUid } from '../../event/uid.ts';
import { hintAt } from '../../near.ts';
import { enumerated } from '../../printable.ts';
import type { AudienceRecords } from '../audiences/records.ts';
import { overlapAfter, type Overlap, type OverlapOptions } from '../secret-overlap.ts';
import type { SecretKeys } from '../config/secrets.ts';
import { ofKind, type StoredResource, type StoredResources } from '../config/stored-resources.ts';
import {
  encodeResource,
  hasCiphertexts,
  hasSecrets,
  maskResource,
  needsNewKey,
  openResource,
  recordKey,
  type ResourceName,
  type SealedResource,
} from '../config/stored.ts';
import { InvalidResources, type Problem } from '../problem.ts';
import { managerOf, resourceKinds, type Resource, type ResourceKind } from '../resource.ts';
import { parseDesired, type DesiredResources, type ResourceBounds } from './desired.ts';
import { problemAt, type ParsedFile } from './document.ts';
import { compareFields, type FieldChange } from './field-changes.ts';
import { describeTold, refuseWhileTold, settleTraits } from './traits.ts';
import { findReferenceProblems, findTraitProblems } from './references.ts';

/** A change of one resource by an apply. */
export interface Change extends ResourceName {
  readonly action: 'create' | 'update' | 'unchanged' | 'delete';
  /** The differing fields; for updates only. */
  readonly fields: readonly FieldChange[];
  /** Missing for deletions. */
  readonly resource?: Resource;
  /** For deletions: what is deleted, its secrets sealed; missing where it cannot be read. */
  readonly deleted?: SealedResource;
  /** The value to write to the `config` topic, null for a tombstone; missing where nothing is written. */
  readonly value?: string | null;
  /** Anything else that a person should know about the change. */
  readonly note?: string;
}

/** The identity of a new destination or notice hook. */
export interface NewIdentity extends WithUid {
  /** A sentence about the identity for people. */
  readonly note?: string;
}

export interface PlanOptions extends ResourceBounds, OverlapOptions {
  readonly secretKeys: SecretKeys;
  /** Also delete stored resources that are not in the files. Those of the API stay. */
  readonly prune: boolean;
  /** From now on, files manage what they name, also what the API has managed. */
  readonly takeOver: boolean;
  /** The API plans, and manages what it names; missing: files do. */
  readonly managedBy?: 'api';
  /** Traits follow changed names. */
  readonly rename: boolean;
  /** The key that the stored secrets were encrypted with is lost. */
  readonly newKey: boolean;
  /** The traits that audiences and computed traits have sent. */
  readonly records: AudienceRecords;
  readonly identityOf: (name: ResourceName) => NewIdentity;
}

/**
 * Compares the files with what is stored. The changes are in an order in which every reference is valid at
 * every step.
 * @throws InvalidResources with every problem of the files
 * @throws PostriderError `secret-unreadable` if there are secrets to encrypt and no key, or the wrong one
 */
export function planApply(
  files: ParsedFile,
  stored: StoredResources,
  options: PlanOptions,
): readonly Change[] {
  const { prune, rename, newKey, takeOver, records, secretKeys } = options;
  const parsed = parseDesired(files.documents, options);
  const { desired, notes, ...settled } = settleTraits(parsed, stored, rename);
  const desiredKeys = new Set(desired.resources.map(({ resource }) => recordKey(resource)));
  const others = [...stored.values()].filter(({ name }) => !desiredKeys.has(recordKey(name)));
  const pruned = prune ? others.filter(({ managedBy }) => managedBy === undefined) : [];
  const gone = new Set(pruned);
  const kept = others
    .filter((each) => !gone.has(each))
    .flatMap(({ sealed }) => sealed?.sealed ?? []);
  const problems = [
    ...files.problems,
    ...desired.problems,
    ...settled.problems,
    ...(takeOver ? [] : findForeign(desired, stored)),
    ...findReferenceProblems(desired, kept),
    ...findTraitProblems(desired, kept, records),
  ];
  if (problems.length > 0) throw new InvalidResources(problems);

  const written = desired.resources
    .map(({ resource }) => {
      const key = recordKey(resource);
      const change = planOne(resource, stored.get(key), options);
      const note = [
        change.note,
        notes.get(key),
        change.action === 'unchanged' ? undefined : toldNote(resource, records, desired, kept),
      ].filter((each) => each !== undefined);
      return note.length === 0 ? change : { ...change, note: note.join('; ') };
    })
    .sort((a, b) => rank(a.kind) - rank(b.kind));
  if (!newKey && written.some(writesSecrets)) refuseWrongKey(stored, secretKeys);
  for (const { name } of pruned) refuseWhileTold(records, name);
  refuseWhileNamed(pruned, kept);
  const deleted = pruned.map(planDelete).sort((a, b) => rank(b.kind) - rank(a.kind));
  return [...written, ...deleted];
}

/**
 * The knowledge of stored resources that are not in the files: nothing is known; they will be
 * deleted; or nothing is stored at all.
 */
export type Others = 'unknown' | 'pruned' | 'none';

/**
 * Checks that need no stored resources.
 * @throws InvalidResources with every problem of the files
 */
export function checkFiles(files: ParsedFile, others: Others, bounds: ResourceBounds): void {
  const desired = parseDesired(files.documents, bounds);
  const problems = [
    ...files.problems,
    ...desired.problems,
    ...findReferenceProblems(desired, others === 'unknown' ? undefined : []),
    // A stored trait may differ from the one that the present name gives.
    ...(others === 'none' ? findTraitProblems(desired, [], new Map()) : []),
  ];
  if (problems.length > 0) throw new InvalidResources(problems);
}

/** A single deletion: by `delete`, or by an apply that prunes. */
function planDelete({ name: { kind, id }, sealed }: StoredResource): Change {
  const deleted = sealed === undefined ? {} : { deleted: sealed };
  return { action: 'delete', kind, id, fields: [], value: null, ...deleted };
}

/** `update Destination crm: webhooks, sharedSecret` */
export function formatChange({ action, kind, id, fields, note }: Change): string {
  const what = `${action} ${kind} ${id}`;
  const names = new Set(fields.map(({ path }) => path.replace(/[.[].*$/, '')));
  const changed = names.size === 0 ? what : `${what}: ${[...names].join(', ')}`;
  return note === undefined ? changed : `${changed} (${note})`;
}

function toldNote(
  resource: Resource,
  records: AudienceRecords,
  { resources }: DesiredResources,
  kept: readonly Resource[],
): string | undefined {
  if (resource.kind !== 'Audience' && resource.kind !== 'ComputedTrait') return undefined;
  const record = records.get(resource.id);
  if (record === undefined) return undefined;
  const connected = [...kept, ...resources.map((each) => each.resource)]
    .filter((each) => each.kind === 'Destination')
    .filter(({ sources }) => sources.includes(resource.source))
    .map(({ id }) => id);
  return describeTold(record, resource, connected);
}

function planOne(
  desired: Resource,
  stored: StoredResource | undefined,
  options: PlanOptions,
): Change {
  const { kind, id } = desired;
  const { secretKeys, identityOf, managedBy } = options;
  const isIdentified = kind === 'Destination' || kind === 'NoticeHook';
  const { uid, ...identity }: NewIdentity = stored ?? (isIdentified ? identityOf(desired) : {});
  const before = stored?.sealed === undefined ? undefined : opened(stored.sealed, secretKeys);
  const overlap = overlapOf(desired, before, options);
  const resource = Object.freeze({
    ...desired,
    ...(uid === undefined ? {} : { uid }),
    ...(managedBy === undefined ? {} : { managedBy }),
    ...(overlap.formerSecrets === undefined ? {} : { formerSecrets: overlap.formerSecrets }),
  });
  const fields = [
    ...(stored === undefined ? [] : differences(resource, stored, before, secretKeys)),
    ...(overlap.isEnded ? [{ path: 'end of the former secrets' }] : []),
  ];
  if (stored !== undefined && fields.length === 0)
    return { action: 'unchanged', kind, id, fields, resource };
  const action = stored === undefined ? 'create' : 'update';
  const value = encodeResource(resource, secretKeys);
  const note = overlap.note ?? identity.note;
  return { action, kind, id, fields, resource, value, ...(note === undefined ? {} : { note }) };
}

/** The former secrets of a resource. One whose stored version cannot be read has none. */
function overlapOf(
  desired: Resource,
  before: Resource | undefined,
  options: OverlapOptions,
): Overlap {
  const isSigned = desired.kind === 'Destination' || desired.kind === 'NoticeHook';
  return isSigned && before?.kind === desired.kind ? overlapAfter(before, desired, options) : {};
}

/** Undefined if its secrets cannot be read with these keys. */
function opened(sealed: SealedResource, secretKeys: SecretKeys): Resource | undefined {
  try {
    return openResource(sealed, secretKeys);
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    return undefined;
  }
}

function differences(
  resource: Resource,
  { sealed }: StoredResource,
  before: Resource | undefined,
  secretKeys: SecretKeys,
): readonly FieldChange[] {
  if (sealed === undefined) return [{ path: 'the stored record, which could not be read' }];
  if (before === undefined) {
    const visible = compareFields(maskResource(sealed), maskResource({ sealed: resource }));
    return [...visible, { path: 'secrets, which could not be decrypted' }];
  }
  const fields = [...compareFields(before, resource), ...compareManagers(before, resource)];
  const isNewKeyAlone = fields.length === 0 && needsNewKey(sealed, secretKeys);
  return isNewKeyAlone ? [{ path: 'encryption key' }] : fields;
}

/** No file has the manager. */
function compareManagers(before: Resource, after: Resource): readonly FieldChange[] {
  const values = { before: managerOf(before), after: managerOf(after) };
  return values.before === values.after ? [] : [{ path: 'managedBy', values }];
}

/** Resources of the API that the files name: whoever made them there would find them changed. */
function findForeign({ resources }: DesiredResources, stored: StoredResources): readonly Problem[] {
  return resources.flatMap(({ resource, document }) => {
    if (stored.get(recordKey(resource))?.managedBy === undefined) return [];
    const { kind, id } = resource;
    const reason = `${kind} ${id} is managed by the API: change it there and take it out of the files, or give --take-over, and files manage it from then on`;
    return [problemAt(document, ['id'], reason)];
  });
}

function writesSecrets({ resource, value }: Change): boolean {
  return value !== undefined && resource !== undefined && hasSecrets(resource);
}

/** A process that can decrypt none of the stored secrets would write secrets that no role can decrypt. */
export function refuseWrongKey(stored: StoredResources, secretKeys: SecretKeys): void {
  let failure: PostriderError | undefined;
  for (const { sealed } of stored.values()) {
    if (sealed === undefined || !hasCiphertexts(sealed)) continue;
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
    `no stored secret can be read with this SECRET_KEY (${failure.message}). If the former key is lost, apply everything again with --new-key`,
  );
}

function rank(kind: ResourceKind): number {
  return resourceKinds.indexOf(kind);
}

/**
 * The deletion of one resource.
 * @param options `takeOver`: also if the API manages it
 * @throws PostriderError `not-found`; `resource-invalid` for one that others still refer to, or that the API manages
 */
export function planDeletion(
  stored: StoredResources,
  name: ResourceName,
  { takeOver }: Pick<PlanOptions, 'takeOver'>,
): Change {
  const { kind, id } = name;
  const found = stored.get(recordKey(name));
  if (found === undefined) {
    const known = ofKind(stored, kind).map((each) => each.name.id);
    throw new PostriderError('not-found', `there is no ${kind} ${id}${hintAt(id, known)}`);
  }
  if (found.managedBy !== undefined && !takeOver)
    throw new PostriderError(
      'resource-invalid',
      `${kind} ${id} is managed by the API: delete it there, or give --take-over`,
    );
  refuseWhileNamed(
    [found],
    [...stored.values()].flatMap(({ sealed }) => sealed?.sealed ?? []),
  );
  return planDelete(found);
}

/**
 * @param kept what is not deleted
 * @throws PostriderError `resource-invalid` for a resource that one of these names
 */
function refuseWhileNamed(deleted: readonly StoredResource[], kept: Iterable<Resource>): void {
  const users = new Map<string, string[]>(deleted.map(({ name }) => [recordKey(name), []]));
  for (const resource of kept)
    for (const name of namedBy(resource))
      users.get(recordKey(name))?.push(`${resource.kind} ${resource.id}`);
  for (const [key, names] of users) {
    if (names.length === 0) continue;
    const what = key.replace('/', ' ');
    throw new PostriderError(
      'resource-invalid',
      `${what} cannot be deleted, because it is named by ${enumerated(names.sort())}`,
    );
  }
}

function namedBy(resource: Resource): readonly ResourceName[] {
  const sourceOf = (id: string): ResourceName => ({ kind: 'Source', id });
  switch (resource.kind) {
    case 'Source':
    case 'NoticeHook':
      return [];
    case 'Destination':
      return resource.sources.map(sourceOf);
    case 'Audience':
    case 'ComputedTrait':
      return [
        sourceOf(resource.source),
        ...(resource.destinations ?? []).map((id): ResourceName => ({ kind: 'Destination', id })),
      ];
  }
}
