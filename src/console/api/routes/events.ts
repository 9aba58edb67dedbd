import type { FastifyInstance } from 'fastify';
import { eventsOfUser, whoseMessage } from '../../index/attempt-queries.ts';
import { answer } from '../answers/answers.ts';
import { withCopies } from '../copies.ts';
import { decodeCursor } from '../cursor.ts';
import { LongReadings } from '../in-time.ts';
import { accept } from '../parameters.ts';
import type { Story } from '../model.ts';
import { ProblemError } from '../problem.ts';
import { opened, page, shownFromMs, type Paged, type RouteDeps } from './route.ts';

/** At a time: a story reads Kafka for a second or more. */
const mostStories = 4;

/** One event, and how to find it. */
export function addEventRoutes(api: FastifyInstance, deps: RouteDeps): void {
  const { index } = deps;
  const stories = new LongReadings(mostStories);
  api.get<{ Querystring: { message: string; user?: string } }>(
    '/events',
    {
      schema: {
        summary: 'What became of an event at each destination, and why',
        response: answer('story'),
        querystring: accept(['message', 'user'], ['message']),
      },
    },
    async ({ query: { message, user }, session }) => {
      const explained = await stories.run(async (over) => {
        // With the user, only one partition of each topic has to be read.
        const known = user ?? (await whoseMessage(opened(index), message));
        return deps.explain(message, known, over);
      }, session?.destination);
      if (explained === undefined) throw new ProblemError(404, `There is no event ${message}.`);
      const told = withCopies(explained, deps.live.resources);
      const fromMs = shownFromMs(deps.live, session);
      return fromMs === 0 ? told : storyFrom(told, fromMs);
    },
  );
  api.get<{ Querystring: Paged & { user: string } }>(
    '/events/search',
    {
      schema: {
        summary: 'The events of a user, the newest first',
        response: answer('eventPage'),
        querystring: accept(['user', 'cursor', 'limit'], ['user']),
      },
    },
    async ({ query: { user, cursor, limit } }) => {
      const [beforeMs] = decodeCursor(cursor, 'number') ?? [];
      const { items, nextAtMs } = await eventsOfUser(opened(index), user, beforeMs, limit);
      return page(items, nextAtMs === undefined ? undefined : [nextAtMs]);
    },
  );
}

/** All of an event whose call came since `fromMs`, and of an older one what happened since then. */
function storyFrom(story: Story, fromMs: number): Story {
  const isShown = ({ at }: { readonly at: string }): boolean => Date.parse(at) >= fromMs;
  if (story.received.some((each) => each.outcome !== 'duplicate' && isShown(each))) return story;
  const destinations = story.destinations
    .map((each) => ({ ...each, happened: each.happened.filter(isShown) }))
    .filter(({ happened }) => happened.length > 0);
  return { ...story, destinations };
}
