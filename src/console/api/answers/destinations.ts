import { z } from 'zod';
import { eventTypes } from '../../../event/call.ts';
import { destinationHealths } from '../../../event/destination-health.ts';
import type { DueSpan, LastAnswer, UrlStatus } from '../../../event/destination-status.ts';
import type { TestAnswer } from '../../actions/operations.ts';
import type {
  AttemptRow,
  DestinationDetail,
  DestinationList,
  DestinationRow,
  Overview,
  Series,
} from '../model.ts';
import { count, dated, maybe, ms, named, resource, time } from './shapes.ts';

const state = z.enum(destinationHealths);

const lastAnswer: z.ZodType<LastAnswer> = named<LastAnswer>(
  'LastAnswer',
  z.object({
    at: time,
    outcome: z.enum(['delivered', 'failed', 'refused']),
    status: maybe(z.int()),
    detail: maybe(z.string()),
    answer: maybe(z.string().describe('How its body begins, if it was no delivery.')),
  }),
);

const urlStatus: z.ZodType<UrlStatus> = named<UrlStatus>(
  'UrlStatus',
  z.object({
    url: z
      .string()
      .describe('Without credentials and query; of a secret URL, its origin and a hash.'),
    breaker: z.enum(['closed', 'open', 'half-open']),
    failingSince: maybe(time),
    lastAnswer: maybe(lastAnswer),
    nextProbe: maybe(time),
  }),
);

const rowFields = {
  id: z.string(),
  name: z.string(),
  state,
  byOtherUrl: maybe(
    z.literal(true).describe('Of one that fails: another of its URLs takes the events.'),
  ),
  since: maybe(time),
  asOf: maybe(time.describe('When the workers that report on it were last heard.')),
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
    successRate: maybe(z.number().min(0).max(1)),
    points: z
      .array(z.tuple([count, count, ms.nullable()]))
      .describe('Twelve of five minutes, the oldest first: delivered, failed, p99 in ms.'),
  }),
};
const destinationRow: z.ZodType<DestinationRow> = named<DestinationRow>(
  'Destination',
  z.object(rowFields),
);

const overview: z.ZodType<Overview> = z.object({
  total: count,
  counts: z.record(state, count),
  getNothing: count.describe('No URL of theirs takes events.'),
  byOtherUrl: count.describe('One of their URLs fails, and another takes the events.'),
});

export const destinationList: z.ZodType<DestinationList> = named<DestinationList>(
  'DestinationList',
  z.object({
    items: z.array(destinationRow),
    next: maybe(z.string()),
    counts: z.record(state, count).describe('Of all that the search finds, whatever their state.'),
    overview: overview.describe('Of all destinations, whatever is searched for.'),
    ...dated,
    indexing: z.object({ isCaughtUp: z.boolean(), since: maybe(time) }),
  }),
);

const dueSpan = z.object({ from: time, until: time }) satisfies z.ZodType<DueSpan>;

export const destinationDetail: z.ZodType<DestinationDetail> = named<DestinationDetail>(
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
      resource.describe('As in resource files, its secrets masked. Absent for a customer.'),
    ),
    pause: maybe(z.object({ since: time })),
    openDeadLetters: count.describe('Never sent again, of the last thirty days.'),
    resumedSince: maybe(
      time.describe('It is not paused any more, and events that were kept for it may be left.'),
    ),
    formerSecretUntil: maybe(
      time.describe('Requests are signed with a former secret as well until then.'),
    ),
  }),
);

export const series: z.ZodType<Series> = named<Series>(
  'Series',
  z.object({
    ...dated,
    from: time,
    stepS: z.int(),
    points: z.array(
      z.object({
        at: time,
        delivered: count,
        failed: count,
        refused: count,
        p50Ms: ms.nullable(),
        p99Ms: ms.nullable(),
      }),
    ),
    urls: z.array(
      z.object({
        url: z.string(),
        bands: z.array(z.object({ from: time, to: time, delivered: count, failed: count })),
        breaker: maybe(z.enum(['closed', 'open', 'half-open'])),
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
export const attemptRow: z.ZodType<AttemptRow> = named<AttemptRow>(
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
  ]),
);

export const testAnswer: z.ZodType<TestAnswer> = named<TestAnswer>(
  'TestAnswer',
  z.object({
    url: z.string(),
    outcome: z.enum(['delivered', 'failed', 'refused']),
    status: maybe(z.int()),
    detail: maybe(z.string()),
    answer: maybe(z.string()),
    tookMs: ms,
  }),
);
