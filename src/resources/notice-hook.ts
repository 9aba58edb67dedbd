import type { Destination, NoticeHook, ResourceKind } from './resource.ts';

/**
 * Notices are delivered like events, so each place for them is a destination of delivery. Ids of resources have no
 * colon, so no other destination has such an id.
 */
const hookPrefix = 'notices:';
const notifyPrefix = 'notify:';

/** The destination id under which notices for a hook are delivered. */
export function hookDestinationId(hookId: string): string {
  return hookPrefix + hookId;
}

/** The destination id under which a destination's owner is told about it. */
export function notifyDestinationId(destinationId: string): string {
  return notifyPrefix + destinationId;
}

/** Says whether it is the id under which a destination's owner is told about it. */
export function isOfNotify(destinationId: string): boolean {
  return destinationId.startsWith(notifyPrefix);
}

/** The resource that delivery identifies by this id. */
export function nameOfDestination(destinationId: string): {
  readonly kind: 'Destination' | 'NoticeHook';
  readonly id: string;
} {
  if (destinationId.startsWith(hookPrefix))
    return { kind: 'NoticeHook', id: destinationId.slice(hookPrefix.length) };
  return {
    kind: 'Destination',
    id: isOfNotify(destinationId) ? destinationId.slice(notifyPrefix.length) : destinationId,
  };
}

/** The id by which delivery identifies a resource; undefined: nothing is delivered to it. */
export function destinationIdOf(name: {
  readonly kind: ResourceKind;
  readonly id: string;
}): string | undefined {
  if (name.kind === 'NoticeHook') return hookDestinationId(name.id);
  return name.kind === 'Destination' ? name.id : undefined;
}

/** The resource as delivery knows it by the id; undefined: it tells its owner nothing. */
export function deliveredAs(
  resource: Destination | NoticeHook,
  destinationId: string,
): Destination | undefined {
  if (resource.kind === 'NoticeHook') return destinationOfHook(resource);
  return isOfNotify(destinationId) ? destinationOfNotify(resource) : resource;
}

/** The hook as a destination. No call is routed to it. */
function destinationOfHook(hook: NoticeHook): Destination {
  const { id, uid, name, url, headers, sharedSecret, rateLimit } = hook;
  return Object.freeze({
    ...ofNotices,
    id: hookDestinationId(id),
    uid,
    name,
    ...(sharedSecret === undefined ? {} : { sharedSecret }),
    webhooks: Object.freeze([Object.freeze({ url, headers })]),
    secretUrl: true,
    ...(rateLimit === undefined ? {} : { rateLimit }),
  });
}

/** The place where a destination's owner is told about it: signed as the destination's events are. */
function destinationOfNotify(destination: Destination): Destination | undefined {
  const { id, uid, name, notify, sharedSecret, signature, formerSecrets } = destination;
  if (notify === undefined) return undefined;
  const { idempotencyHeader, secretUrl } = destination;
  return Object.freeze({
    ...ofNotices,
    id: notifyDestinationId(id),
    uid,
    name,
    ...(sharedSecret === undefined ? {} : { sharedSecret }),
    ...(signature === undefined ? {} : { signature }),
    ...(formerSecrets === undefined ? {} : { formerSecrets }),
    ...(idempotencyHeader === undefined ? {} : { idempotencyHeader }),
    webhooks: Object.freeze([Object.freeze({ url: notify.url, headers: Object.freeze({}) })]),
    ...(secretUrl === undefined ? {} : { secretUrl }),
  });
}

const ofNotices = {
  kind: 'Destination',
  sources: Object.freeze([]),
  enabled: true,
  payload: 'full',
  topic: 'shared',
  disableAfter: 'never',
} as const;
