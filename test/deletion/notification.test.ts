import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { planDeparture, notificationRecord } from '../../src/deletion/notification.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { fenceMs } from '../../src/resources/fence/fence.ts';
import { wholeEnvelope } from '../event/whole-envelope.ts';

const nowMs = 1_000_000;
const tiersMs = [10_000, 60_000];

test('notifications take the shortest tier that is longer than an attempt and two seconds', () => {
  const departure = planDeparture(tiersMs, fenceMs(5_000), nowMs, () => 0);
  assert.deepEqual(departure, { tierMs: 10_000, dueMs: nowMs + 9_000 });
});

test('a tier that could end too early at its earliest is passed over', () => {
  // 0.9 × 10 s is 9 s.
  assert.equal(planDeparture(tiersMs, 9_000, nowMs, () => 0.5).tierMs, 60_000);
  assert.equal(planDeparture(tiersMs, 8_999, nowMs, () => 0.5).tierMs, 10_000);
});

test('where no tier is long enough, they take the longest and are due just late enough', () => {
  const departure = planDeparture([500, 1_000], fenceMs(1_000), nowMs, () => 0);
  assert.deepEqual(departure, { tierMs: 1_000, dueMs: nowMs + 3_000 });
});

test('no notification is due before older events have ended', () => {
  const tiers = fc.uniqueArray(fc.integer({ min: 1, max: 100_000 }), { minLength: 1 });
  const random = fc.double({ min: 0, max: 0.999_999, noNaN: true });
  fc.assert(
    fc.property(tiers, fc.integer({ min: 1, max: 5_000 }), random, (given, timeoutMs, chance) => {
      const ascending = given.toSorted((a, b) => a - b);
      const afterMs = fenceMs(timeoutMs);
      const { tierMs, dueMs } = planDeparture(ascending, afterMs, nowMs, () => chance);
      assert.ok(ascending.includes(tierMs));
      assert.ok(dueMs >= nowMs + afterMs);
      const shorter = ascending.filter((each) => each < tierMs);
      assert.ok(shorter.every((each) => each * 0.9 <= afterMs));
    }),
  );
});

test('a notification is an event of its user, with a body of three keys', () => {
  const record = notificationRecord('p.retry.10s', {
    destinationId: 'crm',
    sourceId: 'shop',
    userId: 'a:b',
    messageId: 'delete-1',
    time: '2026-11-21T10:00:00.000Z',
    configOffset: 7,
    dueMs: nowMs,
  });
  assert.equal(record.key, 'crm:a:b');
  const body = '{"type":"delete","userId":"a:b","timestamp":"2026-11-21T10:00:00.000Z"}';
  assert.equal(record.value, body);
  const expected = wholeEnvelope({
    destinationId: 'crm',
    sourceId: 'shop',
    messageId: 'delete-1',
    type: 'delete',
    configOffset: 7,
    dueMs: nowMs,
    attempts: 0,
    appendTimeMs: Date.parse('2026-11-21T10:00:00.000Z'),
  });
  const header = Buffer.from(record.headers?.[envelopeHeader] ?? '');
  assert.deepEqual(decodeEnvelope(header), expected);
});
