import type { FastifyInstance } from 'fastify';
import type { DestinationState } from '../../event/destination-state.ts';
import type { DestinationView } from '../../event/destination-view.ts';
import type { Notice as Told } from '../../event/notice.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Topology } from '../../topology.ts';
import { eventsOfUser, findAttempts, whoseMessage } from '../index/attempt-queries.ts';
import type { Index, OpenIndex } from '../index/index.ts';
import { deadLetterOf, rejectedOf } from '../index/letter-rows.ts';
import {
  countLetters,
  deadLettersSince,
  findLetters,
  type FoundLetters,
  type LetterTable,
} from '../index/letter-queries.ts';
import type { LiveState } from '../index/live-state.ts';
import { countedOf } from '../index/series-query.ts';
import type { Audit } from '../actions/audit.ts';
import { audiencesOf, configurationOf } from './configured.ts';
import { withCopies, type ExplainedEvent } from './copies.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import {
  countStates,
  detailOf,
  nameOf,
  pageOf,
  rowOf,
  viewsOf,
  type Said,
  type SaidNow,
} from './destinations.ts';
import { behindOf, ratesOf, type ReadBacklog } from './flow.ts';
import type {
  DeadLetterCount,
  RejectedCount,
  DestinationList,
  Notice,
  DestinationRow,
  Page,
  Pipeline,
  Range,
} from './model.ts';
import { accept } from './parameters.ts';
import { ProblemError } from './problem.ts';
import { Remembered } from './remembered.ts';
import { seriesOf } from './series.ts';

export interface RouteDeps {
  readonly index: Index;
  readonly live: LiveState;
  readonly audit: Pick<Audit, 'entries'>;
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly clock: Clock;
  readonly saidNow: SaidNow;
  readonly readBacklog: ReadBacklog;
  /** As `postrider explain` tells it; undefined where nothing of the call is kept. */
  explain(messageId: string, user: string | undefined): Promise<ExplainedEvent | undefined>;
}

const dayMs = 86_400_000;
/** Pages ask every two seconds, and many may. */
const listMs = 1_000;
const lettersMs = 5_000;
const pipelineMs = 2_000;
/** It reads Kafka for a second or more. */
const mostStories = 4;

interface Query {
  readonly url?: string;
  readonly message?: string;
  readonly user?: string;
  readonly after?: string;
  readonly destination?: string;
  readonly source?: string;
  readonly reason?: string;
  readonly since?: string;
}
interface Paged {
  readonly cursor?: string;
  readonly limit: number;
}
interface OfDestination {
  readonly id: string;
}

/** Everything that is read. */
export function addReadRoutes(api: FastifyInstance, deps: RouteDeps): void {
  addDestinations(api, deps);
  addLetters(api, deps);
  addEvents(api, deps);
  addRest(api, deps);
}

function addDestinations(api: FastifyInstance, deps: RouteDeps): void {
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
    const { words, lastHours } = opened(index);
    const lastHour = lastHours.of(words.find(id), clock.now());
    return rowOf(view, nameOf(live, id), counts.get(id) ?? 0, lastHour);
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
    { schema: { summary: 'A destination', params: accept(['id'], ['id']) } },
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
        params: accept(['id'], ['id']),
        querystring: accept(['range']),
      },
    },
    async ({ params: { id }, query: { range } }) => {
      const { urls } = await viewOrFail(id);
      const nowMs = clock.now();
      return seriesOf(await countedOf(opened(index), id, range, nowMs), urls, range, nowMs);
    },
  );
  api.get<{
    Params: OfDestination;
    Querystring: Paged & Query & { failed?: boolean };
  }>(
    '/destinations/:id/attempts',
    {
      schema: {
        summary: 'What has happened to its events, the newest first',
        params: accept(['id'], ['id']),
        querystring: accept(['failed', 'url', 'message', 'user', 'after', 'cursor', 'limit']),
      },
    },
    async ({ params, query }) => {
      const { failed, url, message, user, after, cursor, limit } = query;
      const place = decodeCursor(cursor, 'number', 'number');
      const { items, next } = await findAttempts(opened(index), {
        destination: params.id,
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

function addLetters(api: FastifyInstance, { index, clock }: RouteDeps): void {
  const find = async (
    table: LetterTable,
    whose: string | undefined,
    { reason, since, cursor, limit }: Paged & Query,
  ): Promise<FoundLetters> => {
    const place = decodeCursor(cursor, 'number', 'number', 'number');
    const [atMs = 0, partition = 0, offset = 0] = place ?? [];
    return findLetters(opened(index), table, {
      whose,
      reason,
      sinceMs: since === undefined ? undefined : Date.parse(since),
      before: place === undefined ? undefined : { atMs, partition, offset },
      limit,
    });
  };
  const pageOfLetters = <T>(
    { rows, next }: FoundLetters,
    of: (row: FoundLetters['rows'][number]) => T,
  ): Page<T> =>
    page(rows.map(of), next === undefined ? undefined : [next.atMs, next.partition, next.offset]);
  const words = (): OpenIndex['words'] => opened(index).words;

  api.get<{ Querystring: Paged & Query }>(
    '/dead-letters',
    {
      schema: {
        summary: 'Events given up, the newest first',
        querystring: accept(['destination', 'reason', 'since', 'cursor', 'limit']),
      },
    },
    async ({ query }) =>
      pageOfLetters(await find('dead_letters', query.destination, query), (row) =>
        deadLetterOf(row, words()),
      ),
  );
  api.get<{ Params: OfDestination; Querystring: Paged & Query }>(
    '/destinations/:id/dead-letters',
    {
      schema: {
        summary: 'Events of a destination that were given up, the newest first',
        params: accept(['id'], ['id']),
        querystring: accept(['reason', 'since', 'cursor', 'limit']),
      },
    },
    async ({ params: { id }, query }) =>
      pageOfLetters(await find('dead_letters', id, query), (row) => deadLetterOf(row, words())),
  );
  api.get<{ Querystring: Paged & Query }>(
    '/rejected',
    {
      schema: {
        summary: 'Calls that could not be routed, the newest first',
        querystring: accept(['source', 'reason', 'since', 'cursor', 'limit']),
      },
    },
    async ({ query }) =>
      pageOfLetters(await find('rejected', query.source, query), (row) => rejectedOf(row, words())),
  );
  const sinceOf = (since: string | undefined): number =>
    since === undefined ? clock.now() - 30 * dayMs : Date.parse(since);
  api.get<{ Querystring: Query }>(
    '/dead-letters/summary',
    {
      schema: {
        summary: 'How many events were given up, by destination, reason and day',
        querystring: accept(['since']),
      },
    },
    async ({ query }) => {
      const counts = await countLetters(opened(index), 'dead_letters', sinceOf(query.since));
      return page<DeadLetterCount>(
        counts.map(({ whose, ...rest }) => ({ destination: whose, ...rest })),
        undefined,
      );
    },
  );
  api.get<{ Querystring: Query }>(
    '/rejected/summary',
    {
      schema: {
        summary: 'How many calls could not be routed, by source, reason and day',
        querystring: accept(['since']),
      },
    },
    async ({ query }) => {
      const counts = await countLetters(opened(index), 'rejected', sinceOf(query.since));
      return page<RejectedCount>(
        counts.map(({ whose, ...rest }) => ({ source: whose, ...rest })),
        undefined,
      );
    },
  );
}

function addEvents(api: FastifyInstance, deps: RouteDeps): void {
  const { index } = deps;
  let telling = 0;
  api.get<{ Querystring: { message: string; user?: string } }>(
    '/events',
    {
      schema: {
        summary: 'What became of an event at each destination, and why',
        querystring: accept(['message', 'user'], ['message']),
      },
    },
    async ({ query: { message, user } }) => {
      if (telling >= mostStories)
        throw new ProblemError(503, 'Several events are being looked up; try again in a moment.');
      telling += 1;
      try {
        // With the user, only one partition of each topic has to be read.
        const known = user ?? (await whoseMessage(opened(index), message));
        const explained = await deps.explain(message, known);
        if (explained === undefined) throw new ProblemError(404, `There is no event ${message}.`);
        return withCopies(explained, deps.live.resources);
      } finally {
        telling -= 1;
      }
    },
  );
  api.get<{ Querystring: Paged & { user: string } }>(
    '/events/search',
    {
      schema: {
        summary: 'The events of a user, the newest first',
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

function addRest(api: FastifyInstance, deps: RouteDeps): void {
  const { index, live, kafka, topology, clock, readBacklog } = deps;
  const pipeline = new Remembered(clock, pipelineMs, async (): Promise<Pipeline> => {
    const nowMs = clock.now();
    const [backlog, rates] = await Promise.all([
      readBacklog(),
      ratesOf(kafka, topology, opened(index), nowMs),
    ]);
    const behind = behindOf(backlog.backlog, nowMs);
    const { workers } = saidBy(deps);
    const at = new Date(nowMs).toISOString();
    return { at, ...backlog, workers, rates, ...(behind === undefined ? {} : { behind }) };
  });
  api.get('/pipeline', { schema: { summary: 'How each stage of the flow is' } }, () =>
    pipeline.get(),
  );
  api.get<{ Querystring: Paged }>(
    '/audiences',
    {
      schema: {
        summary: 'Audiences and computed traits, with their last syncs',
        querystring: accept(['cursor', 'limit']),
      },
    },
    ({ query: { cursor, limit } }) => {
      const behind = decodeCursor(cursor, 'string')?.[0];
      const all = audiencesOf(live).filter(({ id }) => behind === undefined || id > behind);
      const items = all.slice(0, limit);
      const last = items.at(-1);
      return page(items, last === undefined || all.length <= limit ? undefined : [last.id]);
    },
  );
  api.get<{ Querystring: Paged }>(
    '/notices',
    {
      schema: {
        summary: 'What was told last of each destination, the newest first',
        querystring: accept(['cursor', 'limit']),
      },
    },
    ({ query: { cursor, limit } }) => {
      const all = Array.from(live.notices.values(), noticeOf).sort(newestFirst);
      return newestPage(all, cursor, limit);
    },
  );
  api.get<{ Querystring: Paged }>(
    '/audit',
    {
      schema: {
        summary: 'What operators did here, the newest first',
        querystring: accept(['cursor', 'limit']),
      },
    },
    ({ query: { cursor, limit } }) => newestPage(deps.audit.entries(), cursor, limit),
  );
  api.get('/configuration', { schema: { summary: 'What is in force' } }, () =>
    configurationOf(live),
  );
}

function noticeOf({ id, at, notice: kind, destination, text }: Told): Notice {
  return { id, at, kind, destination, text };
}

interface Listed {
  readonly id: string;
  readonly at: string;
}

function newestFirst(a: Listed, b: Listed): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}

/** @param all the newest first */
function newestPage<Item extends Listed>(
  all: readonly Item[],
  cursor: string | undefined,
  limit: number,
): Page<Item> {
  const [at, id] = decodeCursor(cursor, 'string', 'string') ?? [];
  const from =
    at === undefined || id === undefined
      ? 0
      : all.findIndex((each) => newestFirst(each, { at, id }) > 0);
  const items = from < 0 ? [] : all.slice(from, from + limit);
  const last = items.at(-1);
  const isEnd = last === undefined || from + limit >= all.length;
  return page(items, isEnd ? undefined : [last.at, last.id]);
}

function saidBy({ saidNow, live, clock }: RouteDeps): Said {
  return saidNow(live.statuses(), clock.now());
}

/** @throws ProblemError for the moment in which it is made again */
function opened({ current }: Index): OpenIndex {
  if (current === undefined)
    throw new ProblemError(503, 'The index is being made again; try again in a moment.');
  return current;
}

function page<T>(items: readonly T[], next: readonly (string | number)[] | undefined): Page<T> {
  return { items, ...(next === undefined ? {} : { next: encodeCursor(next) }) };
}
