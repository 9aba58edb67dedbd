import type { Destination, NoticeHook, ResourceKind } from './resource.ts';

/** No id of a resource has a colon, so no destination has such an id. */
const prefix = 'notices:';

/** The id under which notices for a hook are delivered: they are events on their way to a destination. */
export function hookDestinationId(hookId: string): string {
  return prefix + hookId;
}

/** The resource that delivery knows by this id. */
export function nameOfDestination(destinationId: string): {
  readonly kind: 'Destination' | 'NoticeHook';
  readonly id: string;
} {
  return destinationId.startsWith(prefix)
    ? { kind: 'NoticeHook', id: destinationId.slice(prefix.length) }
    : { kind: 'Destination', id: destinationId };
}

/** By what id delivery knows a resource; undefined: it is nothing that is delivered to. */
export function destinationIdOf(name: {
  readonly kind: ResourceKind;
  readonly id: string;
}): string | undefined {
  if (name.kind === 'NoticeHook') return hookDestinationId(name.id);
  return name.kind === 'Destination' ? name.id : undefined;
}

/** As delivery needs it. No call is routed to it. */
export function destinationOfHook(hook: NoticeHook): Destination {
  const { id, name, url, headers, sharedSecret, rateLimit } = hook;
  return Object.freeze({
    kind: 'Destination',
    id: hookDestinationId(id),
    name,
    sources: Object.freeze([]),
    enabled: true,
    ...(sharedSecret === undefined ? {} : { sharedSecret }),
    webhooks: Object.freeze([Object.freeze({ url, headers })]),
    payload: 'full',
    ...(rateLimit === undefined ? {} : { rateLimit }),
    topic: 'shared',
    disableAfter: 'never',
  });
}
