import { callTypes, type CallType } from '../../../../event/call.ts';

/** A destination as the API shows it: the fields of resource files that these pages change, and what it adds. */
export interface Managed {
  readonly id: string;
  readonly name: string;
  readonly managedBy: 'files' | 'api';
  readonly webhooks: readonly ManagedWebhook[];
  readonly events?: readonly CallType[];
  readonly eventNames?: readonly string[];
  readonly signature?: 'segment' | 'standard' | 'both';
  readonly secretOverlap?: string;
  readonly notify?: { readonly url: string };
}

/** Its other fields, such as headers, go back as they came. */
export interface ManagedWebhook {
  readonly url: string;
  readonly [field: string]: unknown;
}

/** The fields of a destination that are written; null removes one. */
export type Fields = Readonly<Record<string, unknown>>;

/** One URL of an endpoint. */
export interface UrlEntry {
  readonly url: string;
  /** The URL that it had when it was read, by which its webhook is found again; absent: it is a new one. */
  readonly was?: string;
}

/** The API takes no more. */
export const mostUrls = 5;

/** The entries that make an endpoint. */
export interface Entries {
  readonly name: string;
  readonly urls: readonly UrlEntry[];
  readonly notify: string;
  readonly types: readonly CallType[];
  /** The names of track calls; undefined: any. */
  readonly names: readonly string[] | undefined;
}

export type EntryField = keyof Entries;

export const noEntries: Entries = {
  name: '',
  urls: [{ url: '' }],
  notify: '',
  types: callTypes,
  names: undefined,
};

export function entriesOf(managed: Managed): Entries {
  return {
    name: managed.name,
    urls: managed.webhooks.map(({ url }) => ({ url, was: url })),
    notify: managed.notify?.url ?? '',
    types: managed.events ?? callTypes,
    names: managed.eventNames,
  };
}

/** The fields of a new destination. */
export function fieldsOf({ name, urls, notify, types, names }: Entries): Fields {
  return {
    name: name.trim(),
    webhooks: urls.map(({ url }) => ({ url: url.trim() })),
    signature: 'standard',
    ...(notify.trim() === '' ? {} : { notify: { url: notify.trim() } }),
    ...(isEvery(types) ? {} : { events: inOrder(types) }),
    ...(names === undefined || !types.includes('track') ? {} : { eventNames: names }),
  };
}

/** A merge patch (RFC 7396) of what was changed; null removes a field. */
export function patchOf(managed: Managed, entries: Entries): Fields {
  const before = entriesOf(managed);
  const changed = (field: EntryField): boolean => !isSame(before[field], entries[field]);
  const { name, urls, notify, types, names } = entries;
  const eventNames = names === undefined || !types.includes('track') ? null : names;
  return {
    ...(changed('name') ? { name: name.trim() } : {}),
    ...(changed('urls') ? { webhooks: withUrls(managed.webhooks, urls) } : {}),
    ...(changed('notify') ? { notify: notify.trim() === '' ? null : { url: notify.trim() } } : {}),
    ...(changed('types') ? { events: isEvery(types) ? null : inOrder(types) } : {}),
    ...(changed('names') || changed('types') ? { eventNames } : {}),
  };
}

/** A merge patch replaces the whole list, so each webhook goes along with what else it has. */
function withUrls(
  webhooks: readonly ManagedWebhook[],
  urls: readonly UrlEntry[],
): readonly ManagedWebhook[] {
  return urls.map(({ url, was }) => ({
    ...webhooks.find((each) => each.url === was),
    url: url.trim(),
  }));
}

/** The entries after somebody else's change: what was entered here stays, and everything else is theirs. */
export function merged(base: Entries, mine: Entries, theirs: Entries): Entries {
  const pick = <Field extends EntryField>(field: Field): Entries[Field] =>
    isSame(base[field], mine[field]) ? theirs[field] : mine[field];
  return {
    name: pick('name'),
    urls: isSame(base.urls, mine.urls) ? theirs.urls : followed(base.urls, mine.urls, theirs.urls),
    notify: pick('notify'),
    types: pick('types'),
    names: pick('names'),
  };
}

/**
 * Own URLs, each with the webhook that it belongs to now: somebody else may have changed the URL of that one, or removed
 * it. A URL that was not changed here is theirs, so a removed one does not come back.
 */
function followed(
  base: readonly UrlEntry[],
  mine: readonly UrlEntry[],
  theirs: readonly UrlEntry[],
): readonly UrlEntry[] {
  const kept = mine.flatMap(({ url, was }): readonly UrlEntry[] => {
    const now = presentOf(was, base, theirs);
    if (now === undefined) return url === was ? [] : [{ url }];
    return [{ url: url === was ? now : url, was: now }];
  });
  return kept.length > 0 ? kept : theirs;
}

/** The URL that a webhook has by now; undefined: it is gone, or was never there. */
function presentOf(
  was: string | undefined,
  base: readonly UrlEntry[],
  theirs: readonly UrlEntry[],
): string | undefined {
  if (theirs.some((each) => each.was === was)) return was;
  if (base.length !== theirs.length) return undefined;
  const inItsPlace = theirs[base.findIndex((each) => each.was === was)]?.was;
  return base.some((each) => each.was === inItsPlace) ? undefined : inItsPlace;
}

/** The fields that somebody else has changed. */
export function changedBy(base: Entries, theirs: Entries): readonly EntryField[] {
  const fields = Object.keys(base) as EntryField[];
  return fields.filter((field) => !isSame(base[field], theirs[field]));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isEvery(types: readonly CallType[]): boolean {
  return callTypes.every((type) => types.includes(type));
}

function inOrder(types: readonly CallType[]): readonly CallType[] {
  return callTypes.filter((type) => types.includes(type));
}

/** The field of an entry that a pointer of the API leads to; undefined: none that is entered here. */
export function entryAt(pointer: string): { field: EntryField; index: number } | undefined {
  const [, first = '', second = '0'] = pointer.split('/');
  const index = Number(second);
  switch (first) {
    case 'name':
    case 'notify':
      return { field: first, index: 0 };
    case 'webhooks':
      return { field: 'urls', index: Number.isInteger(index) ? index : 0 };
    case 'events':
      return { field: 'types', index: 0 };
    case 'eventNames':
      return { field: 'names', index: 0 };
    default:
      return undefined;
  }
}

/** A problem that these pages see by themselves; the API looks at everything once more. */
export interface Fault {
  readonly at: EntryField;
  /** The place of the URL; 0 for other entries. */
  readonly index: number;
  readonly fault: 'url-missing' | 'url-wrong' | 'types-missing' | 'names-missing';
}

export function urlFaults({ urls }: Pick<Entries, 'urls'>): readonly Fault[] {
  return urls.flatMap(({ url }, index): Fault[] => {
    if (url.trim() === '') return [{ at: 'urls', index, fault: 'url-missing' }];
    if (/^https?:\/\/[^\s/]+/i.test(url.trim())) return [];
    return [{ at: 'urls', index, fault: 'url-wrong' }];
  });
}

export function eventFaults({ types, names }: Pick<Entries, 'types' | 'names'>): readonly Fault[] {
  if (types.length === 0) return [{ at: 'types', index: 0, fault: 'types-missing' }];
  if (!types.includes('track') || names?.length !== 0) return [];
  return [{ at: 'names', index: 0, fault: 'names-missing' }];
}

/** The notes beside the entries. */
export interface EntryNotes {
  /** The problems that these pages see by themselves. */
  readonly faults: readonly Fault[];
  /** The API's own problems, by JSON pointer (RFC 6901). */
  readonly refused: readonly { readonly pointer: string; readonly detail: string }[];
  /** The entries that somebody else has changed meanwhile, as they are now. */
  readonly theirs: Partial<Entries>;
}

export const noNotes: EntryNotes = { faults: [], refused: [], theirs: {} };

/** The notes after a change: a problem is known by the place of its URL, which is another one once URLs come or go. */
export function notesAfter(notes: EntryNotes, before: Entries, after: Entries): EntryNotes {
  if (before.urls.length === after.urls.length) return notes;
  const { faults, refused } = notes;
  return {
    ...notes,
    faults: faults.filter(({ at }) => at !== 'urls'),
    refused: refused.filter(({ pointer }) => entryAt(pointer)?.field !== 'urls'),
  };
}

/** An id that tells something: the host of the URL, and six letters by chance. */
export function newId(url: string, random: () => number = Math.random): string {
  const host = URL.parse(url.trim())?.hostname ?? 'endpoint';
  const word = host
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 40);
  const letters = Array.from({ length: 6 }, () => Math.floor(random() * 36).toString(36));
  return `${word.replaceAll(/^-+|-+$/g, '') || 'endpoint'}-${letters.join('')}`;
}
