import { z } from 'zod';
import { eventTypes } from '../../../event/call.ts';
import { endsAgain } from '../../../event/sent-again.ts';
import type { Answer } from '../../../http-api/answers.ts';
import { outcomes } from '../choices.ts';
import { count, dated, maybe, named, time } from './shapes.ts';

const texts = z.record(z.string(), z.string());
const place = z.string().describe('`<partition>:<offset>`, as the command line names it.');

const sentAgain = z
  .object({
    at: time,
    became: maybe(
      z.enum(endsAgain).describe('Absent for calls. `unknown`: nothing is known yet, or no more.'),
    ),
  })
  .describe('It was sent again, and what became of it.');

const deadLetter = named(
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
    redrivenAt: maybe(time.describe('When it was sent again before it became this letter.')),
    answer: maybe(z.string().describe('How the last answer of its endpoint begins.')),
    url: maybe(z.string()),
    bytes: count.describe('Of the body.'),
    sentAgain: maybe(sentAgain),
  }),
);

const day = z.string().describe('Such as 2026-01-31, in UTC.');
const open = count.describe('Those that were never sent again.');
const deadLetterCount = z.object({
  destination: z.string(),
  reason: z.string(),
  day,
  count,
  open,
});

const rejectedCall = named(
  'RejectedCall',
  z.object({
    place,
    at: time,
    reason: z.string(),
    detail: z.string(),
    key: maybe(z.string().describe('Of the record: usually the user.')),
    source: maybe(
      z.string().describe('The source that its write key belongs to; absent where none does.'),
    ),
    origin: z
      .object({ topic: z.string(), partition: count, offset: count, at: time })
      .describe('Where it first arrived.'),
    bytes: count.describe('Of the call.'),
    sample: z.string().describe('How it begins.'),
    sentAgain: maybe(sentAgain),
  }),
);
const rejectedCount = z.object({
  source: z.string().describe('Empty: its write key is missing or belongs to none.'),
  reason: z.string(),
  day,
  count,
  open,
});

const destinationStory = z.object({
  destination: z.string(),
  uid: z.string().nullable().describe('Which destination of the id; null: the first one.'),
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
});

const story = named(
  'Story',
  z.object({
    ...dated,
    messageId: z.string(),
    user: z.string().nullable(),
    source: z.string().nullable(),
    type: z.string().nullable(),
    event: z.string().nullable().describe('The name of a track call.'),
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
    destinations: z.array(destinationStory),
    copies: maybe(
      z
        .array(z.object({ destination: z.string(), headers: texts, body: z.string() }))
        .describe(
          'What is sent, its secrets masked; absent where nothing of it is kept or bodies may not be seen.',
        ),
    ),
  }),
);

const foundEvent = named(
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

const eventName = named(
  'EventName',
  z.object({
    type: z.enum(eventTypes),
    name: maybe(z.string().describe('Of a track call its event; absent for a type without names.')),
    description: maybe(z.string().describe('From CONSOLE_EVENTS_FILE.')),
    example: maybe(
      z.looseObject({}).describe('A call of it as CONSOLE_EVENTS_FILE has it: no real event.'),
    ),
    seen: maybe(
      z
        .object({ at: time, messageId: z.string(), destination: z.string() })
        .describe('The last one that came to a destination which the session may see.'),
    ),
  }),
);

/** @internal */
export const eventAnswers = {
  deadLetter,
  deadLetterCount,
  rejectedCall,
  rejectedCount,
  story,
  foundEvent,
  eventName,
};
type Answers = typeof eventAnswers;

export type DeadLetter = Answer<Answers['deadLetter']>;
export type SentAgain = NonNullable<DeadLetter['sentAgain']>;
export type DeadLetterCount = Answer<Answers['deadLetterCount']>;
export type RejectedCall = Answer<Answers['rejectedCall']>;
export type RejectedCount = Answer<Answers['rejectedCount']>;
/** An event from its receipt to its end, as `postrider explain` tells it. */
export type Story = Answer<Answers['story']>;
export type DestinationStory = Story['destinations'][number];
/** A kind of event that a destination can choose. */
export type EventName = Answer<Answers['eventName']>;
export type FoundEvent = Answer<Answers['foundEvent']>;
