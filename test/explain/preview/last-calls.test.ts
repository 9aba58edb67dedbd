import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastCalls, type IngestLog } from '../../../src/explain/preview/last-calls.ts';
import type { IncomingRecord } from '../../../src/kafka/record.ts';
import { readCall, type ReadCall } from '../../../src/router/read-call.ts';
import { noRegistry } from '../../../src/schemas/schemas.ts';
import fc from '../../harness/fast-check.ts';
import { audienceTopic, incoming } from '../../router/fakes.ts';

interface Written {
  readonly timestampMs: number;
  /** Whether it is one of the calls that are looked for. */
  readonly isOurs: boolean;
}

class MemoryLog implements IngestLog {
  readonly topic = 'ingest';
  readonly start = 3;
  readonly end: number;
  readonly partition: number;
  readonly records: readonly IncomingRecord[];
  recordsRead = 0;

  constructor(partition: number, written: readonly Written[]) {
    this.partition = partition;
    this.end = this.start + written.length;
    this.records = written.map(({ timestampMs, isOurs }, index) => {
      const writeKey = isOurs ? 'ours' : 'theirs';
      const place = { topic: this.topic, partition, offset: this.start + index, timestampMs };
      return incoming({ type: 'page', userId: 'u1', writeKey }, place);
    });
  }

  async *read(start: number, end: number): AsyncGenerator<IncomingRecord> {
    for (const record of this.records)
      if (record.offset >= start && record.offset < end) {
        this.recordsRead += 1;
        yield await Promise.resolve(record);
      }
  }
}

function callOf(record: IncomingRecord): Promise<ReadCall | undefined> {
  const read = readCall(record, noRegistry, audienceTopic);
  return Promise.resolve('call' in read && read.writeKey === 'ours' ? read : undefined);
}

/** Times rise within each log, as Kafka's append times do. */
const written = fc
  .array(fc.record({ pauseMs: fc.nat(2), isOurs: fc.boolean() }), { maxLength: 60 })
  .map((all) => {
    let timestampMs = 0;
    return all.map(({ pauseMs, isOurs }): Written => {
      timestampMs += pauseMs;
      return { timestampMs, isOurs };
    });
  });

test('the last calls are those that a look at every record finds, however they are spread', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(written, { maxLength: 4 }),
      fc.integer({ min: 1, max: 12 }),
      async (logs, count) => {
        const ingest = logs.map((each, partition) => new MemoryLog(partition, each));
        const found = await lastCalls(ingest, callOf, count);
        const all = ingest
          .flatMap((log) => log.records.filter((_, index) => isOurs(logs, log, index)))
          .sort(
            (a, b) =>
              a.timestampMs - b.timestampMs || a.partition - b.partition || a.offset - b.offset,
          );
        const times = all
          .slice(-count)
          .map((each) => `${each.topic} ${each.partition}:${each.offset}`);
        assert.deepEqual(
          found.map(({ place }) => place),
          times,
        );
      },
    ),
  );
});

function isOurs(
  logs: readonly (readonly Written[])[],
  { partition }: MemoryLog,
  index: number,
): boolean {
  return logs[partition]?.[index]?.isOurs === true;
}

test('old records are left alone once the newest calls are known', async () => {
  const all = Array.from({ length: 5_000 }, (_, timestampMs) => ({ timestampMs, isOurs: true }));
  const log = new MemoryLog(0, all);
  assert.equal((await lastCalls([log], callOf, 10)).length, 10);
  assert.ok(log.recordsRead < 100, `${log.recordsRead} records were read`);
});
