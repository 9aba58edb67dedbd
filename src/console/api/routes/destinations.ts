import type { FastifyInstance } from 'fastify';
import type { DestinationHealth, JudgedView } from '../../../event/destination-health.ts';
import { identityText } from '../../../event/uid.ts';
import { decodeCursor } from '../../../http-api/cursor.ts';
import { ProblemError } from '../../../http-api/problem.ts';
import { findAttempts, keptSince } from '../../index/attempt-queries.ts';
import { deadLettersSince, openDeadLetters } from '../../index/letter-queries.ts';
import { countedOf } from '../../index/series-query.ts';
import { answer } from '../answers/answers.ts';
import {
  opened,
  page,
  Remembered,
  saidBy,
  wordOf,
  type OfDestination,
  type Paged,
  type RouteDeps,
} from './route.ts';
import {
  configuredOf,
  countCustomers,
  countStates,
  detailOf,
  inOrder,
  judgedViews,
  overviewOf,
  pageOf,
  rowOf,
  type Indexed,
} from '../destinations.ts';
import { isNamed } from '../configured.ts';
import { isHeard, sourceTimesOf } from '../freshness.ts';
import type { DestinationList, DestinationRow } from '../answers/destinations.ts';
import type { Order, Range } from '../choices.ts';
import { accept } from '../parameters.ts';
import { seriesOf } from '../series.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
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

/** Routes for the states of destinations, and for what happened to their events. */
export function addDestinationRoutes(api: FastifyInstance, deps: RouteDeps): void {
  const { index, live, clock } = deps;
  const lately = new Remembered(clock, lettersMs, () =>
    deadLettersSince(opened(index), clock.now() - hourMs),
  );
  const now = new Remembered(clock, listMs, async () => {
    const said = saidBy(deps);
    const nowMs = clock.now();
    const isComplete = index.isCaughtUp();
    // Without an index, workers' reports are all that is known.
    const givenUp = index.current === undefined ? nothing : await lately.get();
    const { words, lastHours, pasts } = index.current ?? {};
    const indexed: Indexed = {
      past: (id) => {
        const word = words?.find(wordOf(live, id));
        const delivered = lastHours?.deliveredOf(word, nowMs) ?? 0;
        return isComplete ? pasts?.of(word, delivered) : undefined;
      },
      givenUp: (id) => givenUp.get(wordOf(live, id)) ?? 0,
    };
    const heard = isHeard(sourceTimesOf(deps), nowMs);
    return judgedViews(live, said, indexed, { isHeard: heard, nowMs });
  });
  const letters = new Remembered(clock, lettersMs, () =>
    deadLettersSince(opened(index), clock.now() - dayMs),
  );
  const open = new Remembered(clock, lettersMs, () => openDeadLetters(opened(index)));
  const kept = new Remembered(clock, lettersMs, () => keptSince(opened(index), pausesOf(live)));
  const row = async (
    view: JudgedView,
    counts: ReadonlyMap<string, number>,
  ): Promise<DestinationRow> => {
    const id = view.destination;
    const word = wordOf(live, id);
    const { words, lastHours } = opened(index);
    const lastHour = lastHours.of(words.find(word), clock.now());
    const keptEvents = view.state === 'paused' ? ((await kept.get()).get(word) ?? 0) : undefined;
    return rowOf(view, configuredOf(live, id), counts.get(word) ?? 0, lastHour, keptEvents);
  };
  const viewOrFail = async (id: string): Promise<JudgedView> => {
    const found = (await now.get()).find(({ destination }) => destination === id);
    if (found === undefined) throw new ProblemError(404, `There is no destination ${id}.`);
    return found;
  };

  api.get<{
    Querystring: Paged & {
      search?: string;
      customer?: string;
      state?: DestinationHealth;
      sort: Order;
    };
  }>(
    '/destinations',
    {
      schema: {
        summary: 'How all destinations are, the worst first, or by a number',
        response: answer('destinationList'),
        querystring: accept(['search', 'customer', 'state', 'sort', 'cursor', 'limit']),
      },
    },
    async ({ query, asking }): Promise<DestinationList> => {
      const { search = '', customer, state, sort, cursor, limit } = query;
      const wanted = search.toLowerCase();
      const [everybodys, counts] = await Promise.all([now.get(), letters.get()]);
      const views = seenOf(everybodys, asking?.own);
      const isFound = ({ destination: id }: JudgedView): boolean => {
        const configured = configuredOf(live, id);
        if (customer !== undefined && configured?.customer !== customer) return false;
        return configured === undefined
          ? id.toLowerCase().includes(wanted)
          : isNamed(configured, wanted);
      };
      const isSearched = wanted !== '' || customer !== undefined;
      const found = isSearched ? views.filter(isFound) : views;
      const all = state === undefined ? found : found.filter((view) => view.state === state);
      const behind = decodeCursor(cursor, 'string', 'number');
      const lettersOf = (id: string): number => counts.get(wordOf(live, id)) ?? 0;
      const { items, next } = pageOf(inOrder(all, sort, lettersOf), behind, limit);
      return {
        ...page(await Promise.all(items.map((view) => row(view, counts))), next),
        counts: countStates(found),
        customers: countCustomers(live, found),
        overview: overviewOf(views),
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
      const [view, counts, opens] = await Promise.all([viewOrFail(id), letters.get(), open.get()]);
      const neverSent = opens.get(wordOf(live, id)) ?? 0;
      return detailOf(await row(view, counts), view, live, neverSent, clock.now());
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

function seenOf(
  views: readonly JudgedView[],
  own: ReadonlySet<string> | undefined,
): readonly JudgedView[] {
  return own === undefined ? views : views.filter(({ destination }) => own.has(destination));
}

const nothing: ReadonlyMap<string, number> = new Map();

/** Since when each paused destination is, by its word. */
function pausesOf({
  resources,
  pauses,
}: Pick<RouteDeps['live'], 'resources' | 'pauses'>): ReadonlyMap<string, number> {
  const since = new Map<string, number>();
  for (const resource of resources.values()) {
    const pause = resource.kind === 'Destination' ? pauses.get(resource) : undefined;
    if (pause !== undefined) since.set(identityText(resource), Date.parse(pause.since));
  }
  return since;
}
