import { isDeepStrictEqual } from 'node:util';
import { maskResource, toDocument } from '../config/stored.ts';
import { certificateInWords } from '../client-certificate.ts';
import { formatPath } from '../problem.ts';
import type { Resource, Webhook } from '../resource.ts';

/** One field of a resource that an apply changes. Never holds a secret, a write key or a URL's query. */
export interface FieldChange {
  /** `webhooks[0].url`; for a change outside the fields, its name, for example `encryption key`. */
  readonly path: string;
  /**
   * Both versions in the format of resource files, with masks for hidden parts; undefined on the side where
   * the field is not set. Missing if neither side can be shown.
   */
  readonly values?: Sides;
  /** The two sides differ in a hidden part. */
  readonly isSecret?: true;
}

interface Sides {
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * The differences of two versions of a resource, in the order of the newer one's fields. Lists of texts are
 * one field; mappings and lists of mappings are compared field by field.
 */
export function compareFields(before: Resource, after: Resource): readonly FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  const real = { before: toDocument(before), after: toDocument(after) };
  const shown = { before: shownDocument(before), after: shownDocument(after) };
  return compare([], real, shown);
}

/** The fields that a resource is made or deleted with, but its kind and id, as changes from nothing or to nothing. */
export function fieldsOf(
  sides: { readonly before: Resource } | { readonly after: Resource },
): readonly FieldChange[] {
  const { before, after }: { readonly before?: Resource; readonly after?: Resource } = sides;
  const shown = { before: fieldsIn(before), after: fieldsIn(after) };
  return compare([], shown, shown);
}

function fieldsIn(resource: Resource | undefined): object {
  const fields = resource === undefined ? [] : Object.entries(shownDocument(resource));
  return Object.fromEntries(fields.filter(([name]) => name !== 'kind' && name !== 'id'));
}

function compare(path: readonly PropertyKey[], real: Sides, shown: Sides): FieldChange[] {
  if (isDeepStrictEqual(real.before, real.after)) return [];
  if (isBranch(real.before) && isBranch(real.after))
    return keysOf(real.before, real.after).flatMap((key) =>
      compare([...path, key], at(real, key), at(shown, key)),
    );
  const where = formatPath(path);
  return isDeepStrictEqual(shown.before, shown.after)
    ? [{ path: where, isSecret: true }]
    : [{ path: where, values: shown }];
}

type Branch = Readonly<Record<PropertyKey, unknown>>;

function isBranch(value: unknown): value is Branch {
  if (Array.isArray(value)) return value.some((item) => typeof item === 'object');
  return typeof value === 'object' && value !== null;
}

function keysOf(before: Branch, after: Branch): readonly PropertyKey[] {
  const keys = [...new Set([...Object.keys(after), ...Object.keys(before)])];
  return Array.isArray(after) ? keys.map(Number) : keys;
}

function at({ before, after }: Sides, key: PropertyKey): Sides {
  return { before: (before as Branch)[key], after: (after as Branch)[key] };
}

/**
 * The part that a build log may keep: as `get` shows it, and without anything that grants access by itself.
 */
function shownDocument(resource: Resource): object {
  const masked = maskResource({ sealed: resource });
  const document = toDocument(masked);
  if (masked.kind === 'Source') {
    const count = masked.writeKeys.length;
    return { ...document, writeKeys: `(${count === 1 ? '1 key' : `${count} keys`}, not shown)` };
  }
  if (masked.kind === 'Destination') {
    const webhooks = masked.webhooks.map(shownWebhook);
    const { notify } = masked;
    return {
      ...document,
      webhooks,
      ...(notify && { notify: { url: withoutQuery(notify.url) } }),
    };
  }
  if (masked.kind === 'NoticeHook') return { ...document, url: withoutQuery(masked.url) };
  return document;
}

function shownWebhook(webhook: Webhook): object {
  const { url, oauth2, clientCertificate: shown } = webhook;
  const certificate = shown && certificateInWords(shown.certificate);
  return {
    ...webhook,
    url: withoutQuery(url),
    ...(oauth2 && { oauth2: { ...oauth2, tokenUrl: withoutQuery(oauth2.tokenUrl) } }),
    ...(shown && { clientCertificate: { ...shown, certificate } }),
  };
}

function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?(not shown)');
}
