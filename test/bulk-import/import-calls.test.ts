import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  gunzipIfNeeded,
  importCalls,
  ImportProgress,
  type ImportOptions,
} from '../../src/bulk-import/import-calls.ts';
import { PostriderError } from '../../src/errors.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';

interface Imported {
  readonly written: readonly OutgoingRecord[];
  readonly sent: readonly number[];
  readonly bad: readonly string[];
}

async function* feed(...chunks: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    await Promise.resolve();
    yield Buffer.from(chunk as string);
  }
}

async function imported(
  input: AsyncIterable<Buffer>,
  changes: Partial<ImportOptions> = {},
): Promise<Imported> {
  const written: OutgoingRecord[] = [];
  const begun: number[] = [];
  const sent: number[] = [];
  const bad: string[] = [];
  await importCalls({
    input,
    topic: 'p.ingest',
    writeKey: 'wk_shop',
    producer: {
      produce: (record, done) => {
        written.push(record);
        queueMicrotask(done);
      },
    },
    signal: new AbortController().signal,
    onBegun: (line) => begun.push(line),
    onSent: (line) => sent.push(line),
    onBad: (line, reason) => bad.push(`${line}: ${reason}`),
    ...changes,
  });
  assert.deepEqual(
    sent.filter((line) => !begun.includes(line)),
    [],
  );
  return { written, sent, bad };
}

function identify(userId: string): string {
  return JSON.stringify({ type: 'identify', userId, timestamp: '2010-12-01' });
}

test('each line becomes a record as it is, keyed by its user, with the write key of the source', async () => {
  const { written } = await imported(feed(` ${identify('u1')} \r\n`, identify('u2')));
  assert.deepEqual(
    written.map(({ topic, key, value, headers }) => [topic, key, String(value), headers]),
    [
      ['p.ingest', 'u1', ` ${identify('u1')} `, { 'write-key': 'wk_shop' }],
      ['p.ingest', 'u2', identify('u2'), { 'write-key': 'wk_shop' }],
    ],
  );
});

test('bad lines are named and the rest is sent', async () => {
  const lines = [identify('u1'), '{"type":', '', '{"type":"track","userId":"u"}', identify('u2')];
  const { sent, bad } = await imported(feed(lines.join('\n')));
  assert.deepEqual(sent, [1, 5]);
  assert.deepEqual(bad, [
    '2: The value is not JSON.',
    '4: A track call needs an event name; it has none.',
  ]);
});

test('a line that is too long is named, however long it is', async () => {
  const { sent, bad } = await imported(feed('x'.repeat(100_000), '\n', identify('u1')));
  assert.deepEqual([sent, bad], [[2], ['1: The line is longer than 32768 bytes.']]);
});

test('a call that Kafka refuses is a bad line', async () => {
  const refused = new PostriderError('record-refused', 'too large for the topic');
  const { sent, bad } = await imported(feed(identify('u1')), {
    producer: {
      produce: (_, done) => {
        queueMicrotask(() => {
          done(refused);
        });
      },
    },
  });
  assert.deepEqual([sent, bad], [[], ['1: too large for the topic']]);
});

test('no more than some thousand calls are on their way at a time', async () => {
  const waiting: (() => void)[] = [];
  let most = 0;
  const lines = Array.from({ length: 10_000 }, (_, i) => identify(String(i)));
  const done = imported(feed(lines.join('\n')), {
    producer: {
      produce: (_, answer) => {
        waiting.push(answer);
        most = Math.max(most, waiting.length);
      },
    },
  }).then(({ sent }) => sent.length);
  for (;;) {
    const sent = await Promise.race([done, new Promise((go) => setTimeout(go, 1))]);
    if (sent !== undefined) {
      assert.equal(sent, 10_000);
      break;
    }
    for (const answer of waiting.splice(0)) answer();
  }
  assert.ok(most > 500 && most <= 2_000, `${most} at a time`);
});

test('an import that is ended early sends no more', async () => {
  const stop = new AbortController();
  const chunks = [1, 2, 3].map((i) => `${identify(String(i))}\n`);
  const sent: number[] = [];
  await imported(feed(...chunks), {
    signal: stop.signal,
    onSent: (line) => {
      sent.push(line);
      stop.abort();
    },
  });
  assert.ok(sent.length < 3, `${sent.length} sent`);
});

test('gzipped input is unpacked, also in parts and cut anywhere', async () => {
  const gzip = Buffer.concat([gzipSync(`${identify('u1')}\n`), gzipSync(identify('u2'))]);
  const { sent } = await imported(
    gunzipIfNeeded(feed(gzip.subarray(0, 1), gzip.subarray(1, 20), gzip.subarray(20))),
  );
  assert.deepEqual(sent, [1, 2]);
  const plain = await imported(gunzipIfNeeded(feed(identify('u1'))));
  assert.deepEqual(plain.sent, [1]);
  assert.deepEqual((await imported(gunzipIfNeeded(feed()))).sent, []);
});

test('broken gzip is an error', async () => {
  const cut = gzipSync(identify('u1')).subarray(0, -5);
  await assert.rejects(imported(gunzipIfNeeded(feed(cut))), { code: 'Z_BUF_ERROR' });
});

test('an import goes on behind the last line before which all are settled', () => {
  const progress = new ImportProgress();
  assert.equal(progress.placeText, 'after line 0');
  for (const line of [1, 2, 4, 5, 6]) progress.begun(line);
  progress.lineBad(3);
  for (const line of [1, 5]) progress.lineSent(line);
  assert.equal(progress.placeText, 'after line 1; of the lines up to 5, some were sent as well');
  progress.lineBad(2);
  assert.equal(progress.placeText, 'after line 3; of the lines up to 5, some were sent as well');
  for (const line of [4, 6]) progress.lineSent(line);
  assert.equal(progress.placeText, 'after line 6');
  assert.deepEqual([progress.sent, progress.bad], [4, 2]);
});
