import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions } from '../../../src/explain/preview/compare.ts';
import type { ReadCall } from '../../../src/router/read-call.ts';
import { callOf } from '../../event/some-calls.ts';
import { exampleDestination, exampleSource } from '../../resources/examples.ts';

const calls = Array.from({ length: 10 }, (_, total): ReadCall => {
  const call = callOf({ type: 'track', event: 'Order', userId: 'u1', properties: { total } });
  const origin = { topic: 'ingest', partition: 0, offset: total, appendTimeMs: 0 };
  return { call, writeKey: '', audience: undefined, arrival: { origin, redrivenMs: undefined } };
});

function treated(before: object | undefined, after: object | undefined): number[] {
  const [former, present] = [before, after].map((fields) =>
    fields === undefined ? undefined : exampleDestination(fields),
  );
  const { more, fewer, otherBody, ...rest } = compareVersions(
    former,
    present,
    exampleSource(),
    calls,
  );
  assert.deepEqual(rest, { source: 'shop', calls: 10 });
  return [more, fewer, otherBody];
}

const filter = (condition: object): object => ({ filter: { 'properties.total': condition } });

test('calls are counted that a changed destination would treat differently', () => {
  assert.deepEqual(treated({}, filter({ gte: 7 })), [0, 7, 0]);
  assert.deepEqual(treated(filter({ lt: 3 }), filter({ gte: 1 })), [7, 1, 0]);
  assert.deepEqual(treated({}, { ...filter({ gte: 8 }), payload: 'full' }), [0, 8, 2]);
  assert.deepEqual(treated({}, { name: 'New', rateLimit: '5/s' }), [0, 0, 0]);
});

test('a new destination has none before, and a deleted or disabled one none after', () => {
  assert.deepEqual(treated(undefined, filter({ lt: 4 })), [4, 0, 0]);
  assert.deepEqual(treated({}, undefined), [0, 10, 0]);
  assert.deepEqual(treated({}, { enabled: false }), [0, 10, 0]);
  assert.deepEqual(treated({}, { sources: ['app'] }), [0, 10, 0]);
});
