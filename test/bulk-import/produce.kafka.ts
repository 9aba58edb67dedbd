import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka, type KafkaClient } from '../../src/kafka/client.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Ended, type Installation } from '../harness/postrider.ts';

let postrider: Installation;
let kafka: KafkaClient;
let folder: string;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-'));
  postrider = await install();
  const brokers = (postrider.environment['KAFKA_BROKERS'] ?? '').split(',');
  kafka = createKafka({ brokers, clientId: 'test' }, silentLogger);
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const stdin = JSON.stringify({
    kind: 'Source',
    id: 'shop',
    name: 'Shop',
    writeKeys: ['wk', 'k'],
  });
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
});

after(() => rm(folder, { recursive: true }));

async function ingested(): Promise<IncomingRecord[]> {
  const topic = `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`;
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const records: IncomingRecord[] = [];
  for await (const record of readRange(kafka, { topic, ranges })) records.push(record);
  return records;
}

async function produce(
  file: string,
  content: string | Buffer,
  ...options: readonly string[]
): Promise<Ended> {
  const path = join(folder, file);
  await writeFile(path, content);
  return postrider.run(['produce', '--source', 'shop', path, ...options]);
}

function identify(userId: string): string {
  return JSON.stringify({ type: 'identify', userId, timestamp: '2010-12-01T08:26:00.000Z' });
}

test('a gzipped file is sent line by line, in the order of each user', async () => {
  const lines = Array.from({ length: 5_000 }, (_, i) => identify(`u${i % 7}`));
  const numbered = lines.map((line, i) => line.replace('{', `{"messageId":"${i}",`));
  const { code, stdout, stderr } = await produce('calls.ndjson.gz', gzipSync(numbered.join('\n')));
  assert.deepEqual([code, stdout], [0, '5000 calls sent\n'], stderr);
  const records = await ingested();
  assert.equal(records.length, 5_000);
  const last = new Map<string, number>();
  for (const { key, value, headers } of records) {
    const user = String(key);
    const id = Number((JSON.parse(String(value)) as { messageId: string }).messageId);
    assert.ok(id > (last.get(user) ?? -1), 'out of order');
    last.set(user, id);
    assert.equal(String(headers['write-key']), 'wk');
    assert.match(String(value), /"timestamp":"2010-12-01T08:26:00.000Z"/);
  }
});

test('bad lines are named by number, the rest is sent, and the exit code says so', async () => {
  const before = (await ingested()).length;
  const { code, stdout, stderr } = await produce(
    'bad.ndjson',
    [identify('a'), 'no JSON', identify('b'), '{"type":"identify"}', ''].join('\n'),
    '-o',
    'json',
  );
  assert.equal(code, 1);
  const told = { source: 'shop', sent: 2, bad: 2, stoppedEarly: false };
  assert.deepEqual(JSON.parse(stdout), told);
  assert.match(stderr, /^line 2: The value is not JSON/m);
  assert.match(stderr, /^line 4: The call has neither a userId nor an anonymousId\.$/m);
  assert.match(stderr, /^postrider: 2 of 4 lines could not be sent, for the reasons above$/m);
  assert.equal((await ingested()).length, before + 2);
});

test('an unknown source, a missing file and broken gzip are errors in one sentence', async () => {
  const unknown = await postrider.run(['produce', '--source', 'nobody']);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^postrider: there is no source nobody; known are: shop$/m);
  const stdin = JSON.stringify({ kind: 'Source', id: 'mute', name: 'Mute', writeKeys: [] });
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
  const mute = await postrider.run(['produce', '--source', 'mute'], { stdin: identify('a') });
  assert.equal(mute.stderr, 'postrider: source mute has no write key; give it one\n');
  const missing = await postrider.run(['produce', '--source', 'shop', join(folder, 'nothing')]);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /^postrider: .*nothing does not exist\n$/);
  const directory = await postrider.run(['produce', '--source', 'shop', folder]);
  assert.equal(directory.code, 1);
  assert.match(directory.stderr, /^postrider: .* is a folder; allowed: a file, or - for stdin\n$/);
  const whole = gzipSync(identify('a'));
  const cutOff = await produce('cut-off.gz', whole.subarray(0, -5));
  assert.equal(cutOff.code, 1);
  assert.match(
    cutOff.stderr,
    /^postrider: .*cut-off\.gz is gzip that is cut off; \d calls? sent before$/m,
  );
  const damaged = await produce('damaged.gz', whole.fill(0xff, 12));
  assert.match(
    damaged.stderr,
    /^postrider: .*damaged\.gz is gzip that is damaged; 0 calls sent before$/m,
  );
});

test('one call is counted in the singular', async () => {
  const { stdout } = await produce('one.ndjson', identify('a'));
  assert.equal(stdout, '1 call sent\n');
});

test('an import that is told to stop says after which line, and goes on from there', async () => {
  const before = (await ingested()).length;
  const lines = Array.from({ length: 1_500 }, (_, i) => identify(`stopped-${i}`));
  const begun = postrider.begin(['produce', '--source', 'shop']);
  begun.stdin.write(lines.slice(0, 1_000).join('\n') + '\n');
  await eventually(async () => {
    assert.equal((await ingested()).length, before + 1_000);
  });
  // Its input is still open: nothing more may ever come.
  begun.kill('SIGINT');
  const { code, stdout, stderr } = await begun.ended;
  assert.deepEqual([code, stdout], [1, '1000 calls sent\n']);
  assert.match(stderr, /^postrider: stopped early, after line 1000$/m);

  const { code: second } = await produce('rest.ndjson', lines.slice(1_000).join('\n'));
  assert.equal(second, 0);
  const users = (await ingested()).map(({ key }) => String(key));
  const stopped = users.filter((user) => user.startsWith('stopped-'));
  assert.equal(stopped.length, 1_500);
  assert.equal(new Set(stopped).size, 1_500);
});
