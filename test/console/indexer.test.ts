import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Registry } from 'prom-client';
import type { AttemptLine } from '../../src/event/attempt-line.ts';
import {
  eventsOfUser,
  keptSince,
  type EventQuestion,
} from '../../src/console/index/attempt-queries.ts';
import { keepBounds, usualBounds } from '../../src/console/index/bounds.ts';
import { openIndexDatabase, type IndexDatabase } from '../../src/console/index/database.ts';
import { Indexer, type Feed } from '../../src/console/index/indexer.ts';
import type { OpenIndex } from '../../src/console/index/index.ts';
import {
  countLetters,
  findLetters,
  openDeadLetters,
} from '../../src/console/index/letter-queries.ts';
import { deadLettersAgain } from '../../src/console/index/sent-again.ts';
import { LastHours } from '../../src/console/index/last-hour.ts';
import { Pasts } from '../../src/console/index/pasts.ts';
import { Words } from '../../src/console/index/words.ts';
import { ConsoleMetrics } from '../../src/console/metrics.ts';
import { encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { reasonHeader } from '../../src/event/headers.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { attemptLine } from './records.ts';

const nowMs = Date.UTC(2026, 0, 31);
const now = new Date(nowMs).toISOString();

interface FakeRecord {
  readonly key: string | null;
  readonly value: string;
  readonly headers?: IncomingRecord['headers'];
}

class FakeFeed implements Feed {
  readonly topic: string;
  readonly topicId = 'id';
  readonly isFresh = true;
  readonly takenUntilMs = Infinity;
  #waiting: readonly IncomingRecord[] = [];

  constructor(topic: string) {
    this.topic = topic;
  }

  takeIsVoid(): boolean {
    return false;
  }

  take(): readonly IncomingRecord[] {
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  put(lines: readonly AttemptLine[]): void {
    const value = lines.map((line) => JSON.stringify(line)).join('\n');
    this.putRecords([{ key: null, value }]);
  }

  putRecords(records: readonly FakeRecord[]): void {
    const { topic } = this;
    this.#waiting = records.map(({ key, value, headers = {} }, index) => ({
      topic,
      partition: 0,
      offset: 7 + index,
      timestampMs: nowMs,
      key: key === null ? null : Buffer.from(key),
      value: Buffer.from(value),
      headers,
    }));
  }
}

async function openDatabase(t: TestContext): Promise<IndexDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-indexer-'));
  const metrics = new ConsoleMetrics(new Registry());
  const database = await openIndexDatabase(folder, { log: silentLogger, metrics });
  t.after(async () => {
    await database.close();
    await rm(folder, { recursive: true });
  });
  return database;
}

/** Indexes these lines, as after a start, with the words that the file has. */
async function index(
  database: IndexDatabase,
  lines: readonly AttemptLine[],
  pasts = new Pasts(),
  more: {
    readonly letters?: readonly FakeRecord[];
    readonly redrives?: readonly FakeRecord[];
  } = {},
): Promise<Words> {
  const rows = await database.rows<{ id: number; word: string }>('select id, word from words');
  const words = new Words(rows.map(({ id, word }) => [id, word]));
  const attempts = new FakeFeed('attempts');
  attempts.put(lines);
  const letters = new FakeFeed('letters');
  letters.putRecords(more.letters ?? []);
  const redrives = new FakeFeed('redrives');
  redrives.putRecords(more.redrives ?? []);
  const indexer = new Indexer({
    database,
    feeds: {
      attempts,
      letters,
      rejected: new FakeFeed('rejected'),
      redrives,
    },
    letterTopics: { dead_letters: 'letters', rejected: 'rejected' },
    words,
    lastHours: new LastHours(),
    pasts,
    lastSeq: -1,
    countedSeq: -2_000_000,
    bounds: usualBounds,
    metrics: new ConsoleMetrics(new Registry()),
    clock: { now: () => nowMs, after: () => ({ cancel: () => undefined }) },
    sourceOf: () => undefined,
  });
  const running = indexer.run();
  // What is taken before it is stopped is written.
  indexer.stop();
  await running;
  return words;
}

async function texts(database: IndexDatabase, sql: string): Promise<string[]> {
  const rows = await database.rows<{ text: string }>(sql);
  return rows.map(({ text }) => text).sort();
}

test('when there are too many words, those that no row uses make room for new destinations', async (t) => {
  const database = await openDatabase(t);
  await database.writer.run(`
    insert into words select n::integer, 'former-' || n from range(200000) as numbers(n);
    insert into attempts by name select 1 as seq, ${nowMs} as at_ms, 10 as destination, 11 as source,
      12 as type, 13 as url, 14 as cause;
    insert into buckets by name select ${nowMs / 300_000} as bucket, 20 as destination, 21 as url;
    insert into dead_letters by name select ${nowMs} as at_ms, 30 as whose, 31 as reason;
    insert into rejected by name select ${nowMs} as at_ms, 40 as whose, 41 as reason;
    insert into attempts by name select 0 as seq, 1 as at_ms, 50 as destination`);
  const words = await index(database, [attemptLine('m', { at: now, destination: 'new' })]);
  assert.ok(words.find('new') !== undefined);
  assert.ok((words.find('new') ?? 0) >= 200_000, 'a number is not used twice');
  const left = await texts(database, 'select word as text from words');
  const used = [10, 11, 12, 13, 14, 20, 21, 30, 31, 40, 41].map((id) => `former-${id}`);
  const added = ['https://crm.example/hook', 'new', 'shop', 'track'];
  assert.deepEqual(left, [...used, ...added].sort());
  for (const word of left) assert.equal(words.of(words.find(word) ?? -1), word);
  assert.equal(words.find('former-50'), undefined);
  assert.equal(words.of(50), '(others)');
});

test('as long as there is room, words stay', async (t) => {
  const database = await openDatabase(t);
  await database.writer.run("insert into words values (7, 'former')");
  const words = await index(database, [attemptLine('m', { at: now })]);
  assert.equal(words.find('former'), 7);
});

test('a line from the far future is left out, and the index goes on', async (t) => {
  const database = await openDatabase(t);
  const dayMs = 86_400_000;
  const lineAt = (messageId: string, atMs: number): AttemptLine =>
    attemptLine(messageId, { at: new Date(atMs).toISOString() });
  const lines = [
    lineAt('ahead', nowMs + dayMs),
    lineAt('too far ahead', nowMs + dayMs + 1),
    lineAt('at the end of time', 8.64e15),
    lineAt('now', nowMs),
  ];
  await index(database, lines);
  const messages = 'select message as text from attempts';
  assert.deepEqual(await texts(database, messages), ['ahead', 'now']);
  const counted = 'select count::varchar as text from buckets';
  assert.deepEqual(await texts(database, counted), ['1', '1']);
});

test('what became last of a destination is known as well after a restart as before', async (t) => {
  const database = await openDatabase(t);
  const at = (seconds: number): string => new Date(nowMs + seconds * 1_000).toISOString();
  const delivered = (destination: string, second: number): AttemptLine =>
    attemptLine(`m${second}`, { destination, at: at(second) });
  const refused = (destination: string, second: number): AttemptLine =>
    attemptLine(`m${second}`, { destination, at: at(second), outcome: 'refused', status: 400 });
  const failed = (destination: string, second: number): AttemptLine =>
    attemptLine(`m${second}`, { destination, at: at(second), outcome: 'failed', status: 500 });
  const pasts = new Pasts();
  const words = await index(
    database,
    [
      ...[1, 2].map((second) => delivered('well', second)),
      ...[1, 2, 3].map((second) => refused('never', second)),
      delivered('lately', 1),
      failed('lately', 2),
      refused('lately', 3),
      failed('mended', 1),
      refused('mended', 2),
      ...[3, 4, 5].map((second) => delivered('mended', second)),
    ],
    pasts,
  );
  const again = await Pasts.read(database, nowMs);
  for (const [destination, badInRow, badSince, isRefused, deliveredSinceLoss] of [
    ['well', 0, undefined, false, 2],
    ['never', 3, 1, true, 0],
    ['lately', 2, 2, true, 0],
    ['mended', 0, undefined, false, 3],
  ] as const) {
    const past = pasts.of(words.find(destination), 0);
    const { deliveredMs, ...exact } = past;
    const { deliveredMs: nearly, ...known } = again.of(words.find(destination), 0);
    assert.deepEqual(known, exact, destination);
    assert.ok((nearly ?? 0) <= (deliveredMs ?? 0) && (nearly ?? 0) > (deliveredMs ?? 0) - 300_000);
    assert.deepEqual(
      [past.badInRow, past.badSinceMs, past.isRefused, past.deliveredSinceLoss],
      [
        badInRow,
        badSince === undefined ? undefined : nowMs + badSince * 1_000,
        isRefused,
        deliveredSinceLoss,
      ],
      destination,
    );
  }
});

test('events that were kept are counted since the pause, and each once', async (t) => {
  const database = await openDatabase(t);
  const kept = (messageId: string, atMs: number): AttemptLine => ({
    kind: 'kept',
    at: new Date(atMs).toISOString(),
    destination: 'crm',
    source: 'shop',
    messageId,
    user: 'ada',
    type: 'track',
    attempts: 0,
  });
  const words = await index(database, [
    kept('before', nowMs - 1),
    ...['a', 'b', 'b'].map((messageId) => kept(messageId, nowMs)),
  ]);
  const counts = await keptSince(
    { database, words },
    new Map([
      ['crm', nowMs],
      ['new', nowMs],
    ]),
  );
  assert.deepEqual([...counts], [['crm', 2]]);
});

test('events of a user are found by how they fared worst, by destination, and by time', async (t) => {
  const database = await openDatabase(t);
  const at = (minute: number): string => new Date(nowMs + minute * 60_000).toISOString();
  const line = (id: string, minute: number, more: object = {}): AttemptLine =>
    attemptLine(id, { at: at(minute), ...more });
  const failed = { outcome: 'failed', status: 503 };
  const dead = { kind: 'dead-letter', reason: 'http-410', attempts: 1, detail: '' };
  const words = await index(database, [
    line('fine', 1, { eventName: 'Order Completed' }),
    // At another URL, which answered later.
    line('fine', 2, { ...failed, url: 'https://crm.example/second' }),
    line('lost', 3),
    line('lost', 4, { destination: 'ads', ...dead }),
    line('saved', 5, dead),
    line('saved', 6),
    line('open', 7, failed),
    line('open', 8, { kind: 'retry', attempts: 1 }),
    line('of another', 9, { user: 'bob' }),
    line('of half', 10, { user: 'cut\ud83d' }),
  ]);
  const find = async (question: Partial<EventQuestion> = {}): Promise<string[]> => {
    const open = { database, words } as unknown as OpenIndex;
    const { items } = await eventsOfUser(open, { user: 'ada', limit: 10, ...question });
    return items.map(({ messageId, outcome }) => `${messageId} ${outcome}`);
  };
  const all = ['open waiting', 'saved delivered', 'lost dead-letter', 'fine delivered'];
  assert.deepEqual(await find(), all);
  assert.deepEqual(await find({ outcome: 'delivered' }), [all[1], all[3]]);
  assert.deepEqual(await find({ destination: 'ads' }), [all[2]]);
  assert.deepEqual(await find({ destination: 'nobody' }), []);
  const fourMinutes = nowMs + 4 * 60_000;
  assert.deepEqual(await find({ sinceMs: fourMinutes }), all.slice(0, 3));
  assert.deepEqual(await find({ beforeMs: fourMinutes }), [all[3]]);
  for (const user of ['cut\ufffd', String.raw`cut\ud83d`])
    assert.deepEqual(await find({ user }), ['of half delivered']);
  const open = { database, words } as unknown as OpenIndex;
  const { items } = await eventsOfUser(open, { user: 'ada', limit: 10 });
  assert.deepEqual(
    items.map(({ eventName }) => eventName),
    [null, null, null, 'Order Completed'],
  );
});

test('letters that were sent again are counted apart, and say how it ended', async (t) => {
  const database = await openDatabase(t);
  const isoOf = (ms: number): string => new Date(ms).toISOString();
  const messages = ['open', 'delivered', 'again', 'waiting', 'unknown', 'twice'];
  const letters = messages.map((messageId) => {
    const redrivenMs = messageId === 'twice' ? nowMs - 5_000 : undefined;
    const envelope = { destinationId: 'crm', sourceId: 'shop', messageId, redrivenMs };
    const header = encodeEnvelope({
      ...envelope,
      type: 'track',
      configOffset: 0,
      appendTimeMs: nowMs,
      attempts: 1,
    });
    const headers = {
      [envelopeHeader]: Buffer.from(header),
      [reasonHeader]: Buffer.from('http-410'),
    };
    return { key: 'crm:ada', value: '{}', headers };
  });
  const markOf = (topic: string, index: number, letterMs = nowMs): FakeRecord => ({
    key: `${topic}:0:${7 + index}`,
    value: JSON.stringify({ time: isoOf(nowMs + 1_000), redrive: 'r', letterMs }),
  });
  const redrives = [
    ...[1, 2, 3, 4, 5].map((index) => markOf('letters', index)),
    // Of a letter that lay at this place in a former topic, of kept events, and of no topic at all.
    markOf('letters', 0, nowMs - 1),
    markOf('paused', 0),
    { key: 'nonsense', value: '{' },
  ];
  const redrivenAt = isoOf(nowMs + 900);
  const lines = [
    attemptLine('delivered', { at: now, redrivenAt }),
    attemptLine('again', { at: now, redrivenAt, kind: 'dead-letter', attempts: 1 }),
    attemptLine('waiting', { at: now, redrivenAt, outcome: 'failed', status: 503 }),
    // Of the time before it became the letter.
    attemptLine('twice', { at: now, redrivenAt: isoOf(nowMs - 5_000) }),
    attemptLine('open', { at: now }),
  ];
  const words = await index(database, lines, new Pasts(), { letters, redrives });
  const open = { database, words } as OpenIndex;
  const counts = await countLetters(open, 'dead_letters', 0);
  assert.deepEqual(
    counts.map(({ whose, count, open: never }) => [whose, count, never]),
    [['crm', 6, 1]],
  );
  assert.deepEqual([...(await openDeadLetters(open))], [['crm', 1]]);
  const { rows } = await findLetters(open, 'dead_letters', { limit: 50 });
  const again = await deadLettersAgain(open, rows);
  const ended = messages.map((_, index) => again.get(`0:${7 + index}`)?.became);
  assert.deepEqual(ended, [undefined, 'delivered', 'dead-letter', 'waiting', 'unknown', 'unknown']);

  const kept = await database.rows<{ count: number }>(
    'select count(*)::integer as count from sent_again',
  );
  assert.equal(kept[0]?.count, 6, 'marks of kept events are none of the console');
  await keepBounds(database, usualBounds, nowMs + usualBounds.lettersMs + 1);
  const left = await database.rows('select * from sent_again');
  assert.deepEqual(left, [], 'marks go with their letters');
});
