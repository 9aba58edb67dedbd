import { formatPath } from '../problem.ts';
import type {
  Destination,
  NoticeHook,
  PostgresRows,
  Resource,
  SqlRows,
  Webhook,
} from '../resource.ts';
import { secretMask } from '../schema/schema-parts.ts';
import { parseSealedUrl, shownUrl } from '../schema/texts.ts';
import { isCiphertext, type SecretPlace } from './secrets.ts';

/** @param shown what people see in the secret's place */
export type MapSecret = (secret: string, place: SecretPlace, shown: string) => string;

/**
 * The resource with every secret replaced: the shared secret and former ones, header values, which often carry tokens,
 * client secrets of OAuth 2, private keys of client certificates, the connection URLs of databases, which hold passwords, and the URLs of notice hooks and of destinations with
 * `secretUrl`, which are often all that keeps others from posting there.
 */
export function mapSecrets(resource: Resource, map: MapSecret): Resource {
  switch (resource.kind) {
    case 'Source':
      return resource;
    case 'Destination':
      return mapDestination(resource, map);
    case 'Audience':
      return Object.freeze({
        ...resource,
        members: mapRows(resource, 'members', resource.members, map),
      });
    case 'ComputedTrait':
      return Object.freeze({
        ...resource,
        values: mapRows(resource, 'values', resource.values, map),
      });
    case 'NoticeHook':
      return mapNoticeHook(resource, map);
  }
}

function mapDestination(destination: Destination, map: MapSecret): Destination {
  const isSecret = destination.secretUrl === true;
  const webhooks = destination.webhooks.map((webhook, index) =>
    Object.freeze({
      ...webhook,
      ...mapWebhook(destination, webhook, ['webhooks', index], isSecret, map),
      ...mapLogin(destination, webhook, ['webhooks', index], map),
    }),
  );
  return Object.freeze({
    ...destination,
    ...mapSharedSecret(destination, map),
    ...mapFormerSecrets(destination, map),
    ...(isSecret ? mapNotify(destination, map) : {}),
    webhooks: Object.freeze(webhooks),
  });
}

function mapNotify(destination: Destination, map: MapSecret): Pick<Destination, 'notify'> {
  const { notify } = destination;
  if (notify === undefined) return {};
  return {
    notify: Object.freeze({ url: mapUrl(destination, notify.url, ['notify', 'url'], map) }),
  };
}

function mapNoticeHook(hook: NoticeHook, map: MapSecret): NoticeHook {
  return Object.freeze({
    ...hook,
    ...mapSharedSecret(hook, map),
    ...mapWebhook(hook, hook, [], true, map),
  });
}

function mapSharedSecret(
  { kind, id, sharedSecret }: Destination | NoticeHook,
  map: MapSecret,
): { readonly sharedSecret?: string } {
  if (sharedSecret === undefined) return {};
  const place = { kind, id, path: 'sharedSecret', boundTo: ['sharedSecret'] };
  return { sharedSecret: map(sharedSecret, place, secretMask) };
}

function mapFormerSecrets(
  { kind, id, formerSecrets }: Destination,
  map: MapSecret,
): Pick<Destination, 'formerSecrets'> {
  if (formerSecrets === undefined) return {};
  const mapped = formerSecrets.map(({ secret, untilMs }, index) => {
    // Bound to its end, so that nobody with write access to the topic can prolong it.
    const boundTo = ['formerSecret', String(untilMs)];
    const place = { kind, id, path: formatPath(['formerSecrets', index]), boundTo };
    return Object.freeze({ secret: map(secret, place, secretMask), untilMs });
  });
  return { formerSecrets: Object.freeze(mapped) };
}

/** @param path of the webhook, in the resource */
function mapLogin(
  { kind, id }: Destination,
  { oauth2, clientCertificate }: Webhook,
  path: readonly PropertyKey[],
  map: MapSecret,
): Pick<Webhook, 'oauth2' | 'clientCertificate'> {
  const mapAt = (secret: string, fields: readonly string[], boundTo: readonly string[]): string =>
    map(secret, { kind, id, path: formatPath([...path, ...fields]), boundTo }, secretMask);
  const mapped: { -readonly [Field in 'oauth2' | 'clientCertificate']?: Webhook[Field] } = {};
  if (oauth2 !== undefined) {
    const { tokenUrl, clientId, clientSecret } = oauth2;
    // Bound to where it is sent, so that nobody with write access to the topic can have it sent elsewhere.
    const boundTo = ['oauth2', tokenUrl, clientId];
    const secret = mapAt(clientSecret, ['oauth2', 'clientSecret'], boundTo);
    mapped.oauth2 = Object.freeze({ ...oauth2, clientSecret: secret });
  }
  if (clientCertificate !== undefined) {
    const { certificate, privateKey } = clientCertificate;
    const boundTo = ['clientCertificate', certificate];
    const key = mapAt(privateKey, ['clientCertificate', 'privateKey'], boundTo);
    mapped.clientCertificate = Object.freeze({ certificate, privateKey: key });
  }
  return mapped;
}

/** @param path of the webhook, in the resource */
function mapWebhook(
  resource: Destination | NoticeHook,
  { url, headers }: Pick<Webhook, 'url' | 'headers'>,
  path: readonly PropertyKey[],
  isUrlSecret: boolean,
  map: MapSecret,
): Pick<Webhook, 'url' | 'headers'> {
  const mapped = isUrlSecret ? mapUrl(resource, url, [...path, 'url'], map) : url;
  // Headers are bound to the URL itself, which is known before it is sealed, or after it was opened.
  const plain = parseSealedUrl(url) === undefined ? url : mapped;
  return {
    url: mapped,
    headers: mapHeaders(resource, { url: plain, headers }, [...path, 'headers'], map),
  };
}

function mapUrl(
  { kind, id }: Destination | NoticeHook,
  url: string,
  path: readonly PropertyKey[],
  map: MapSecret,
): string {
  const sealed = parseSealedUrl(url);
  const shown = sealed?.shown ?? shownUrl(url);
  // Bound to what is shown, so that nobody with write access to the topic can make it show another place.
  const place = { kind, id, path: formatPath(path), boundTo: ['url', shown] };
  const mapped = map(sealed?.ciphertext ?? url, place, shown);
  return isCiphertext(mapped) ? `${shown}.${mapped}` : mapped;
}

/** @param path of the headers, in the resource */
function mapHeaders(
  { kind, id }: Destination | NoticeHook,
  { url, headers }: Pick<Webhook, 'url' | 'headers'>,
  path: readonly PropertyKey[],
  map: MapSecret,
): Readonly<Record<string, string>> {
  const mapped = Object.entries(headers).map(([header, value]) => {
    const place: SecretPlace = {
      kind,
      id,
      path: formatPath([...path, header]),
      boundTo: ['header', url, header],
    };
    return [header, map(value, place, secretMask)] as const;
  });
  return Object.freeze(Object.fromEntries(mapped));
}

function mapRows<Files extends object>(
  { kind, id }: Resource,
  field: string,
  rows: Files | PostgresRows | SqlRows,
  map: MapSecret,
): Files | PostgresRows | SqlRows {
  if (!('postgres' in rows)) return rows;
  const { postgres, query } = rows;
  // Bound to the query, so that somebody with write access to the topic cannot run another query with these
  // credentials.
  const place = { kind, id, path: `${field}.postgres`, boundTo: ['postgres', query] };
  return Object.freeze({ postgres: map(postgres, place, secretMask), query });
}
