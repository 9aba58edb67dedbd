import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TraitCalls } from '../../src/audience/calls.ts';
import type { Change, SyncTarget } from '../../src/audience/changes.ts';
import { emittedEver, type ToldTrait } from '../../src/resources/audiences/record.ts';
import { audience, computedTrait } from './members.ts';

const timeMs = Date.parse('2026-11-24T10:00:00.000Z');
const timestamp = '2026-11-24T10:00:00.000Z';

function callsOf(target: SyncTarget, change: Partial<Change>): Record<string, unknown>[] {
  const calls = new TraitCalls({
    target,
    sync: 'sync-1',
    timeMs,
    callTopic: 'ingest.audience',
    callPartitions: 3,
    formerDestinations: [],
    baseline: undefined,
  });
  const records = calls.of({
    userId: 'u"1',
    value: 'true',
    was: null,
    deletedMs: undefined,
    ...change,
  });
  const places = new Set(records?.map(({ partition, key }) => `${partition} ${String(key)}`));
  assert.ok(places.size <= 1);
  return (records ?? []).map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>);
}

/** Without what all calls of the sync have. */
function contentOf({ messageId, context, ...content }: Record<string, unknown>): object {
  assert.match(String(messageId), /^[0-9a-f]{40}$/);
  assert.deepEqual(Object.keys((context as { audience: object }).audience), ['id', 'name', 'sync']);
  return content;
}

const entered = {
  type: 'track',
  userId: 'u"1',
  event: 'Audience Entered',
  properties: { audience_key: 'vip', vip: true },
  timestamp,
};

test('an audience is told as track calls in the way of Segment', () => {
  const target = audience('a', { emit: ['track'] });
  assert.deepEqual(callsOf(target, {}).map(contentOf), [entered]);
  assert.deepEqual(callsOf(target, { value: null, was: 'true' }).map(contentOf), [
    { ...entered, event: 'Audience Exited', properties: { audience_key: 'vip', vip: false } },
  ]);
});

test('both calls of a change have ids of their own, and come in the order of identify and track', () => {
  const target = audience('a', { emit: ['identify', 'track'] });
  const calls = callsOf(target, {});
  assert.deepEqual(calls.map(contentOf), [
    { type: 'identify', userId: 'u"1', traits: { vip: true }, timestamp },
    entered,
  ]);
  assert.equal(new Set(calls.map(({ messageId }) => messageId)).size, 2);
  assert.deepEqual(callsOf(target, {}), calls);
  assert.deepEqual(callsOf(audience('a'), {}), calls.slice(0, 1));
});

test('a computed trait is told as the one event that Segment has for it', () => {
  const target: SyncTarget = { ...computedTrait('ltv'), emit: ['track'] };
  const properties = [{ value: '1250' }, { value: 'true' }, { value: null, was: '1250' }].map(
    (change) => callsOf(target, change)[0],
  );
  assert.deepEqual(
    properties.map((call) => [call?.['event'], call?.['properties']]),
    [
      ['Trait Computed', { trait_key: 'ltv', ltv: 1250 }],
      ['Trait Computed', { trait_key: 'ltv', ltv: true }],
      ['Trait Computed', { trait_key: 'ltv', ltv: null }],
    ],
  );
});

test('a change of which one call is too large is not told at all', () => {
  const target = audience('a', { emit: ['identify', 'track'], trait: 'v'.repeat(20_000) });
  assert.equal(callsOf({ ...target, emit: ['identify'] }, {}).length, 1);
  assert.equal(callsOf(target, {}).length, 0);
});

test('what has ever told of a trait is remembered, so that it is taken back by the same', () => {
  const before: ToldTrait = { ...audience('a'), formerDestinations: [], members: 1 };
  const both = ['identify', 'track'] as const;
  assert.equal(emittedEver(undefined, audience('a')), undefined);
  assert.deepEqual(emittedEver(undefined, audience('a', { emit: ['track'] })), ['track']);
  assert.equal(emittedEver(before, audience('a')), undefined);
  assert.deepEqual(emittedEver(before, audience('a', { emit: ['track'] })), both);
  assert.deepEqual(emittedEver({ ...before, emit: ['track'] }, audience('a')), both);
  assert.deepEqual(
    emittedEver({ ...before, emit: ['track'] }, audience('a', { emit: ['track'] })),
    ['track'],
  );
});
