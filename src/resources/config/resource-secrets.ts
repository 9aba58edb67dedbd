import { formatPath } from '../problem.ts';
import type {
  Destination,
  NoticeHook,
  PostgresRows,
  Resource,
  SqlRows,
  Webhook,
} from '../resource.ts';
import type { SecretPlace } from './secrets.ts';

export type MapSecret = (secret: string, place: SecretPlace) => string;

/**
 * The resource with every secret replaced: the shared secret, header values, which often carry tokens,
 * and the connection URLs of databases, which hold passwords.
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
  const webhooks = destination.webhooks.map((webhook, index) =>
    Object.freeze({
      url: webhook.url,
      headers: mapHeaders(destination, webhook, ['webhooks', index, 'headers'], map),
    }),
  );
  return Object.freeze({
    ...destination,
    ...mapSharedSecret(destination, map),
    webhooks: Object.freeze(webhooks),
  });
}

function mapNoticeHook(hook: NoticeHook, map: MapSecret): NoticeHook {
  return Object.freeze({
    ...hook,
    ...mapSharedSecret(hook, map),
    headers: mapHeaders(hook, hook, ['headers'], map),
  });
}

function mapSharedSecret(
  { kind, id, sharedSecret }: Destination | NoticeHook,
  map: MapSecret,
): { readonly sharedSecret?: string } {
  if (sharedSecret === undefined) return {};
  const place = { kind, id, path: 'sharedSecret', boundTo: ['sharedSecret'] };
  return { sharedSecret: map(sharedSecret, place) };
}

/** @param path of the headers, in the resource */
function mapHeaders(
  { kind, id }: Destination | NoticeHook,
  { url, headers }: Webhook,
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
    return [header, map(value, place)] as const;
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
  return Object.freeze({ postgres: map(postgres, place), query });
}
