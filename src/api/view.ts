import { createHash } from 'node:crypto';
import { maskResource, toDocument } from '../resources/config/stored.ts';
import type { StoredResource } from '../resources/config/stored-resources.ts';
import { managerOf, type Resource } from '../resources/resource.ts';

/** The fields of an answer that no request sets: what is sent back is not looked at. */
export const answeredOnly: ReadonlySet<string> = new Set([
  'uid',
  'managedBy',
  'etag',
  'state',
  'since',
  'asOf',
  'why',
]);

/** A resource as an answer has it: as in files, its secrets masked, with what the API knows beside. */
export function viewOf(sealed: Resource): Record<string, unknown> & { readonly id: string } {
  const { uid } = 'uid' in sealed ? sealed : {};
  const document = { ...toDocument(maskResource({ sealed })) };
  return { ...document, id: sealed.id, uid, managedBy: managerOf(sealed) };
}

/** Differs between any two versions of a resource, also where they differ in a secret alone. */
export function etagOf({ sealed, uid }: StoredResource): string {
  const text = JSON.stringify([uid, sealed?.sealed]);
  return `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`;
}
