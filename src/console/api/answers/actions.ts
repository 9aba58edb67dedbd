import { z } from 'zod';
import { auditActions, type AuditEntry, type RunOutcome } from '../../../event/audit-entry.ts';
import type { Answer } from '../../../http-api/answers.ts';
import { count, dated, maybe, ms, named, time, type Complete } from './shapes.ts';

const runOutcome = z.object({
  delivered: count,
  refused: count.describe('In the dead letters again.'),
  waiting: count,
  other: count.describe('Still on their way.'),
  dropped: maybe(count.describe('Their user was deleted meanwhile; absent: none was.')),
}) satisfies Complete<RunOutcome>;

const auditEntry = named(
  'AuditEntry',
  z.object({
    id: z.string(),
    at: time,
    user: z.string().describe('By what cannot be chosen, such as the issuer and `sub`.'),
    name: maybe(z.string().describe('Their own name for themselves.')),
    via: maybe(z.enum(['command-line', 'api'])),
    action: z.enum(auditActions),
    destination: maybe(z.string()),
    detail: maybe(z.string()),
    outcome: maybe(z.enum(['refused', 'failed']).describe('Absent: begun, or done.')),
    isRun: maybe(z.literal(true).describe('An entry that says how it ended follows.')),
    customer: maybe(z.string().describe('Whose events a run sends.')),
    destinations: maybe(z.array(z.string())),
    began: maybe(z.string().describe('With an end: the id of the entry with which it began.')),
    sent: maybe(count),
    became: maybe(runOutcome),
  }) satisfies Complete<AuditEntry>,
);

const runRow = named(
  'Run',
  z.object({
    id: z.string().describe('Of the entry in the audit with which it began.'),
    at: time,
    user: z.string(),
    name: maybe(z.string()),
    via: maybe(z.enum(['command-line', 'api'])),
    action: z.enum(auditActions),
    customer: maybe(z.string()),
    destinations: maybe(
      z.array(z.string()).describe('Absent: all of the customer, or of everybody; or too many.'),
    ),
    chosen: maybe(z.string().describe('The choice, in words.')),
    state: z
      .enum(['running', 'done', 'failed', 'refused', 'unfinished'])
      .describe('`unfinished`: it runs elsewhere, or was cut off.'),
    endedAt: maybe(time),
    sent: maybe(count.describe('Events, or deleted users; of an unfinished one those seen since.')),
    outcome: maybe(runOutcome),
    detail: maybe(z.string().describe('What was left out, or why it failed.')),
  }),
);

const linkRow = named(
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
const madeLink = named(
  'MadeLink',
  z.object({
    id: z.string(),
    path: z.string().describe("Behind the console's address. Nothing shows it again."),
    until: time,
  }),
);

const redrive = named(
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

const testAnswer = named(
  'TestAnswer',
  z.object({
    url: z.string(),
    outcome: z.enum(['delivered', 'failed', 'refused']),
    status: maybe(z.int()),
    detail: maybe(z.string()),
    answer: maybe(z.string().describe('How its body begins, if it was no success.')),
    tookMs: ms,
    compression: maybe(
      z
        .enum(['gzip', 'refused'])
        .describe('refused: it answered 415 to a compressed body, and got it uncompressed.'),
    ),
  }),
);

/** @internal */
export const actionAnswers = { auditEntry, runRow, redrive, linkRow, madeLink, testAnswer };
type Answers = typeof actionAnswers;

/** A redrive, a resume, or a deletion of users: by the console or by a command, running or over. */
export type RunRow = Answer<Answers['runRow']>;
/** The progress of a run that sends events again. */
export type Redrive = Answer<Answers['redrive']>;
/** A customer's link that works. Its token is in the link alone. */
export type LinkRow = Answer<Answers['linkRow']>;
export type MadeLink = Answer<Answers['madeLink']>;
/** The answer of one URL of a destination to a test event. */
export type TestAnswer = Answer<Answers['testAnswer']>;
