import type { Resource } from '../resource.ts';

/** Something that is too large, and its place. */
interface TooLarge {
  readonly path: readonly PropertyKey[];
  readonly reason: string;
}

/** Most servers take as much of a request line. */
const mostUrlCharacters = 8_192;
/** Node.js, nginx and most servers refuse a request whose headers are larger together. */
const mostHeaderCharacters = 16_384;
const mostHeaders = 100;
const mostSecretCharacters = 1_024;
const mostNames = 1_000;
const mostNameCharacters = 1_024;

/**
 * The parts of a resource that are too large: every worker holds them, each request carries URL and headers, and each call is
 * compared with the names, so one destination of a customer would cost what thousands do. Not part of the schema, which
 * also reads stored resources, whose secrets are longer because they are sealed.
 */
export function findTooLarge(resource: Resource): readonly TooLarge[] {
  if (resource.kind !== 'Destination' && resource.kind !== 'NoticeHook') return [];
  const secret = longer(['sharedSecret'], resource.sharedSecret ?? '', mostSecretCharacters);
  if (resource.kind === 'NoticeHook') return [...tooLargeAt([], resource), ...secret];
  const { webhooks, notify, eventNames = [] } = resource;
  const names = eventNames.flatMap((name, index) =>
    longer(['eventNames', index], name, mostNameCharacters),
  );
  if (eventNames.length > mostNames)
    names.push({ path: ['eventNames'], reason: `must have at most ${spelled(mostNames)} names` });
  return [
    ...webhooks.flatMap((webhook, index) => tooLargeAt(['webhooks', index], webhook)),
    ...(notify === undefined ? [] : longer(['notify', 'url'], notify.url, mostUrlCharacters)),
    ...secret,
    ...names,
  ];
}

function tooLargeAt(
  path: readonly PropertyKey[],
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
): readonly TooLarge[] {
  const all = Object.entries(headers);
  const characters = all.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  const isTooLarge = all.length > mostHeaders || characters > mostHeaderCharacters;
  const reason = `must be at most ${mostHeaders} headers, with ${spelled(mostHeaderCharacters)} characters together`;
  return [
    ...longer([...path, 'url'], url, mostUrlCharacters),
    ...(isTooLarge ? [{ path: [...path, 'headers'], reason }] : []),
  ];
}

function longer(path: readonly PropertyKey[], text: string, most: number): TooLarge[] {
  if (text.length <= most) return [];
  return [{ path, reason: `must have at most ${spelled(most)} characters` }];
}

function spelled(number: number): string {
  return number.toLocaleString('en');
}
