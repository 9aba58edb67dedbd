import type { FastifyInstance } from 'fastify';
import { decodeCursor } from '../../../http-api/cursor.ts';
import type { OpenIndex } from '../../index/index.ts';
import {
  countLetters,
  findLetters,
  type FoundLetters,
  type LetterCount,
  type LetterQuestion,
  type LetterTable,
} from '../../index/letter-queries.ts';
import { deadLetterOf, rejectedOf } from '../../index/letter-rows.ts';
import { deadLettersAgain, placeKey, sentAgainTimes } from '../../index/sent-again.ts';
import { answer } from '../answers/answers.ts';
import { opened, page, wordOf, type OfDestination, type Paged, type RouteDeps } from './route.ts';
import type {
  DeadLetter,
  DeadLetterCount,
  RejectedCall,
  RejectedCount,
} from '../answers/events.ts';
import type { Page } from '../answers/shapes.ts';
import { accept } from '../parameters.ts';

const dayMs = 86_400_000;

interface Query {
  readonly destination?: string;
  readonly source?: string;
  readonly reason?: string;
  readonly since?: string;
}

/** Routes for dead letters and rejected calls. */
export function addLetterRoutes(api: FastifyInstance, { index, live, clock }: RouteDeps): void {
  const find = async (
    table: LetterTable,
    of: Pick<LetterQuestion, 'whose' | 'id'>,
    { reason, since, cursor, limit }: Paged & Query,
  ): Promise<FoundLetters> => {
    const place = decodeCursor(cursor, 'number', 'number', 'number');
    const [atMs = 0, partition = 0, offset = 0] = place ?? [];
    return findLetters(opened(index), table, {
      ...of,
      reason,
      sinceMs: since === undefined ? 0 : Date.parse(since),
      before: place === undefined ? undefined : { atMs, partition, offset },
      limit,
    });
  };
  const pageOfLetters = <T>(
    { rows, next }: FoundLetters,
    of: (row: FoundLetters['rows'][number]) => T,
  ): Page<T> =>
    page(rows.map(of), next === undefined ? undefined : [next.atMs, next.partition, next.offset]);
  const pageOfDeadLetters = async (found: FoundLetters): Promise<Page<DeadLetter>> => {
    const again = await deadLettersAgain(opened(index), found.rows);
    return pageOfLetters(found, (row): DeadLetter => {
      const sentAgain = again.get(placeKey(row));
      const letter = deadLetterOf(row, words());
      return sentAgain === undefined ? letter : { ...letter, sentAgain };
    });
  };
  const words = (): OpenIndex['words'] => opened(index).words;

  api.get<{ Querystring: Paged & Query }>(
    '/dead-letters',
    {
      schema: {
        summary: 'Events given up, the newest first',
        response: answer('deadLetterPage'),
        querystring: accept(['destination', 'reason', 'since', 'cursor', 'limit']),
      },
    },
    async ({ query }) =>
      pageOfDeadLetters(await find('dead_letters', { id: query.destination }, query)),
  );
  api.get<{ Params: OfDestination; Querystring: Paged & Query }>(
    '/destinations/:id/dead-letters',
    {
      schema: {
        summary: 'Events of a destination that were given up, the newest first',
        response: answer('deadLetterPage'),
        params: accept(['id'], ['id']),
        querystring: accept(['reason', 'since', 'cursor', 'limit']),
      },
    },
    async ({ params: { id }, query }) =>
      pageOfDeadLetters(await find('dead_letters', { whose: wordOf(live, id) }, query)),
  );
  api.get<{ Querystring: Paged & Query }>(
    '/rejected',
    {
      schema: {
        summary: 'Calls that could not be routed, the newest first',
        response: answer('rejectedPage'),
        querystring: accept(['source', 'reason', 'since', 'cursor', 'limit']),
      },
    },
    async ({ query }) => {
      const found = await find('rejected', { whose: query.source }, query);
      const times = await sentAgainTimes(opened(index), 'rejected', found.rows);
      return pageOfLetters(found, (row): RejectedCall => {
        const sentMs = times.get(placeKey(row));
        const call = rejectedOf(row, words());
        if (sentMs === undefined) return call;
        return { ...call, sentAgain: { at: new Date(sentMs).toISOString() } };
      });
    },
  );
  const countsOf = async <T>(
    table: LetterTable,
    { since }: Query,
    of: (count: LetterCount) => T,
  ): Promise<Page<T>> => {
    const sinceMs = since === undefined ? clock.now() - 30 * dayMs : Date.parse(since);
    return page((await countLetters(opened(index), table, sinceMs)).map(of), undefined);
  };
  api.get<{ Querystring: Query }>(
    '/dead-letters/summary',
    {
      schema: {
        summary: 'How many events were given up, by destination, reason and day',
        response: answer('deadLetterCounts'),
        querystring: accept(['since']),
      },
    },
    ({ query }): Promise<Page<DeadLetterCount>> =>
      countsOf('dead_letters', query, ({ whose, ...rest }) => ({ destination: whose, ...rest })),
  );
  api.get<{ Querystring: Query }>(
    '/rejected/summary',
    {
      schema: {
        summary: 'How many calls could not be routed, by source, reason and day',
        response: answer('rejectedCounts'),
        querystring: accept(['since']),
      },
    },
    ({ query }): Promise<Page<RejectedCount>> =>
      countsOf('rejected', query, ({ whose, ...rest }) => ({ source: whose, ...rest })),
  );
}
