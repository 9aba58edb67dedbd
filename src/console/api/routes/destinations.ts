import type { FastifyInstance } from 'fastify';
import type { DestinationState } from '../../../event/destination-state.ts';
import type { DestinationView } from '../../../event/destination-view.ts';
import { findAttempts } from '../../index/attempt-queries.ts';
import { deadLettersSince } from '../../index/letter-queries.ts';
import { countedOf } from '../../index/series-query.ts';
import { answer } from '../answers/answers.ts';
import { decodeCursor } from '../cursor.ts';
import { countStates, detailOf, nameOf, pageOf, rowOf, viewsOf } from '../destinations.ts';
import type { DestinationList, DestinationRow, Range } from '../model.ts';
import { accept } from '../parameters.ts';
import { ProblemError } from '../problem.ts';
import { Remembered } from '../remembered.ts';
import { seriesOf } from '../series.ts';
import {
  opened,
  page,
  saidBy,
  wordOf,
  type OfDestination,
  type Paged,
  type RouteDeps,
} from './route.ts';

const dayMs = 86_400_000;
/** Pages ask every two seconds, and many may. */
const listMs = 1_000;
const lettersMs = 5_000;

interface Filter {
  readonly failed?: boolean;
  readonly url?: string;
  readonly message?: string;
  readonly user?: string;
  readonly after?: string;
}

/** How destinations are, and what has happened to their events. */
export function addDestinationRoutes(api: FastifyInstance, deps: RouteDeps): void {
  const { index, live, clock } = deps;
  const now = new Remembered(clock, listMs, () => {
    const said = saidBy(deps);
    return Promise.resolve({ said, views: viewsOf(live, said) });
  });
  const letters = new Remembered(clock, lettersMs, () =>
    deadLettersSince(opened(index), clock.now() - dayMs),
  );
  const row = (view: DestinationView, counts: ReadonlyMap<string, number>): DestinationRow => {
    const id = view.destination;
    const word = wordOf(live, id);
    const { words, lastHours } = opened(index);
    const lastHour = lastHours.of(words.find(word), clock.now());
    return rowOf(view, nameOf(live, id), counts.get(word) ?? 0, lastHour);
  };
  const viewOrFail = async (id: string): Promise<DestinationView> => {
    const found = (await now.get()).views.find(({ destination }) => destination === id);
    if (found === undefined) throw new ProblemError(404, `There is no destination ${id}.`);
    return found;
  };

  api.get<{ Querystring: Paged & { search?: string; state?: DestinationState } }>(
    '/destinations',
    {
      schema: {
        summary: 'How all destinations are, the worst first',
        response: answer('destinationList'),
        querystring: accept(['search', 'state', 'cursor', 'limit']),
      },
    },
    async ({ query: { search = '', state, cursor, limit } }): Promise<DestinationList> => {
      const wanted = search.toLowerCase();
      const [{ views }, counts] = await Promise.all([now.get(), letters.get()]);
      const isFound = ({ destination: id }: DestinationView): boolean =>
        id.toLowerCase().includes(wanted) || nameOf(live, id).toLowerCase().includes(wanted);
      const found = wanted === '' ? views : views.filter(isFound);
      const all = state === undefined ? found : found.filter((view) => view.state === state);
      const behind = decodeCursor(cursor, 'string', 'number');
      const { items, next } = pageOf(all, behind, limit);
      return {
        ...page(
          items.map((view) => row(view, counts)),
          next,
        ),
        counts: countStates(found),
        indexing: { isCaughtUp: index.isCaughtUp() },
      };
    },
  );
  api.get<{ Params: OfDestination }>(
    '/destinations/:id',
    {
      schema: {
        summary: 'A destination',
        response: answer('destinationDetail'),
        params: accept(['id'], ['id']),
      },
    },
    async ({ params: { id } }) => {
      const [view, counts] = await Promise.all([viewOrFail(id), letters.get()]);
      return detailOf(row(view, counts), view, live);
    },
  );
  api.get<{ Params: OfDestination; Querystring: { range: Range } }>(
    '/destinations/:id/series',
    {
      schema: {
        summary: 'Its attempts over time, and each of its URLs',
        response: answer('series'),
        params: accept(['id'], ['id']),
        querystring: accept(['range']),
      },
    },
    async ({ params: { id }, query: { range } }) => {
      const { urls } = await viewOrFail(id);
      const nowMs = clock.now();
      const counted = await countedOf(opened(index), wordOf(live, id), range, nowMs);
      return seriesOf(counted, urls, range, nowMs);
    },
  );
  api.get<{
    Params: OfDestination;
    Querystring: Paged & Filter;
  }>(
    '/destinations/:id/attempts',
    {
      schema: {
        summary: 'What has happened to its events, the newest first',
        response: answer('attemptPage'),
        params: accept(['id'], ['id']),
        querystring: accept(['failed', 'url', 'message', 'user', 'after', 'cursor', 'limit']),
      },
    },
    async ({ params, query }) => {
      const { failed, url, message, user, after, cursor, limit } = query;
      const place = decodeCursor(cursor, 'number', 'number');
      const { items, next } = await findAttempts(opened(index), {
        destination: wordOf(live, params.id),
        failed,
        url,
        message,
        user,
        limit,
        afterSeq: after === undefined ? undefined : Number(after),
        before: place === undefined ? undefined : { atMs: place[0], seq: place[1] },
      });
      return page(items, next === undefined ? undefined : [next.atMs, next.seq]);
    },
  );
}
