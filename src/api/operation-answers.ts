import { z } from 'zod';
import type { TestAnswer } from '../operations/operations.ts';
import type { RunProgress } from '../operations/runs.ts';
import { models } from './answers.ts';

const { named } = models;
const count = z.int().min(0);
const maybe: typeof z.exactOptional = z.exactOptional;
const time = z.string().meta({ format: 'date-time' });

/** @internal */
export const nothing = named('Nothing', z.object({}));

const testAnswer: z.ZodType<TestAnswer> = named(
  'TestAnswer',
  z.object({
    url: z.string().describe('Without credentials and query.'),
    outcome: z.enum(['delivered', 'failed', 'refused']),
    status: maybe(z.int()),
    detail: maybe(z.string()),
    answer: maybe(z.string().describe('How its body begins, if it was no success.')),
    tookMs: z.number().min(0),
  }),
);
/** @internal */
export const tested = named('Tested', z.object({ items: z.array(testAnswer) }));

/** @internal */
export const run: z.ZodType<RunProgress> = named(
  'Run',
  z.object({
    id: z.string().describe('Of the entry in the audit with which it began.'),
    state: z.enum(['counting', 'running', 'done', 'failed']),
    found: count.describe('With `dryRun`: how many events would be sent.'),
    sent: count.describe('Events that were sent, or users deleted.'),
    outcome: maybe(
      z.object({
        delivered: count,
        refused: count.describe('In the dead letters again.'),
        waiting: count,
        other: count.describe('Still on their way.'),
        dropped: maybe(count.describe('Their user was deleted meanwhile; absent: none was.')),
      }),
    ),
    detail: maybe(z.string()),
  }),
);

/** @internal */
export const affected = named(
  'AffectedByDeletion',
  z.object({
    sources: z.array(
      z.object({
        source: z.string(),
        destinations: z.array(z.string()).describe('Each gets a notification.'),
        disabled: z.array(z.string()).describe('They get none.'),
      }),
    ),
  }),
);

const linkFields = {
  id: z.string(),
  customer: z.string(),
  manage: z.boolean().describe('Whether destinations can be added, changed and deleted.'),
  bodies: z.boolean().describe('Whether bodies of events are shown.'),
  until: time,
};

/** @internal */
export const madeLink = named(
  'MadeLink',
  z.object({
    ...linkFields,
    path: z.string().describe("Behind the console's address. Nothing shows it again."),
    url: maybe(z.string().describe('The same with the address, if CONSOLE_URL is set.')),
  }),
);

/** @internal */
export const linkPage = named(
  'LinkPage',
  z.object({
    items: z.array(
      z.object({
        ...linkFields,
        made: time,
        by: z.string().describe('Who made it, as the audit has it.'),
        name: maybe(z.string()),
      }),
    ),
  }),
);
