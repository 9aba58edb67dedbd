import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { describeLine } from '../../src/attempts/describe.ts';
import { outcomeOfResults } from '../../src/delivery/batch/results.ts';
import { AttemptJournal, type JournalOptions } from '../../src/delivery/journal/journal.ts';
import { deliveredDespite, outcomeOfStatus, timedOut } from '../../src/delivery/outcome.ts';
import { decodeAttemptLines, type AttemptLine } from '../../src/event/attempt-line.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { silentLogger, type Logger } from '../../src/ops/log.ts';
import {
  answerOk,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
  type Answer,
} from './simulated-world.ts';

const schema = readFileSync(new URL('../../src/schemas/attempts.json', import.meta.url), 'utf8');
const formats = { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ };
const isLine = new Ajv({ allErrors: true, formats }).compile(JSON.parse(schema) as object);

/** A producer that acknowledges at once, or never. */
class Written {
  readonly records: OutgoingRecord[] = [];
  readonly waiting: (() => void)[] = [];
  isAway = false;
  /** The only partition that is away. */
  partitionAway: number | undefined = undefined;

  produce(record: OutgoingRecord, done: () => void): void {
    const take = (): void => {
      this.records.push(record);
      done();
    };
    if (this.isAway || record.partition === this.partitionAway) this.waiting.push(take);
    else take();
  }

  /** All lines, each as the published schema says. */
  lines(): AttemptLine[] {
    const lines = this.records.flatMap(({ value }) => [
      ...decodeAttemptLines(value === null ? null : Buffer.from(value)),
    ]);
    for (const line of lines) assert.ok(isLine(line), JSON.stringify([line, isLine.errors]));
    return lines;
  }
}

interface Scene {
  readonly world: SimulatedWorld;
  readonly written: Written;
  journal: () => AttemptJournal;
}

function scene(options: Partial<JournalOptions> = {}, log: Logger = silentLogger): Scene {
  const written = new Written();
  let journal: AttemptJournal | undefined;
  const world = new SimulatedWorld({
    log,
    journal: (clock) =>
      (journal = new AttemptJournal({
        producer: written,
        topic: 'attempts',
        partitions: () => 4,
        clock,
        keeps: 'all',
        ...options,
      })),
  });
  world.addDestination('crm');
  return {
    world,
    written,
    journal: () => {
      assert.ok(journal);
      return journal;
    },
  };
}

function says(status: number, body: string): Answer {
  return {
    outcome: outcomeOfStatus(status, undefined, 0, {
      body: Buffer.from(body),
      isCut: true,
      headers: { server: 'edge "1"', location: '/login' },
    }),
    afterMs: 20,
  };
}

/** What happened to a message, without times. */
function story(lines: readonly AttemptLine[], messageId: string): string[] {
  return lines.flatMap((line): string[] => {
    if (line.kind === 'bundle-deferred' || line.messageId !== messageId) return [];
    switch (line.kind) {
      case 'attempt':
        return [`attempt ${line.attempt} ${line.outcome} ${line.status ?? '-'}`];
      case 'dead-letter':
        return [`dead letter ${line.reason}`];
      case 'retry':
      case 'deferred':
      case 'dropped':
      case 'kept':
        return [line.kind];
    }
  });
}

test('what happens to an event is written down, from its first attempt to its end', async () => {
  const { world, written } = scene();
  const broken: Answer = { outcome: deliveredDespite(200, timedOut), afterMs: 20 };
  let answers = [says(503, 'upstream “down”\n'), hangs, broken];
  world.answer = () => answers.shift() ?? answerOk;
  const delivered = world.publish('crm', 'ü:1', { eventName: 'Order "Paid"' });
  await world.clock.pass(10 * minuteMs);
  answers = [says(422, 'no such token')];
  const refused = world.publish('crm', 'u2');
  await world.clock.pass(minuteMs);
  const lines = written.lines();
  assert.deepEqual(story(lines, delivered), [
    'attempt 1 failed 503',
    'retry',
    'attempt 2 failed -',
    'retry',
    'attempt 3 delivered 200',
  ]);
  assert.deepEqual(story(lines, refused), ['attempt 1 refused 422', 'dead letter http-422']);
  const [first, retry] = lines;
  assert.partialDeepStrictEqual(first, {
    destination: 'crm',
    source: 'shop',
    user: 'ü:1',
    type: 'track',
    eventName: 'Order "Paid"',
    tookMs: 20,
    url: 'https://crm.example/hook',
    cause: 'status-5xx',
    answer: 'upstream “down”\n',
    isAnswerCut: true,
    headers: { server: 'edge "1"', location: '/login' },
  });
  const taken = lines.find((line) => line.kind === 'attempt' && line.outcome === 'delivered');
  assert.equal(
    taken === undefined ? '' : describeLine(taken),
    'attempt 3 delivered, 200 in 20 ms, although its answer was odd: no complete answer in time',
  );
  assert.ok(retry?.kind === 'retry' && retry.until !== undefined && retry.deadline !== undefined);
  assert.equal(Date.parse(retry.deadline) - Date.parse(retry.at), 4 * hourMs);
});

test('an event that is put off behind a breaker, one of a deleted user, and one given up say so', async () => {
  const { world, written } = scene();
  world.answer = () => failsWith(500);
  for (let n = 0; n < 30; n++) world.publish('crm', `u${n}`);
  await world.clock.pass(20_000);
  const behind = world.publish('crm', 'late');
  world.addDestination('ads');
  const appendTimeMs = world.clock.now();
  await world.clock.pass(10);
  world.fence.delete('shop', 'gone', world.clock.now());
  const dropped = world.publish('ads', 'gone', { appendTimeMs });
  await world.clock.pass(5 * hourMs);
  const told = story(written.lines(), behind);
  assert.deepEqual(story(written.lines(), dropped), ['dropped']);
  assert.equal(told[0], 'deferred');
  assert.equal(told.at(-1), 'dead letter expired');
  const causes = written.lines().flatMap((line) => (line.kind === 'deferred' ? line.cause : []));
  assert.ok(causes.includes('breaker'));
  assert.ok(written.lines().some((line) => line.kind === 'bundle-deferred' && line.events > 1));
});

test('an answer that a rule of the destination was for says which', async () => {
  const { world, written } = scene();
  world.addDestination('crm', { retry: { on: [409], giveUpOn: [503] } });
  const answers = [409, 503].map((status) => failsWith(status));
  world.answer = () => answers.shift() ?? answerOk;
  world.publish('crm');
  await world.clock.pass(minuteMs);
  const attempts = written.lines().flatMap((line) => (line.kind === 'attempt' ? [line] : []));
  assert.deepEqual(
    attempts.map(({ rule }) => rule),
    ['retry.on', 'retry.giveUpOn'],
  );
  assert.deepEqual(attempts.map(describeLine), [
    'attempt 1 failed: answered 409 (retry.on) in 20 ms',
    'attempt 2 refused: answered 503 (retry.giveUpOn) in 20 ms',
  ]);
});

test('with strict order, lines say who keeps a place, who waits behind it, and who has lost it', async () => {
  const { world, written } = scene();
  world.addDestination('crm', { topic: 'dedicated', order: 'user', orderFor: '30s' });
  world.answer = (_url, { messageId }) => (messageId === 'm1' ? failsWith(500) : answerOk);
  for (let n = 0; n < 2; n++) world.publish('crm', 'ann', {}, 'delivery.crm');
  await world.clock.pass(minuteMs);
  const of = (id: string): string[] =>
    written
      .lines()
      .filter((line) => line.kind !== 'bundle-deferred' && line.messageId === id)
      .map((line) => describeLine(line).replace(/\d{4}-\S+Z/g, '…'));
  assert.deepEqual(of('m1').slice(1, 2), [
    'waits until …, and later events of its user behind it, given up at …',
  ]);
  assert.deepEqual(of('m1').slice(-1), [
    'waits until …; later events of its user go on without it, given up at …',
  ]);
  assert.deepEqual(of('m2'), [
    'waits for an earlier event of its user, which has failed',
    'attempt 1 delivered in 20 ms',
  ]);
});

test('lines of one user and destination are in one partition, many in a record', async () => {
  const { world, written } = scene();
  for (let n = 0; n < 400; n++) world.publish('crm', `u${n % 20}`);
  await world.clock.pass(5_000);
  const partitionsOf = new Map<string, Set<number | undefined>>();
  for (const record of written.records)
    for (const line of decodeAttemptLines(Buffer.from(String(record.value)))) {
      assert.ok(line.kind === 'attempt');
      const known = partitionsOf.get(line.user) ?? new Set();
      partitionsOf.set(line.user, known.add(record.partition));
    }
  assert.deepEqual(
    [...partitionsOf.values()].map((each) => each.size),
    Array(20).fill(1),
  );
  assert.ok(written.records.length < 40, `${written.records.length} records`);
  assert.equal(written.lines().length, 400);
});

test('with `failures`, nothing is said of events that were delivered at the first attempt', async () => {
  const { world, written } = scene({ keeps: 'failures' });
  let failures = 1;
  world.answer = () => (failures-- > 0 ? failsWith(503) : answerOk);
  const failedOnce = world.publish('crm', 'a');
  await world.clock.pass(minuteMs);
  for (let n = 0; n < 10; n++) world.publish('crm', `u${n}`);
  await world.clock.pass(minuteMs);
  assert.equal(story(written.lines(), failedOnce).length, 3);
  assert.equal(written.lines().length, 3);
});

test('a partition that takes no lines costs the lines of no other', async () => {
  const { world, written, journal } = scene();
  written.partitionAway = 2;
  const user = 'x'.repeat(10_000);
  for (let n = 0; n < 4_000; n++) world.publish('crm', `${user}${n}`);
  await world.clock.pass(minuteMs);
  const lost = journal().dropped;
  assert.ok(lost > 500 && lost < 1_000, `${lost} of about 1,000 in that partition`);
  written.partitionAway = undefined;
  for (const take of written.waiting.splice(0)) take();
  assert.equal(journal().written, 4_000 - lost);
});

test('what Kafka does not take is dropped and counted, and delivers all the same', async () => {
  const { world, written, journal } = scene();
  written.isAway = true;
  const user = 'x'.repeat(10_000);
  for (let n = 0; n < 1_500; n++) world.publish('crm', `${user}${n}`);
  await world.clock.pass(minuteMs);
  assert.equal(world.delivered.length, 1_500);
  assert.ok(journal().dropped > 500 && journal().dropped < 1_000, `${journal().dropped}`);
  written.isAway = false;
  for (const take of written.waiting.splice(0)) take();
  assert.equal(journal().written, 1_500 - journal().dropped);
  world.publish('crm', 'later');
  await world.clock.pass(2_000);
  assert.ok(written.lines().some((line) => line.kind === 'attempt' && line.user === 'later'));
});

test('what is JSON and no line is left out, like what is no JSON', () => {
  const line = '{"kind":"kept","at":"2026-01-31T12:00:00.000Z"}';
  const value = Buffer.from(`null\n3\n"text"\n[]\n${line}\n{"cut`);
  assert.deepEqual([...decodeAttemptLines(value)], [JSON.parse(line)]);
});

test('whatever a worker writes shows of a secret URL its origin and a hash', async () => {
  const said: unknown[] = [];
  const note = (fields: object, message: string): void => {
    said.push({ ...fields, message });
  };
  const log = { ...silentLogger, debug: note, info: note, warn: note, error: note };
  const { world, written } = scene({}, log);
  const urls = ['a', 'b'].map((one) => `https://hooks.test/services/s3cret-${one}`);
  const webhooks = urls.map((url) => ({ url, headers: {} }));
  world.addDestination('chat', { secretUrl: true, webhooks });
  const sentTo = new Set<string>();
  world.answer = (url) => {
    sentTo.add(url);
    return says(500, 'no');
  };
  for (let i = 0; i < 400; i++) world.publish('chat', `u${i}`);
  await world.clock.pass(minuteMs);
  const report = world.engine.reports.of('chat');
  await world.clock.pass(5 * hourMs);
  assert.deepEqual([...sentTo].sort(), urls);
  assert.ok(world.letters.length > 0 && said.length > 0);
  const shownBy = (what: unknown): readonly string[] => {
    const text = JSON.stringify(what);
    assert.ok(!/s3cret|services/.test(text), text.slice(0, 500));
    return [...new Set(text.match(/https:\/\/hooks\.test\/#[0-9a-f]{8}\b/g))].sort();
  };
  const shown = shownBy(written.lines());
  assert.equal(shown.length, 2);
  for (const what of [report, said, [...world.letters, world.retries]])
    assert.deepEqual(shownBy(what), shown);
});

test('an attempt tells its place in a batch, and the id of the request that carried it', async () => {
  const { world, written } = scene();
  world.addDestination('crm', { batch: { events: 3, wait: '1s', bytes: '256KB' } });
  const ids: string[] = [];
  world.answer = (_url, { messageId, batchSize }) => {
    ids.push(messageId);
    const body = JSON.stringify({ results: [{ status: 200 }, { status: 422 }, { status: 200 }] });
    const reading = { answerRules: undefined, keptAnswerBytes: 0 };
    const of = batchSize === 3 ? Buffer.from(body) : undefined;
    return { outcome: outcomeOfResults(207, batchSize, of, reading), afterMs: 20 };
  };
  for (const user of ['ann', 'bea', 'cem', 'dan']) world.publish('crm', user);
  await world.clock.pass(minuteMs);
  const attempts = written.lines().flatMap((line) => (line.kind === 'attempt' ? [line] : []));
  const [first = '', second = ''] = ids;
  assert.match(first, /^batch_/);
  assert.deepEqual(
    attempts
      .toSorted((a, b) => a.messageId.localeCompare(b.messageId))
      .map((line) => describeLine(line)),
    [
      `attempt 1 (1 of 3 in batch ${first}) delivered, 200 in 20 ms`,
      `attempt 1 (2 of 3 in batch ${first}) refused: answered 422 in 20 ms`,
      `attempt 1 (3 of 3 in batch ${first}) delivered, 200 in 20 ms`,
      `attempt 1 (1 of 1 in batch ${second}) delivered, 207 in 20 ms`,
    ],
  );
  for (const batch of [{ id: first, place: 0, events: 3 }, { id: first, place: 1 }, {}])
    assert.ok(!isLine({ ...attempts[0], batch }), 'the schema knows the field');
});
