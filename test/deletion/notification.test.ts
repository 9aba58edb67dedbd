import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planDeparture, notificationRecord } from '../../src/deletion/notification.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { wholeEnvelope } from '../event/whole-envelope.ts';

const nowMs = 1_000_000;
const tiersMs = [10_000, 60_000];

test('notifications take the shortest tier that keeps them until they are due, or else the longest', () => {
  assert.deepEqual(planDeparture(tiersMs, 10_000, nowMs), {
    tierMs: 10_000,
    dueMs: nowMs + 10_000,
  });
  assert.deepEqual(planDeparture(tiersMs, 10_001, nowMs), {
    tierMs: 60_000,
    dueMs: nowMs + 10_001,
  });
  assert.deepEqual(planDeparture(tiersMs, 60_001, nowMs), {
    tierMs: 60_000,
    dueMs: nowMs + 60_001,
  });
});

test('a notification is an event of its user, with a body of three keys', () => {
  const record = notificationRecord('p.retry.10s', {
    destinationId: 'crm',
    uid: 'second',
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
    uid: 'second',
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
