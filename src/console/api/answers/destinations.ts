import { z } from 'zod';
import type { AttemptLine } from '../../../event/attempt-line.ts';
import { eventTypes } from '../../../event/call.ts';
import { destinationHealths } from '../../../event/destination-health.ts';
import type { DueSpan, LastAnswer, UrlStatus } from '../../../event/destination-status.ts';
import type { Answer } from '../../../http-api/answers.ts';
import { count, dated, maybe, ms, named, next, resource, time, type Complete } from './shapes.ts';

const state = z.enum(destinationHealths);

const lastAnswer = named(
  'LastAnswer',
  z.object({
    at: time,
    outcome: z.enum(['delivered', 'failed', 'refused']),
    status: maybe(z.int()),
    detail: maybe(z.string()),
    answer: maybe(z.string().describe('How its body begins, if it was no delivery.')),
  }) satisfies Complete<LastAnswer>,
);

const urlStatus = named(
  'UrlStatus',
  z.object({
    url: z
      .string()
      .describe('Without credentials and query; of a secret URL, its origin and a hash.'),
    breaker: z.enum(['closed', 'open', 'half-open']),
    failingSince: maybe(time),
    lastAnswer: maybe(lastAnswer),
    nextProbe: maybe(time),
    uncompressedSince: maybe(
      time.describe('It answered 415 to a compressed body, and gets all uncompressed.'),
    ),
  }) satisfies Complete<UrlStatus>,
);

const rowFields = {
  id: z.string(),
  name: z.string(),
  customer: maybe(z.string().describe("The platform's own id of the customer that it is of.")),
  managedBy: maybe(z.literal('api').describe('Absent: files.')),
  state,
  byOtherUrl: maybe(
    z.literal(true).describe('Of one that fails: another of its URLs takes the events.'),
  ),
  since: maybe(time),
  asOf: maybe(
    time.describe('When the workers that report on it were last heard; absent: none was.'),
  ),
  until: maybe(time),
  lastAnswer: maybe(lastAnswer),
  waiting: count.describe('Events.'),
  kept: maybe(
    count.describe('Of a paused one: events that were kept since, as far as attempts go back.'),
  ),
  oldest: maybe(time),
  nextTry: maybe(time),
  deadline: maybe(time.describe('When the first event that waits is given up.')),
  perMinute: z
    .object({ delivered: ms, failed: ms })
    .describe('Of the last three minutes: events delivered, and attempts that were no delivery.'),
  p99Ms: maybe(ms),
  deadLetters: count.describe('Of the last 24 hours.'),
  lastHour: z.object({
    successRate: maybe(z.number().min(0).max(1).describe('Of attempts; absent without any.')),
    points: z
      .array(z.tuple([count, count, ms.nullable()]))
      .describe(
        'Twelve of five minutes, the oldest first, the last one not over: delivered, failed, p99 in ms.',
      ),
  }),
};
const destinationRow = named('Destination', z.object(rowFields));

const overview = z.object({
  total: count,
  counts: z.record(state, count),
  getNothing: count.describe('No URL of theirs takes events.'),
  byOtherUrl: count.describe('One of their URLs fails, and another takes the events.'),
});

const destinationList = named(
  'DestinationList',
  z.object({
    items: z.array(destinationRow),
    next: maybe(next),
    counts: z.record(state, count).describe('Of all that the search finds, whatever their state.'),
    customers: count.describe('How many customers have those that the search finds.'),
    overview: overview.describe('Of all destinations, whatever is searched for.'),
    ...dated,
    indexing: z
      .object({
        isCaughtUp: z.boolean().describe('Nothing has waited for ten seconds to be read.'),
        since: maybe(time.describe('Attempts from before are not known.')),
      })
      .describe('How far the console itself is behind Kafka.'),
  }),
);

const dueSpan = z.object({ from: time, until: time }) satisfies Complete<DueSpan>;

const destinationDetail = named(
  'DestinationDetail',
  z.object({
    ...dated,
    ...rowFields,
    urls: z.array(urlStatus),
    waitingBy: z.object({
      here: count.describe("In the workers' memory."),
      tiers: z.record(z.string(), count).describe('In retry topics, by their delay.'),
      due: z.record(z.string(), dueSpan).describe('When what waits in a retry topic is due.'),
    }),
    resource: maybe(
      resource.describe(
        'As in resource files, its secrets masked; empty where it is not configured any more. Absent for a customer, because the query of a URL may have a token.',
      ),
    ),
    pause: maybe(z.object({ since: time })),
    openDeadLetters: count.describe('Never sent again, of the last thirty days.'),
    resumedSince: maybe(
      time.describe(
        'Since then it is not paused any more, and events that were kept for it may be left.',
      ),
    ),
    formerSecretUntil: maybe(
      time.describe('Requests are signed with a former secret as well until then.'),
    ),
    notify: maybe(
      z
        .string()
        .describe(
          'The URL at which its owner is told that it fails, without its query; of a secret URL, its origin and a hash.',
        ),
    ),
  }),
);

const series = named(
  'Series',
  z.object({
    ...dated,
    from: time.describe('Of the first point.'),
    stepS: z.int(),
    points: z
      .array(
        z.object({
          at: time,
          delivered: count,
          failed: count,
          refused: count,
          p50Ms: ms.nullable(),
          p99Ms: ms.nullable(),
        }),
      )
      .describe('Every step of the range, also those without attempts.'),
    urls: z.array(
      z.object({
        url: z.string().describe('Without credentials and query.'),
        bands: z
          .array(z.object({ from: time, to: time, delivered: count, failed: count }))
          .describe(
            'Stretches with attempts, each a step long at least; neighbours with the same outcome are one. `failed` counts refusals too.',
          ),
        breaker: maybe(
          z.enum(['closed', 'open', 'half-open']).describe('Absent where no worker says.'),
        ),
      }),
    ),
  }),
);

const lineFields = {
  seq: z.string().describe('It grows: `after` asks for what is newer.'),
  at: time,
  destination: z.string(),
};
const eventFields = {
  ...lineFields,
  source: z.string(),
  messageId: z.string(),
  user: z.string(),
  type: z.enum(eventTypes),
  eventName: maybe(
    z.string().describe('The event of a track call, or the name of a page or screen.'),
  ),
  redrivenAt: maybe(time),
};
const attempts = count.describe('Made so far.');
const attemptRow = named(
  'Attempt',
  z.union([
    z.object({
      ...eventFields,
      kind: z.literal('attempt'),
      attempt: z.int().min(1),
      url: z.string(),
      outcome: z.enum(['delivered', 'failed', 'refused']),
      status: maybe(z.int()),
      tookMs: ms,
      batch: maybe(
        z
          .object({ id: z.string(), place: z.int().min(1), events: z.int().min(1) })
          .describe('The request could carry several events: its id, and the place of this one.'),
      ),
      cause: maybe(z.string()),
      detail: maybe(z.string()),
      answer: maybe(z.string().describe('How its body begins, if it was no delivery.')),
      isAnswerCut: maybe(z.literal(true).describe('The body went on.')),
      headers: maybe(z.record(z.string(), z.string())),
      retryAfterMs: maybe(ms),
      rule: maybe(
        z
          .enum(['retry.on', 'retry.giveUpOn'])
          .describe('By which field of the destination it was judged; absent: by default.'),
      ),
    }),
    z.object({
      ...eventFields,
      kind: z.enum(['retry', 'deferred']),
      attempts,
      cause: maybe(z.string()),
      line: maybe(
        z
          .enum(['stays', 'left'])
          .describe(
            'With strict order: it keeps its place before later events of its user, or lost it.',
          ),
      ),
      until: maybe(time),
      deadline: maybe(time),
    }),
    z.object({
      ...lineFields,
      kind: z.literal('bundle-deferred'),
      events: count,
      cause: z.string(),
      until: time,
    }),
    z.object({
      ...eventFields,
      kind: z.literal('dead-letter'),
      attempts,
      reason: z.string(),
      detail: z.string(),
    }),
    z.object({ ...eventFields, kind: z.literal('kept'), attempts }),
    z.object({ ...eventFields, kind: z.literal('dropped'), by: z.string() }),
  ]) satisfies Complete<AttemptLine & { readonly seq: string }>,
);

/** @internal */
export const destinationAnswers = {
  destinationRow,
  destinationList,
  destinationDetail,
  series,
  attemptRow,
};
type Answers = typeof destinationAnswers;

export type DestinationRow = Answer<Answers['destinationRow']>;
export type LastHour = DestinationRow['lastHour'];
export type DestinationList = Answer<Answers['destinationList']>;
export type Overview = DestinationList['overview'];
export type DestinationDetail = Answer<Answers['destinationDetail']>;
export type Series = Answer<Answers['series']>;
export type SeriesPoint = Series['points'][number];
export type UrlSeries = Series['urls'][number];
export type AttemptRow = Answer<Answers['attemptRow']>;
