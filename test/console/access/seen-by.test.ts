import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeLine } from '../../../src/attempts/describe.ts';
import { causeInWords, inCustomersWords } from '../../../src/console/access/seen-by.ts';
import { deferralCauses } from '../../../src/delivery/retry-policy.ts';
import { skipped } from '../../../src/delivery/outcome.ts';
import type { AttemptLine } from '../../../src/event/attempt-line.ts';
import { deadLetterReasons } from '../../../src/event/dead-letter-reasons.ts';
import { untriedText } from '../../../src/event/last-answer.ts';
import { ourWords } from './our-words.ts';

const of = {
  at: '2026-01-31T12:00:00.000Z',
  destination: 'crm',
  source: 'shop',
  messageId: 'm1',
  user: 'u1',
  type: 'track',
} as const;

const reasons = [...Object.keys(deadLetterReasons), 'http-410'];

const lines: readonly AttemptLine[] = [
  ...reasons.map((reason): AttemptLine => ({
    ...of,
    kind: 'dead-letter',
    attempts: 1,
    reason,
    detail: 'answered 410',
  })),
  { ...of, kind: 'retry', attempts: 1, until: of.at, deadline: of.at },
  { ...of, kind: 'retry', attempts: 1, line: 'stays', until: of.at },
  { ...of, kind: 'retry', attempts: 1, line: 'left', until: of.at },
  ...deferralCauses.flatMap((cause): AttemptLine[] => [
    { ...of, kind: 'deferred', attempts: 1, cause },
    { ...of, kind: 'deferred', attempts: 1, cause, until: of.at },
    { ...of, kind: 'bundle-deferred', events: 9, cause, until: of.at },
    {
      ...of,
      kind: 'dead-letter',
      attempts: 3,
      reason: 'expired',
      detail: untriedText(cause, 3, { atMs: 0, detail: 'answered 503' }),
    },
  ]),
  { ...of, kind: 'kept', attempts: 1 },
  { ...of, kind: 'dropped', by: 'user' },
];

/** Of `explain`, as it writes them. */
const told = [
  'routed to postrider.delivery 4:901223, with the configuration up to offset 13',
  'sent again from postrider.dead-letter 4:1290',
  'after 3 attempts, breaker, packed with 7 others; last answer 503 "busy"',
  'the router has not read it yet',
  'no worker has finished with it yet',
  'no record and no line of it is kept',
  'it neither waits nor is a dead letter: it was delivered at the first attempt, unless ATTEMPTS is off',
  'dead letter: record-refused: Kafka refuses the record: MESSAGE_TOO_LARGE',
  'malformed: no readable bundle',
  ...['retry.on', 'retry.giveUpOn'].map(
    (rule) => `attempt 2 failed: answered 503 (${rule}) in 9 ms`,
  ),
  "http-301: answered 301: the endpoint moved; set the webhook's url to https://crm.example/v2",
  skipped.detail,
];

test('whatever is told of an event, a customer reads without a word of ours', () => {
  for (const text of [...lines.map(describeLine), ...told])
    assert.doesNotMatch(inCustomersWords(text), ourWords, text);
  for (const cause of deferralCauses) assert.doesNotMatch(causeInWords(cause), /^[a-z-]+$/, cause);
});

test("the endpoint's own words stay as they are, whatever they are", () => {
  const said =
    'attempt 2 failed: answered 503 "Kafka: the breaker of my topic is a dead letter" in 9 ms';
  assert.equal(inCustomersWords(said), said);
});
