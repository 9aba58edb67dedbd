import type { FastifyInstance } from 'fastify';
import type { Notice as Told } from '../../../event/notice.ts';
import { readPipeline } from '../../../status/pipeline.ts';
import { decodeCursor } from '../../../http-api/cursor.ts';
import { inTime } from '../../../http-api/in-time.ts';
import { answer } from '../answers/answers.ts';
import { audiencesOf, configurationOf } from '../configured.ts';
import { opened, page, Remembered, saidBy, type Paged, type RouteDeps } from './route.ts';
import { behindOf, ratesOf } from '../flow.ts';
import { freshnessOf } from '../freshness.ts';
import type { Configuration, Notice, Pipeline } from '../answers/deployment.ts';
import type { Page } from '../answers/shapes.ts';
import { accept } from '../parameters.ts';

const pipelineMs = 2_000;
/** Every page asks every two seconds. */
const freshMs = 1_000;

/** The flow, the configuration, and what people were told and have done. */
export function addDeploymentRoutes(api: FastifyInstance, deps: RouteDeps): void {
  const { index, live, kafka, topology, clock } = deps;
  const pipeline = new Remembered(clock, pipelineMs, async (): Promise<Pipeline> => {
    const nowMs = clock.now();
    const [backlog, rates] = await Promise.all([
      readPipeline(kafka, topology, nowMs),
      ratesOf(kafka, topology, opened(index), nowMs),
    ]);
    const behind = behindOf(backlog.backlog, nowMs);
    const { workers } = saidBy(deps);
    const at = new Date(nowMs).toISOString();
    return {
      at,
      asOf: at,
      ...backlog,
      workers,
      rates,
      ...(behind === undefined ? {} : { behind }),
    };
  });
  const fresh = new Remembered(clock, freshMs, () =>
    Promise.resolve(freshnessOf(deps, saidBy(deps), clock.now())),
  );
  api.get(
    '/pipeline',
    { schema: { summary: 'How each stage of the flow is', response: answer('pipeline') } },
    () => inTime(pipeline.get()),
  );
  api.get(
    '/freshness',
    { schema: { summary: 'How new all answers are', response: answer('freshness') } },
    () => fresh.get(),
  );
  api.get<{ Querystring: Paged }>(
    '/audiences',
    {
      schema: {
        summary: 'Audiences and computed traits, with their last syncs',
        response: answer('audiencePage'),
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
        response: answer('noticePage'),
        querystring: accept(['cursor', 'limit']),
      },
    },
    ({ query: { cursor, limit } }) => {
      const all = live.notices().map(noticeOf).sort(newestFirst);
      return newestPage(all, cursor, limit);
    },
  );
  api.get<{ Querystring: Paged }>(
    '/audit',
    {
      schema: {
        summary: 'What operators did here, the newest first',
        response: answer('auditPage'),
        querystring: accept(['cursor', 'limit']),
      },
    },
    ({ query: { cursor, limit } }) => newestPage(deps.audit.entries(), cursor, limit),
  );
  api.get<{ Querystring: Paged & { search?: string; kind?: string } }>(
    '/configuration',
    {
      schema: {
        summary: 'What is in force, by kind and id',
        response: answer('configuration'),
        querystring: accept(['search', 'kind', 'cursor', 'limit']),
      },
    },
    ({ query: { search = '', kind, cursor, limit } }): Configuration => {
      const behind = decodeCursor(cursor, 'string')?.[0];
      const { items, last, ...rest } = configurationOf(live, { search, kind, behind, limit });
      return { ...page(items, last === undefined ? undefined : [last]), ...rest };
    },
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
