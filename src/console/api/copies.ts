import { isOf, type Identity } from '../../event/uid.ts';
import type { Destination, Resource } from '../../resources/resource.ts';
import type { LiveState } from '../index/live-state.ts';
import type { Story } from './answers/events.ts';

/** An event as `explain` finds it. */
export interface ExplainedEvent {
  readonly story: Story;
  /** The body that each destination got, or will get. */
  readonly bodies: readonly (Identity & { readonly body: string })[];
}

const notShown = '(not shown)';

export function withCopies(
  { story, bodies }: ExplainedEvent,
  { resources, identityOf }: Pick<LiveState, 'resources' | 'identityOf'>,
): Story {
  const copies = bodies
    // What an earlier destination of the id got concerns nobody who looks at this one.
    .filter((each) => isOf(identityOf(each.id) ?? each, each))
    .map(({ id, body }) => ({
      destination: id,
      headers: headersOf(resources.get(`Destination/${id}`), story.messageId),
      body,
    }));
  return copies.length === 0 ? story : { ...story, copies };
}

/** The headers that deliveries have now. Configured ones are shown by their names alone. */
function headersOf(
  resource: Resource | undefined,
  messageId: string,
): Readonly<Record<string, string>> {
  if (resource?.kind !== 'Destination') return {};
  const { webhooks, sharedSecret, signature, idempotencyHeader } = resource;
  return {
    'Content-Type': 'application/json',
    ...(sharedSecret === undefined ? {} : signatureHeaders(signature, messageId)),
    ...(idempotencyHeader === undefined ? {} : { [idempotencyHeader]: messageId }),
    ...Object.fromEntries(webhooks.flatMap(({ headers }) => Object.entries(headers))),
  };
}

function signatureHeaders(
  signature: Destination['signature'],
  messageId: string,
): Readonly<Record<string, string>> {
  return {
    ...(signature === 'standard' ? {} : { 'X-Signature': notShown }),
    ...(signature === undefined
      ? {}
      : { 'webhook-id': messageId, 'webhook-timestamp': notShown, 'webhook-signature': notShown }),
  };
}
