import { z } from 'zod';
import { auditActions } from '../../../event/audit-entry.ts';
import type { WorkerStatus } from '../../../event/destination-status.ts';
import {
  stages,
  type AudienceRow,
  type AuditEntry,
  type LinkRow,
  type MadeLink,
  type Configuration,
  type Freshness,
  type Notice,
  type Pipeline,
  type RunOutcome,
  type Session,
} from '../model.ts';
import type { Redrive, RunRow } from '../run-model.ts';
import { count, dated, maybe, ms, named, resource, time } from './shapes.ts';

export const session: z.ZodType<Session> = named<Session>(
  'Session',
  z.object({
    user: z.string(),
    subject: maybe(z.string().describe('By what the audit knows them, if not by `user`.')),
    role: z.enum(['viewer', 'operator', 'customer']),
    destination: maybe(z.string().describe('Of a customer: the only one that may be seen.')),
    until: maybe(time.describe('Of a customer: when the link ends.')),
    bodies: z.boolean().describe('Whether bodies of events may be seen.'),
    csrf: z.string().describe('To be sent with every POST, as the header x-csrf-token.'),
    isOpen: z.boolean().describe('Nobody has to log in.'),
  }),
);

export const freshness: z.ZodType<Freshness> = named<Freshness>(
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

const worker: z.ZodType<WorkerStatus> = z.object({
  kind: z.literal('worker'),
  worker: z.string(),
  at: time,
  expiresAt: time,
  startedAt: time,
  inFlight: count,
  queued: count,
  isCutOff: z.boolean(),
  topics: z.record(z.string(), z.object({ lag: count, oldestMs: ms })),
});

const stage = z.enum(stages);
export const pipeline: z.ZodType<Pipeline> = named<Pipeline>(
  'Pipeline',
  z.object({
    ...dated,
    at: time,
    backlog: z.array(
      z.object({
        stage: z.enum(['router', 'delivery', 'retry']),
        topic: z.string(),
        records: count,
        oldest: time.optional(),
      }),
    ),
    deadLetters: count.describe('Of the last hour.'),
    rejectedCalls: count.describe('Of the last hour.'),
    workers: z.array(worker),
    rates: z
      .array(z.object({ stage, perMinute: ms }))
      .describe('What passed in the last minute, left to right.'),
    behind: maybe(stage.describe('The stage that holds the flow back.')),
  }),
);

export const audience: z.ZodType<AudienceRow> = named<AudienceRow>(
  'Audience',
  z.object({
    id: z.string(),
    resource: maybe(resource),
    told: z.array(
      z.object({
        source: z.string(),
        trait: z.string(),
        members: count,
        destinations: maybe(z.array(z.string())),
      }),
    ),
    syncs: z.array(
      z.object({
        sync: z.string(),
        action: z.string(),
        source: z.string(),
        trait: z.string(),
        startedAt: time,
        durationMs: ms,
        outcome: z.enum(['done', 'unfinished', 'refused', 'failed']),
        reason: maybe(z.string()),
        members: count,
        added: count,
        removed: count,
        changed: count,
        baseline: count,
        forgotten: count,
      }),
    ),
  }),
);

export const configuration: z.ZodType<Configuration> = named<Configuration>(
  'Configuration',
  z.object({
    ...dated,
    items: z.array(resource).describe('As in resource files, secrets masked.'),
    next: maybe(z.string()),
    kinds: z.record(z.string(), count).describe('How many there are, whatever is searched for.'),
    unreadable: z
      .array(z.object({ name: z.string(), reason: z.string() }))
      .describe('The first records that this version cannot read.'),
    unreadableTotal: count,
  }),
);

export const notice: z.ZodType<Notice> = named<Notice>(
  'Notice',
  z.object({
    id: z.string(),
    at: time,
    kind: z.string(),
    destination: maybe(z.string()),
    text: z.string(),
  }),
);

const runOutcome: z.ZodType<RunOutcome> = z.object({
  delivered: count,
  refused: count.describe('In the dead letters again.'),
  waiting: count,
  other: count.describe('Still on their way.'),
  dropped: maybe(count.describe('Their user was deleted meanwhile.')),
});

export const auditEntry: z.ZodType<AuditEntry> = named<AuditEntry>(
  'AuditEntry',
  z.object({
    id: z.string(),
    at: time,
    user: z.string().describe('By what cannot be chosen, such as the issuer and `sub`.'),
    name: maybe(z.string().describe('Their own name for themselves.')),
    via: maybe(z.literal('command-line')),
    action: z.enum(auditActions),
    destination: maybe(z.string()),
    detail: maybe(z.string()),
    outcome: maybe(z.enum(['refused', 'failed']).describe('Absent: begun, or done.')),
    isRun: maybe(z.literal(true).describe('An entry that says how it ended follows.')),
    destinations: maybe(z.array(z.string())),
    began: maybe(z.string().describe('With an end: the id of the entry with which it began.')),
    sent: maybe(count),
    became: maybe(runOutcome),
  }),
);

export const runRow: z.ZodType<RunRow> = named<RunRow>(
  'Run',
  z.object({
    id: z.string(),
    at: time,
    user: z.string(),
    name: maybe(z.string()),
    via: maybe(z.literal('command-line')),
    action: z.enum(auditActions),
    destinations: maybe(z.array(z.string()).describe('Absent: of all.')),
    chosen: maybe(z.string()),
    state: z
      .enum(['running', 'done', 'failed', 'refused', 'unfinished'])
      .describe('`unfinished`: it runs elsewhere, or was cut off.'),
    endedAt: maybe(time),
    sent: maybe(count.describe('Events, or deleted users; of an unfinished one those seen since.')),
    outcome: maybe(runOutcome),
    detail: maybe(z.string()),
  }),
);

export const linkRow: z.ZodType<LinkRow> = named<LinkRow>(
  'Link',
  z.object({
    id: z.string(),
    destination: z.string(),
    bodies: z.boolean().describe('Whether it shows bodies of events.'),
    until: time,
    made: time,
    by: z.string(),
    name: maybe(z.string()),
  }),
);
export const madeLink: z.ZodType<MadeLink> = named<MadeLink>(
  'MadeLink',
  z.object({
    id: z.string(),
    path: z.string().describe("Behind the console's address. Nothing shows it again."),
    until: time,
  }),
);

export const redrive: z.ZodType<Redrive> = named<Redrive>(
  'Redrive',
  z.object({
    ...dated,
    id: z.string(),
    state: z.enum(['counting', 'running', 'done', 'failed']),
    found: count,
    sent: count,
    outcome: maybe(runOutcome),
    detail: maybe(z.string()),
  }),
);
