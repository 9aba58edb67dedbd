import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterView } from '../../src/dead-letter/dead-letter-view.ts';
import { answerOf, readDeadLetter, type DeadLetter } from '../../src/dead-letter/dead-letter.ts';
import { presentLetter } from '../../src/dead-letter/present.ts';
import { Redrives } from '../../src/dead-letter/redrives.ts';
import { outcomeOfStatus } from '../../src/delivery/outcome.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { defaultPolicy, hourMs, minuteMs, SimulatedWorld, type Answer } from './simulated-world.ts';

function answers(status: number, said: string, retryAfter?: string): Answer {
  const answer = { body: Buffer.from(said), isCut: false, headers: {} };
  return { outcome: outcomeOfStatus(status, retryAfter, 0, answer), afterMs: 5 };
}

function letterOf({ key, value, headers = {} }: OutgoingRecord): DeadLetter {
  const bytes = Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)] as const);
  return readDeadLetter({
    topic: 'p.dead-letter',
    partition: 0,
    offset: 0,
    timestampMs: 0,
    key: Buffer.from(key ?? ''),
    value: Buffer.from(value ?? ''),
    headers: Object.fromEntries(bytes),
  });
}

function shown(letter: DeadLetter): string {
  return presentLetter(letter, new Redrives('p.dead-letter'), 'table', deadLetterView);
}

test('an event that waited behind a breaker to its end keeps what its endpoint said at the last attempt', async () => {
  const world = new SimulatedWorld({ seed: 3 });
  world.addDestination('crm', {
    webhooks: [{ url: 'https://crm.test/in?token=teehee', headers: {} }],
  });
  world.answer = () => answers(500, 'upstream timeout');
  // Enough for a breaker to open, and to be packed together behind it.
  for (let i = 0; i < 400; i++) world.publish('crm', `u${i}`);
  await world.clock.pass(5 * hourMs);
  assert.equal(world.letters.length, 400);
  assert.ok(world.retries.length > world.retryRecords, 'nothing was packed together');
  const letters = world.letters.map(letterOf);
  const untried = letters.filter(({ detail }) => detail.startsWith('not tried again since'));
  assert.ok(untried.length > 50, `only ${untried.length}`);
  for (const letter of untried) {
    assert.match(
      letter.detail,
      /^not tried again since \d{4}-\d\d-\d\dT\d\d:\d\dZ \(breaker\); last answer 500 "upstream timeout"$/,
    );
    assert.equal(String(answerOf(letter)), 'upstream timeout');
    assert.equal(letter.lastAnswer?.url, 'https://crm.test/in');
  }
  for (const { detail } of letters)
    assert.match(detail, /^(answered 500|never tried \(breaker\)|not tried again since )/);
});

test('a dead letter tells the URL, the time and the Retry-After of its last attempt', async () => {
  const world = new SimulatedWorld({ policy: { ...defaultPolicy, windowMs: minuteMs } });
  world.addDestination('crm');
  world.answer = () => answers(429, 'slow down', '30');
  world.publish('crm');
  await world.clock.pass(10 * minuteMs);
  const [record = assert.fail()] = world.letters;
  const text = shown(letterOf(record));
  assert.match(text, /^answer +slow down$/m);
  assert.match(text, /^last attempt +\S+Z, answered 429$/m);
  assert.match(text, /^url +https:\/\/\S+$/m);
  assert.match(text, /^retry-after +30 s$/m);
});

test('of several URLs the one is told of whose answer counted', async () => {
  const world = new SimulatedWorld();
  const webhooks = ['https://a.test/', 'https://b.test/'].map((url) => ({ url, headers: {} }));
  world.addDestination('crm', { webhooks });
  world.answer = (url) => (url.includes('b.test') ? answers(422, 'b refuses') : answers(400, 'a'));
  world.publish('crm');
  await world.clock.pass(minuteMs);
  const [record = assert.fail()] = world.letters;
  const letter = letterOf(record);
  const { lastAnswer } = letter;
  assert.deepEqual(
    [String(answerOf(letter)), lastAnswer?.url, lastAnswer?.detail],
    ['a', 'https://a.test/', 'answered 400'],
  );
});

test('the log says what was answered, and for how long the endpoint wants to be left alone', async () => {
  const lines: (readonly [message: string, fields: object])[] = [];
  const note = (fields: object, message: string): void => {
    lines.push([message, fields]);
  };
  const world = new SimulatedWorld({ log: { ...silentLogger, debug: note, warn: note } });
  world.addDestination('crm');
  world.answer = (_url, { messageId }) =>
    messageId.endsWith('1') ? answers(503, 'x'.repeat(300), '20') : answers(422, 'bad list');
  world.publish('crm', 'u1');
  world.publish('crm', 'u2');
  await world.clock.pass(minuteMs);
  const of = (message: string): object =>
    lines.find(([text]) => text.startsWith(message))?.[1] ?? {};
  assert.partialDeepStrictEqual(of('a request to an endpoint failed'), {
    detail: 'answered 503',
    answer: 'x'.repeat(200),
    retryAfterMs: 20_000,
  });
  assert.partialDeepStrictEqual(of('event given up'), {
    detail: 'answered 422',
    answer: 'bad list',
  });
});
