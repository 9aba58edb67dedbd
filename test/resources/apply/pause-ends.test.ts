import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseEndsOf } from '../../../src/resources/apply/pause-ends.ts';
import type { Change } from '../../../src/resources/apply/plan.ts';
import { recordKey, type ResourceName } from '../../../src/resources/config/stored.ts';
import type { StoredResources } from '../../../src/resources/config/stored-resources.ts';
import { endedRecord, pauseRecord, resumedRecord } from '../../../src/resources/pauses/pause.ts';
import { Pauses } from '../../../src/resources/pauses/pauses.ts';
import { createTopology, longestLinkMs } from '../../../src/topology.ts';

const topology = createTopology({
  prefix: '',
  partitions: 1,
  replicationFactor: 1,
  retryTiersMs: [10_000],
  extraIngestTopics: [],
});
const topic = topology.topics.pauses;
const dayMs = 86_400_000;
/** Kafka's default: a segment takes records for so long, and is removed as a whole. */
const segmentMs = 7 * dayMs;
const nowMs = Date.parse('2026-02-03T04:05:06.789Z');
const since = new Date(nowMs).toISOString();
const stored = storedWith({ kind: 'Source', id: 'shop' });
const options = { topology, nowMs, stored };
const begun: Change = { kind: 'Destination', id: 'crm', action: 'create', fields: [], value: '{}' };

function storedWith(...names: readonly ResourceName[]): StoredResources {
  return new Map(names.map((name) => [recordKey(name), { name }]));
}

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

test('a destination counts as deleted for as long as something is kept for it, or a link may show it', () => {
  const kept = topology.all.find(({ name }) => name === topology.topics.paused);
  const lastMs = Number(kept?.config['retention.ms']) + segmentMs;
  const gone: Change = { kind: 'Destination', id: 'ads', action: 'delete', fields: [] };
  const forgotten = (agoMs: number): boolean => {
    const pauses = new Pauses();
    const { key, value } = endedRecord(topic, 'crm', since);
    pauses.apply({
      key: Buffer.from(String(key)),
      value: Buffer.from(String(value)),
      timestampMs: nowMs - agoMs,
    });
    return pauseEndsOf([gone], pauses, options).after.some((record) => record.key === key);
  };
  const agoMs = [lastMs, longestLinkMs, longestLinkMs + segmentMs];
  assert.deepEqual(agoMs.map(forgotten), [false, false, true]);
});

test('what is kept under an id whose deletion was cut off is not for the destination that begins', () => {
  for (const left of [
    pauseRecord(topic, 'crm', { since }),
    resumedRecord(topic, 'crm', { since }),
    endedRecord(topic, 'crm', since),
  ])
    assert.deepEqual(
      pauseEndsOf([begun], pausesWith(left), options).before[0],
      endedRecord(topic, 'crm', since),
      String(left.key),
    );
  assert.deepEqual(pauseEndsOf([begun], pausesWith(), options).before, []);
});

test('who is cut off between two of its records has said first that the destination is a former one', () => {
  const paused = pausesWith(pauseRecord(topic, 'crm', { since }));
  const gone: Change = { ...begun, action: 'delete' };
  for (const records of [
    pauseEndsOf([begun], paused, options).before,
    pauseEndsOf([gone], paused, options).after,
  ])
    assert.deepEqual(records, [
      endedRecord(topic, 'crm', since),
      pauseRecord(topic, 'crm', undefined),
    ]);
});

test('what was paused stays paused where the configuration was lost and is applied anew', () => {
  const nothing = { ...options, stored: storedWith() };
  for (const left of [pauseRecord(topic, 'crm', { since }), resumedRecord(topic, 'crm', { since })])
    assert.deepEqual(pauseEndsOf([begun], pausesWith(left), nothing).before, []);
  const deleted = pausesWith(endedRecord(topic, 'crm', since));
  assert.deepEqual(pauseEndsOf([begun], deleted, nothing).before, [
    endedRecord(topic, 'crm', since),
  ]);
  const muchLater = { ...nothing, nowMs: nowMs + topology.pausedGoneMs + 1 };
  assert.deepEqual(pauseEndsOf([begun], deleted, muchLater).before, []);
});

test('a destination that another apply has made since this one was planned stays paused', () => {
  const now = { ...options, stored: storedWith(begun) };
  const paused = pausesWith(pauseRecord(topic, 'crm', { since }));
  assert.deepEqual(pauseEndsOf([begun], paused, now), { before: [], after: [] });
});
