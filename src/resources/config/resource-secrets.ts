import { formatPath } from '../problem.ts';
import type { Destination, PostgresRows, Resource, SqlRows, Webhook } from '../resource.ts';
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
  }
}

function mapDestination(destination: Destination, map: MapSecret): Destination {
  const { kind, id, sharedSecret } = destination;
  const webhooks = destination.webhooks.map((webhook, index) => {
    const placeOf = (header: string): SecretPlace => ({
      kind,
      id,
      path: formatPath(['webhooks', index, 'headers', header]),
      boundTo: ['header', webhook.url, header],
    });
    return mapHeaders(webhook, (value, header) => map(value, placeOf(header)));
  });
  const place = { kind, id, path: 'sharedSecret', boundTo: ['sharedSecret'] };
  return Object.freeze({
    ...destination,
    ...(sharedSecret === undefined ? undefined : { sharedSecret: map(sharedSecret, place) }),
    webhooks: Object.freeze(webhooks),
  });
}

function mapHeaders(webhook: Webhook, map: (value: string, header: string) => string): Webhook {
  const headers = Object.entries(webhook.headers).map(([header, value]) => [
    header,
    map(value, header),
  ]);
  return Object.freeze({
    url: webhook.url,
    headers: Object.freeze(Object.fromEntries(headers) as Record<string, string>),
  });
}

function mapRows<Files extends object>(
  { kind, id }: Resource,
  field: string,
  rows: Files | PostgresRows | SqlRows,
  map: MapSecret,
): Files | PostgresRows | SqlRows {
  if (!('postgres' in rows)) return rows;
  const { postgres, query } = rows;
  // Who can write to the topic cannot have another query run with these rights.
  const place = { kind, id, path: `${field}.postgres`, boundTo: ['postgres', query] };
  return Object.freeze({ postgres: map(postgres, place), query });
}
