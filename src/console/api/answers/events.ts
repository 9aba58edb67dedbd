import { z } from 'zod';
import {
  outcomes,
  type DeadLetter,
  type DeadLetterCount,
  type FoundEvent,
  type RejectedCall,
  type RejectedCount,
  type Story,
} from '../model.ts';
import { endsAgain } from '../../../event/sent-again.ts';
import { count, dated, maybe, named, time } from './shapes.ts';

const texts = z.record(z.string(), z.string());
const place = z.string().describe('`<partition>:<offset>`, as the command line names it.');

const sentAgain = z
  .object({
    at: time,
    became: maybe(z.enum(endsAgain)),
  })
  .describe('It was sent again, and what became of it.');

export const deadLetter: z.ZodType<DeadLetter> = named<DeadLetter>(
  'DeadLetter',
  z.object({
    place,
    at: time,
    destination: z.string(),
    user: z.string(),
    reason: z.string(),
    detail: z.string(),
    messageId: maybe(z.string()),
    type: maybe(z.string()),
    source: maybe(z.string()),
    attempts: maybe(count),
    callTime: maybe(time.describe('When the call was received.')),
    redrivenAt: maybe(time),
    answer: maybe(z.string()),
    url: maybe(z.string()),
    bytes: count.describe('Of the body.'),
    sentAgain: maybe(sentAgain),
  }),
);

const day = z.string().describe('Such as 2026-01-31, in UTC.');
export const deadLetterCount: z.ZodType<DeadLetterCount> = z.object({
  destination: z.string(),
  reason: z.string(),
  day,
  count,
  open: count.describe('Those that were never sent again.'),
});

export const rejectedCall: z.ZodType<RejectedCall> = named<RejectedCall>(
  'RejectedCall',
  z.object({
    place,
    at: time,
    reason: z.string(),
    detail: z.string(),
    key: maybe(z.string()),
    source: maybe(z.string()),
    origin: z
      .object({ topic: z.string(), partition: count, offset: count, at: time })
      .describe('Where it first arrived.'),
    bytes: count,
    sample: z.string().describe('How it begins.'),
    sentAgain: maybe(sentAgain),
  }),
);
export const rejectedCount: z.ZodType<RejectedCount> = z.object({
  source: z.string(),
  reason: z.string(),
  day,
  count,
  open: count.describe('Those that were never sent again.'),
});

export const story: z.ZodType<Story> = named<Story>(
  'Story',
  z.object({
    ...dated,
    messageId: z.string(),
    user: z.string().nullable(),
    source: z.string().nullable(),
    type: z.string().nullable(),
    event: z.string().nullable(),
    received: z.array(
      z.object({
        at: time,
        topic: z.string(),
        place,
        outcome: z.enum([
          'routed',
          'unwanted',
          'duplicate',
          'rejected',
          'unreadable',
          'not-routed-yet',
        ]),
        detail: z.string(),
      }),
    ),
    destinations: z.array(
      z.object({
        destination: z.string(),
        uid: z.string().nullable(),
        state: z.enum([
          'delivered',
          'waiting',
          'on-its-way',
          'paused',
          'dead-letter',
          'sent-again',
          'dropped',
          'done',
          'no-trace',
          'unwanted',
        ]),
        at: time.nullable(),
        detail: z.string(),
        until: time.nullable(),
        deadline: time.nullable(),
        place: z.string().nullable(),
        unwanted: z.object({ by: z.string(), unwanted: z.string().optional() }).nullable(),
        happened: z.array(z.object({ at: time, what: z.string() })),
      }),
    ),
    copies: maybe(
      z
        .array(z.object({ destination: z.string(), headers: texts, body: z.string() }))
        .describe('What is sent, its secrets masked.'),
    ),
  }),
);

export const foundEvent: z.ZodType<FoundEvent> = named<FoundEvent>(
  'Event',
  z.object({
    messageId: z.string(),
    user: z.string(),
    source: z.string(),
    type: z.string(),
    eventName: z
      .string()
      .nullable()
      .describe('The event of a track call, or the name of a page or screen.'),
    at: time.describe('When something last happened to it.'),
    outcome: z.enum(outcomes).describe('Where it fared worst.'),
    destinations: z.array(z.string()),
  }),
);
