import type { FastifyInstance } from 'fastify';
import { isOf } from '../../../event/uid.ts';
import type { Destination, Resource } from '../../../resources/resource.ts';
import { ProblemError } from '../../../http-api/problem.ts';
import { decodeCursor } from '../../../http-api/cursor.ts';
import { whoIs } from '../../access/sessions.ts';
import { eventsOfUser, whoseMessage } from '../../index/attempt-queries.ts';
import { namesSeen } from '../../index/event-names.ts';
import type { LiveState } from '../../index/live-state.ts';
import { answer } from '../answers/answers.ts';
import type { Story } from '../answers/events.ts';
import type { EventOutcome } from '../choices.ts';
import { eventNamesOf } from '../event-catalog.ts';
import { accept } from '../parameters.ts';
import { LongReadings } from '../turns.ts';
import { opened, page, wordOf, type ExplainedEvent, type Paged, type RouteDeps } from './route.ts';

/** At a time: a story reads Kafka for a second or more. */
const mostStories = 4;

/** One event, and how to find it. */
export function addEventRoutes(api: FastifyInstance, deps: RouteDeps): void {
  const { index } = deps;
  const stories = new LongReadings(mostStories);
  api.get<{ Querystring: { message: string; user?: string; destination?: string } }>(
    '/events',
    {
      schema: {
        summary: 'What became of an event at each destination, or at one, and why',
        response: answer('story'),
        querystring: accept(['message', 'user', 'destination'], ['message']),
      },
    },
    async ({ query: { message, user, destination }, session, asking }) => {
      const whose = oneOf(asking?.own, destination);
      const own = whose === undefined ? undefined : deps.live.identityOf(whose);
      const word = whose === undefined ? undefined : wordOf(deps.live, whose);
      const explained = await stories.run(async (over) => {
        // With the user, only one partition of each topic has to be read.
        const known = user ?? (await whoseMessage(opened(index), message, word));
        return deps.explain(message, known, over, own);
      }, asking?.turn);
      if (explained === undefined)
        throw new ProblemError(
          404,
          user === undefined
            ? `There is no event ${message}.`
            : `The user ${user} has no event ${message}; another user may: ask without the user.`,
        );
      const told = withCopies(explained, deps.live);
      if (session?.bodies === true && told.copies !== undefined)
        // A customer may read many, and is told once an hour.
        deps.audit.tellSeldom({
          ...whoIs(session),
          action: 'read-bodies',
          ...(asking?.own === undefined || whose === undefined
            ? { detail: `event ${message}` }
            : { destination: whose }),
        });
      return whose === undefined ? told : ofPresent(told, deps.live);
    },
  );
  api.get<{ Querystring: { customer?: string } }>(
    '/event-names',
    {
      schema: {
        summary: 'The kinds of events that a destination can choose',
        response: answer('eventNames'),
        querystring: accept(['customer']),
      },
    },
    async ({ query: { customer }, asking }) => {
      // Names of what others send are others' data, so nothing is shown that did not come to own destinations.
      const whose = customer === undefined ? undefined : deps.live.destinationsOf(customer);
      const seen = asking?.own ?? whose ?? new Set();
      const asked = [...seen].filter((id) => whose?.has(id) !== false);
      const found = await namesSeen(
        opened(index),
        asked.map((id) => wordOf(deps.live, id)),
      );
      return page(eventNamesOf(deps.catalog(), found), undefined);
    },
  );
  api.get<{
    Querystring: Paged & {
      user: string;
      outcome?: EventOutcome;
      destination?: string;
      since?: string;
      until?: string;
    };
  }>(
    '/events/search',
    {
      schema: {
        summary: 'The events of a user, the newest first',
        response: answer('eventPage'),
        querystring: accept(
          ['user', 'outcome', 'destination', 'since', 'until', 'cursor', 'limit'],
          ['user'],
        ),
      },
    },
    async ({ query: { user, outcome, destination, since, until, cursor, limit } }) => {
      const [cursorMs = Infinity] = decodeCursor(cursor, 'number') ?? [];
      const beforeMs = Math.min(cursorMs, until === undefined ? Infinity : Date.parse(until));
      const { items, nextAtMs } = await eventsOfUser(opened(index), {
        user,
        outcome,
        destination: destination === undefined ? undefined : wordOf(deps.live, destination),
        sinceMs: since === undefined ? undefined : Date.parse(since),
        beforeMs: Number.isFinite(beforeMs) ? beforeMs : undefined,
        limit,
      });
      return page(items, nextAtMs === undefined ? undefined : [nextAtMs]);
    },
  );
}

/**
 * The destination whose story is told; undefined: of all, for staff.
 * @param own a customer's
 * @throws ProblemError 400 where it is not clear which, 404 for another customer's, as for an event that it never got
 */
function oneOf(
  own: ReadonlySet<string> | undefined,
  destination: string | undefined,
): string | undefined {
  if (own === undefined) return destination;
  if (destination !== undefined) {
    if (own.has(destination)) return destination;
    throw new ProblemError(404, `You have no destination ${destination}.`);
  }
  const [only, ...others] = own;
  if (only !== undefined && others.length === 0) return only;
  throw new ProblemError(400, 'destination is missing: your link shows several, or none.');
}

/** The story without earlier destinations that had the id of a present one. */
function ofPresent(story: Story, { identityOf }: Pick<LiveState, 'identityOf'>): Story {
  const destinations = story.destinations.filter(({ destination, uid }) => {
    const present = identityOf(destination);
    return present !== undefined && isOf(present, { uid: uid ?? undefined });
  });
  return { ...story, destinations };
}

const notShown = '(not shown)';

function withCopies(
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
    ...(webhooks.some(({ oauth2 }) => oauth2 !== undefined) ? { Authorization: notShown } : {}),
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
