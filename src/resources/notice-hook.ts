import type { Destination, NoticeHook, ResourceKind } from './resource.ts';

/** Ids of resources have no colon, so no destination has such an id. */
const prefix = 'notices:';

/** The destination id under which notices for a hook are delivered. */
export function hookDestinationId(hookId: string): string {
  return prefix + hookId;
}

/** The resource that delivery identifies by this id. */
export function nameOfDestination(destinationId: string): {
  readonly kind: 'Destination' | 'NoticeHook';
  readonly id: string;
} {
  return destinationId.startsWith(prefix)
    ? { kind: 'NoticeHook', id: destinationId.slice(prefix.length) }
    : { kind: 'Destination', id: destinationId };
}

/** The id by which delivery identifies a resource; undefined: nothing is delivered to it. */
export function destinationIdOf(name: {
  readonly kind: ResourceKind;
  readonly id: string;
}): string | undefined {
  if (name.kind === 'NoticeHook') return hookDestinationId(name.id);
  return name.kind === 'Destination' ? name.id : undefined;
}

/** The hook as a destination. No call is routed to it. */
export function destinationOfHook(hook: NoticeHook): Destination {
  const { id, uid, name, url, headers, sharedSecret, rateLimit } = hook;
  return Object.freeze({
    kind: 'Destination',
    id: hookDestinationId(id),
    uid,
    name,
    sources: Object.freeze([]),
    enabled: true,
    ...(sharedSecret === undefined ? {} : { sharedSecret }),
    webhooks: Object.freeze([Object.freeze({ url, headers })]),
    secretUrl: true,
    payload: 'full',
    ...(rateLimit === undefined ? {} : { rateLimit }),
    topic: 'shared',
    disableAfter: 'never',
  });
}
