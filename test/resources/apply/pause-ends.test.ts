import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseEndsOf } from '../../../src/resources/apply/pause-ends.ts';
import type { Change } from '../../../src/resources/apply/plan.ts';
import { endedRecord, pauseRecord, resumedRecord } from '../../../src/resources/pauses/pause.ts';
import { Pauses } from '../../../src/resources/pauses/pauses.ts';

const topic = 'pauses';
const nowMs = Date.parse('2026-02-03T04:05:06.789Z');
const since = new Date(nowMs).toISOString();
const options = { topic, nowMs, keptForMs: 14 * 86_400_000 };
const begun: Change = { kind: 'Destination', id: 'crm', action: 'create', fields: [], value: '{}' };

function pausesWith(...records: readonly ReturnType<typeof pauseRecord>[]): Pauses {
  const pauses = new Pauses();
  for (const { key, value } of records)
    pauses.apply({
      key: Buffer.from(String(key)),
      value: value === null ? null : Buffer.from(String(value)),
      timestampMs: nowMs,
    });
  return pauses;
}

test('what is kept under an id whose deletion was cut off is not for the destination that begins', () => {
  for (const left of [
    pauseRecord(topic, 'crm', { since }),
    resumedRecord(topic, 'crm', since),
    endedRecord(topic, 'crm', since),
  ])
    assert.deepEqual(
      pauseEndsOf([begun], pausesWith(left), options).before.at(-1),
      endedRecord(topic, 'crm', since),
      String(left.key),
    );
  assert.deepEqual(pauseEndsOf([begun], pausesWith(), options).before, []);
});
