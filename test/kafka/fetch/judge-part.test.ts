import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgePart } from '../../../src/kafka/fetch/judge-part.ts';
import type { KafkaErrorName } from '../../../src/kafka/protocol/errors.ts';
import type { FetchedPartition } from '../../../src/kafka/protocol/fetch.ts';

/** Of a log that ends at 10. */
function part(changes: Partial<FetchedPartition> = {}): FetchedPartition {
  return {
    topicId: 'id',
    partition: 0,
    error: 'NONE',
    highWatermark: 10,
    lastStableOffset: 10,
    aborted: [],
    preferredReplica: -1,
    diverging: undefined,
    records: Buffer.alloc(0),
    ...changes,
  };
}

test('nothing behind the position is the end, and nothing before the end says nothing', () => {
  assert.deepEqual(judgePart(part(), 10), { kind: 'end' });
  assert.deepEqual(judgePart(part(), 9), { kind: 'nothing' });
});

test('an open transaction is the end for who reads what is committed', () => {
  assert.deepEqual(judgePart(part({ lastStableOffset: 7 }), 7), { kind: 'end' });
});

test('records are records, also at the end of the log', () => {
  assert.deepEqual(judgePart(part({ records: Buffer.alloc(1) }), 10), { kind: 'records' });
});

test('who is sent to a replica is not at the end', () => {
  const sent = part({ preferredReplica: 2 });
  assert.deepEqual(judgePart(sent, 10), { kind: 'replica', nodeId: 2 });
});

test('a log that went another way is told before anything that it brings', () => {
  const at = { epoch: 3, endOffset: 8 };
  const other = part({ diverging: at, records: Buffer.alloc(1) });
  assert.deepEqual(judgePart(other, 10), { kind: 'diverged', at });
});

test('a leader that is not there, or not known, is looked for', () => {
  const errors: KafkaErrorName[] = [
    'NOT_LEADER_FOR_PARTITION',
    'LEADER_NOT_AVAILABLE',
    'REPLICA_NOT_AVAILABLE',
    'UNKNOWN_TOPIC_OR_PARTITION',
    'UNKNOWN_TOPIC_ID',
    'INCONSISTENT_TOPIC_ID',
    'FENCED_LEADER_EPOCH',
    'UNKNOWN_LEADER_EPOCH',
    'OFFSET_NOT_AVAILABLE',
    'KAFKA_STORAGE_ERROR',
  ];
  for (const error of errors)
    assert.deepEqual(judgePart(part({ error }), 10), { kind: 'elsewhere', error });
});

test('an error is never taken for an end, whatever it is', () => {
  const verdicts = (['UNKNOWN_SERVER_ERROR', 'CORRUPT_MESSAGE', 'ERROR_99'] as const).map((error) =>
    judgePart(part({ error, highWatermark: -1, lastStableOffset: -1 }), 10),
  );
  assert.deepEqual(
    verdicts.map(({ kind }) => kind),
    ['failed', 'failed', 'failed'],
  );
});

test('what waiting does not mend, and what has to be settled, are told apart', () => {
  const [refused, outOfRange] = (
    ['TOPIC_AUTHORIZATION_FAILED', 'OFFSET_OUT_OF_RANGE'] as const
  ).map((error) => judgePart(part({ error }), 10).kind);
  assert.deepEqual([refused, outOfRange], ['refused', 'out-of-range']);
});
