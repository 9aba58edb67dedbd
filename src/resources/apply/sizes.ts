import type { Resource, Webhook } from '../resource.ts';

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
/** The schema allows a client's id, which is no secret, the same length. */
const mostCredentialCharacters = 4_096;
/** The schema allows a certificate, which is no secret, the same length. */
const mostKeyCharacters = 65_536;
const mostNames = 1_000;
const mostNameCharacters = 1_024;
/** Two lists of 1,000, and 100 conditions with what is around them. */
const mostFilterValues = 2_500;
const mostBodyValues = 1_000;
const mostJsonCharacters = 131_072;

/**
 * The parts of a resource that are too large: every worker holds them, each request carries URL and headers, and each call is
 * compared with names and filter, so one destination of a customer would cost what thousands do. Not part of the schema,
 * which also reads stored resources, whose secrets are longer because they are sealed.
 */
export function findTooLarge(resource: Resource): readonly TooLarge[] {
  if (resource.kind !== 'Destination' && resource.kind !== 'NoticeHook') return [];
  const secret = longer(['sharedSecret'], resource.sharedSecret, mostSecretCharacters);
  if (resource.kind === 'NoticeHook') return [...tooLargeAt([], resource), ...secret];
  const { webhooks, notify, eventNames = [], filter, body } = resource;
  const names = eventNames.flatMap((name, index) =>
    longer(['eventNames', index], name, mostNameCharacters),
  );
  if (eventNames.length > mostNames)
    names.push({ path: ['eventNames'], reason: `must have at most ${spelled(mostNames)} names` });
  return [
    ...webhooks.flatMap((webhook, index) => tooLargeAt(['webhooks', index], webhook)),
    ...longer(['notify', 'url'], notify?.url, mostUrlCharacters),
    ...secret,
    ...names,
    ...larger(['filter'], filter, mostFilterValues),
    ...larger(['body'], body, mostBodyValues),
  ];
}

function tooLargeAt(
  path: readonly PropertyKey[],
  { url, headers, oauth2, clientCertificate }: Webhook,
): readonly TooLarge[] {
  const all = Object.entries(headers);
  const characters = all.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  const isTooLarge = all.length > mostHeaders || characters > mostHeaderCharacters;
  const reason = `must be at most ${mostHeaders} headers, with ${spelled(mostHeaderCharacters)} characters together`;
  const login = [...path, 'oauth2'];
  const key = [...path, 'clientCertificate', 'privateKey'];
  return [
    ...longer([...path, 'url'], url, mostUrlCharacters),
    ...(isTooLarge ? [{ path: [...path, 'headers'], reason }] : []),
    ...longer([...login, 'tokenUrl'], oauth2?.tokenUrl, mostUrlCharacters),
    ...longer([...login, 'clientSecret'], oauth2?.clientSecret, mostCredentialCharacters),
    ...longer([...login, 'scope'], oauth2?.scope, mostCredentialCharacters),
    ...longer(key, clientCertificate?.privateKey, mostKeyCharacters),
  ];
}

function longer(path: readonly PropertyKey[], text: string | undefined, most: number): TooLarge[] {
  if (text === undefined || text.length <= most) return [];
  return [{ path, reason: `must have at most ${spelled(most)} characters` }];
}

function larger(path: readonly PropertyKey[], value: object | undefined, most: number): TooLarge[] {
  if (value === undefined) return [];
  if (valuesIn(value) > most)
    return [{ path, reason: `must have at most ${spelled(most)} values, with lists and mappings` }];
  if (JSON.stringify(value).length <= mostJsonCharacters) return [];
  return [{ path, reason: `must have at most ${spelled(mostJsonCharacters)} characters as JSON` }];
}

/** Its depth is bounded by the schema. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, each: unknown) => sum + valuesIn(each), 1);
}

function spelled(number: number): string {
  return number.toLocaleString('en');
}
