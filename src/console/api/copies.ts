import type { Resource } from '../../resources/resource.ts';
import type { Story } from './model.ts';

/** What another stage knows of an event. */
export interface ExplainedEvent {
  readonly story: Story;
  /** What was sent to each destination, or is, by its id. */
  readonly bodies: ReadonlyMap<string, string>;
}

const notShown = '(not shown)';

/** @param resources by `<kind>/<id>`, their secrets masked */
export function withCopies(
  { story, bodies }: ExplainedEvent,
  resources: ReadonlyMap<string, Resource>,
): Story {
  const copies = Array.from(bodies, ([destination, body]) => ({
    destination,
    headers: headersOf(resources.get(`Destination/${destination}`), story.messageId),
    body,
  }));
  return copies.length === 0 ? story : { ...story, copies };
}

/** As deliveries have them now; of what is configured, the names alone. */
function headersOf(
  resource: Resource | undefined,
  messageId: string,
): Readonly<Record<string, string>> {
  if (resource?.kind !== 'Destination') return {};
  const { webhooks, sharedSecret, idempotencyHeader } = resource;
  return {
    'Content-Type': 'application/json',
    ...(sharedSecret === undefined ? {} : { 'X-Signature': notShown }),
    ...(idempotencyHeader === undefined ? {} : { [idempotencyHeader]: messageId }),
    ...Object.fromEntries(webhooks.flatMap(({ headers }) => Object.entries(headers))),
  };
}
