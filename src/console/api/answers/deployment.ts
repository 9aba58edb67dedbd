import { z } from 'zod';
import type { WorkerStatus } from '../../../event/destination-status.ts';
import type { Answer } from '../../../http-api/answers.ts';
import { stages } from '../choices.ts';
import { count, dated, maybe, ms, named, next, resource, time, type Complete } from './shapes.ts';

const session = named(
  'Session',
  z.object({
    user: z.string(),
    subject: maybe(
      z
        .string()
        .describe(
          'By what the audit knows them, if not by `user`: `<issuer> <sub>`, or `link <id>` of a customer.',
        ),
    ),
    role: z.enum(['viewer', 'operator', 'customer']),
    destination: maybe(
      z.string().describe('Of a customer with a link to one destination: the only one to be seen.'),
    ),
    customer: maybe(
      z.string().describe('Of a customer with a link to all their destinations: whose these are.'),
    ),
    until: maybe(time.describe('Of a customer: when the link ends.')),
    bodies: z.boolean().describe('Whether bodies of events may be seen.'),
    manage: maybe(
      z
        .literal(true)
        .describe(
          'Requests under /manage/ are passed on to the API, which decides by itself what it does for them.',
        ),
    ),
    csrf: z
      .string()
      .describe('To be sent with whatever changes something, as the header x-csrf-token.'),
    isOpen: z.boolean().describe('Nobody has to log in: it listens on loopback only.'),
    version: maybe(z.string().describe('The release that runs. Customers are not told.')),
  }),
);

const freshness = named(
  'Freshness',
  z.object({
    ...dated,
    concerns: z
      .array(
        z.object({
          kind: z.enum(['kafka-away', 'no-worker', 'reports-old', 'index-behind']),
          since: maybe(time),
          text: z.string(),
          advice: z.string().describe('What to do.'),
        }),
      )
      .describe('What keeps answers from being right, the cause before its consequences.'),
  }),
);

const worker = z.object({
  kind: z.literal('worker'),
  worker: z.string(),
  at: time,
  expiresAt: time,
  startedAt: time,
  inFlight: count,
  queued: count,
  isCutOff: z.boolean(),
  topics: z.record(z.string(), z.object({ lag: count, oldestMs: ms })),
}) satisfies Complete<WorkerStatus>;

const stage = z.enum(stages);
const pipeline = named(
  'Pipeline',
  z.object({
    ...dated,
    at: time,
    backlog: z
      .array(
        z.object({
          stage: z.enum(['router', 'delivery', 'retry']),
          topic: z.string(),
          records: count.describe('Not finished; in a retry topic also those that are not due.'),
          oldest: time.optional().describe('When the oldest of them was appended.'),
        }),
      )
      .describe('Dedicated topics and former retry topics are in it while something waits there.'),
    deadLetters: count.describe('Of the last hour.'),
    rejectedCalls: count.describe('Of the last hour.'),
    workers: z.array(worker),
    rates: z
      .array(z.object({ stage, perMinute: ms }))
      .describe('What passed in the last minute, left to right.'),
    behind: maybe(stage.describe('The stage that holds the flow back; absent where none does.')),
  }),
);

const audience = named(
  'Audience',
  z.object({
    id: z.string(),
    resource: maybe(resource.describe('Absent where it is gone and users have its trait still.')),
    told: z.array(
      z.object({
        source: z.string(),
        trait: z.string(),
        members: count,
        destinations: maybe(z.array(z.string())),
      }),
    ),
    syncs: z
      .array(
        z.object({
          sync: z.string(),
          action: z.string(),
          source: z.string(),
          trait: z.string(),
          startedAt: time,
          durationMs: ms,
          outcome: z
            .enum(['done', 'unfinished', 'refused', 'failed'])
            .describe('`unfinished`: it is sending, or was cut off.'),
          reason: maybe(z.string()),
          members: count,
          added: count,
          removed: count,
          changed: count,
          baseline: count,
          forgotten: count,
        }),
      )
      .describe('The newest first, at most 50.'),
  }),
);

const configuration = named(
  'Configuration',
  z.object({
    ...dated,
    items: z
      .array(resource)
      .describe(
        'As in resource files, secrets masked, with `managedBy: api` where that manages it.',
      ),
    next: maybe(next),
    kinds: z.record(z.string(), count).describe('How many there are, whatever is searched for.'),
    unreadable: z
      .array(z.object({ name: z.string(), reason: z.string() }))
      .describe('The first records that this version cannot read.'),
    unreadableTotal: count,
  }),
);

const notice = named(
  'Notice',
  z.object({
    id: z.string(),
    at: time,
    kind: z.string(),
    destination: maybe(z.string()),
    text: z.string(),
  }),
);

/** @internal */
export const deploymentAnswers = { session, freshness, pipeline, audience, configuration, notice };
type Answers = typeof deploymentAnswers;

export type Session = Answer<Answers['session']>;
export type Freshness = Answer<Answers['freshness']>;
export type Concern = Freshness['concerns'][number];
export type Pipeline = Answer<Answers['pipeline']>;
export type AudienceRow = Answer<Answers['audience']>;
export type SyncRun = AudienceRow['syncs'][number];
export type Configuration = Answer<Answers['configuration']>;
export type Notice = Answer<Answers['notice']>;
