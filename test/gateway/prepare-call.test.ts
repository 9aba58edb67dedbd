import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareCalls } from '../../src/gateway/prepare-call.ts';
import type { Submission } from '../../src/gateway/read-request.ts';
import { topics } from './fakes.ts';

const receivedAt = '2026-11-21T12:00:00.000Z';
const receipt = {
  receivedMs: Date.parse(receivedAt),
  writeKey: 'wk_shop',
  clientIp: () => '203.0.113.7',
};
const page = { type: 'page', userId: 'u', messageId: 'm' };

const emptySubmission: Submission = {
  body: Buffer.alloc(0),
  calls: [],
  beyondLimits: new Map(),
  type: undefined,
  bytes: 0,
  context: undefined,
  integrations: undefined,
  sentAt: null,
};

type Written = Record<string, unknown>;

function prepare(call: object, ofBatch: Partial<Submission> = {}): Written {
  const submission = { ...emptySubmission, calls: [structuredClone(call)], ...ofBatch };
  const { records, rejections } = prepareCalls(submission, receipt, topics);
  const written = JSON.parse(String(records[0]?.value)) as Written;
  return { ...written, reason: rejections[0]?.reason };
}

function timeOf(call: object, sentAt: unknown = null): unknown {
  return prepare({ ...page, ...call }, { sentAt })['timestamp'];
}

test('a timestamp is corrected by what the client said of its clock', () => {
  const sentAt = '2026-11-21T11:00:10.000Z';
  assert.equal(
    timeOf({ timestamp: '2026-11-21T11:00:00.250Z' }, sentAt),
    '2026-11-21T11:59:50.250Z',
  );
  assert.equal(
    timeOf({ timestamp: '2026-11-21T06:00:00-0500' }, sentAt),
    '2026-11-21T11:59:50.000Z',
  );
  // Later than it was sent: the formula holds as well.
  assert.equal(timeOf({ timestamp: '2026-11-21T11:00:20Z' }, sentAt), '2026-11-21T12:00:10.000Z');
  assert.equal(
    timeOf({ timestamp: '2026-11-21T11:00:10.929272685Z' }, '2026-11-21T11:00:10.000001Z'),
    '2026-11-21T12:00:00.929Z',
  );
});

test('what the client said stays as originalTimestamp, unless it says that itself', () => {
  const sentAt = '2026-11-21T11:00:10.000Z';
  const stamp = '2026-11-20T18:59:40-0500';
  const call = prepare({ ...page, timestamp: stamp }, { sentAt });
  assert.equal(call['originalTimestamp'], stamp);
  assert.equal(call['sentAt'], sentAt);
  assert.equal(call['receivedAt'], receivedAt);
  const own = prepare({ ...page, timestamp: stamp, originalTimestamp: 'kept' }, { sentAt });
  assert.equal(own['originalTimestamp'], 'kept');
});

test('originalTimestamp stands in for a missing timestamp', () => {
  const originalTimestamp = '2026-11-21T10:00:00.000Z';
  assert.equal(timeOf({ originalTimestamp }), originalTimestamp);
  assert.equal(timeOf({ timestamp: null, originalTimestamp }), originalTimestamp);
  assert.equal(
    timeOf({ originalTimestamp, sentAt: '2026-11-21T10:00:01.000Z' }),
    '2026-11-21T11:59:59.000Z',
  );
});

test('a call without a time happened when it was received', () => {
  assert.equal(timeOf({}), receivedAt);
  assert.equal(timeOf({ timestamp: null }, '2026-11-21T11:00:10.000Z'), receivedAt);
  assert.equal(timeOf({ timestamp: '' }), receivedAt);
});

test('without a usable sentAt a timestamp stays, in UTC with milliseconds', () => {
  for (const sentAt of [null, 'garbage', 7, {}, '']) {
    assert.equal(
      timeOf({ timestamp: '2026-11-20T18:59:40-0500' }, sentAt),
      '2026-11-20T23:59:40.000Z',
    );
  }
});

test("the batch's sentAt decides, a call's own only where the batch has none", () => {
  const call = { timestamp: '2026-11-21T11:00:00.000Z', sentAt: '2026-11-21T11:00:01.000Z' };
  assert.equal(timeOf(call, '2026-11-21T11:00:05.000Z'), '2026-11-21T11:59:55.000Z');
  assert.equal(timeOf(call), '2026-11-21T11:59:59.000Z');
  assert.equal(timeOf(call, 'garbage'), '2026-11-21T11:00:00.000Z');
});

test('a correction out of the years that can be written is left out', () => {
  const timestamp = '9999-12-31T23:59:59.000Z';
  assert.equal(timeOf({ timestamp }, '2000-01-01T00:00:00.000Z'), timestamp);
});

test('fields of the batch are merged into the call, whose own keys win', () => {
  const ofBatch = {
    context: { library: { name: 'analytics-go' }, ip: '198.51.100.1' },
    integrations: { All: false },
  };
  const call = prepare({ ...page, context: { ip: '198.51.100.2' } }, ofBatch);
  assert.deepEqual(call['context'], { library: { name: 'analytics-go' }, ip: '198.51.100.2' });
  assert.deepEqual(call['integrations'], { All: false });
  assert.deepEqual(prepare({ ...page, context: null }, ofBatch)['context'], ofBatch.context);
  for (const context of [[], 'text', 0]) {
    assert.deepEqual(prepare({ ...page, context }, ofBatch)['context'], context);
  }
  const own = { All: true, Webhooks: false };
  assert.deepEqual(prepare({ ...page, integrations: own }, ofBatch)['integrations'], own);
});

test('keys such as __proto__ are data in a merge', () => {
  const context = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as Record<string, unknown>;
  const calls = [JSON.parse('{"type":"page","userId":"u","context":{"b":3}}')];
  const { records } = prepareCalls({ ...emptySubmission, calls, context }, receipt, topics);
  assert.match(
    String(records[0]?.value),
    /"context":\{"__proto__":\{"a":1\},"constructor":2,"b":3\}/,
  );
  assert.equal(({} as Record<string, unknown>)['a'], undefined);
});

test('a message id is kept, and made where there is none', () => {
  assert.equal(prepare(page)['messageId'], 'm');
  assert.equal(prepare({ ...page, messageId: 7 })['messageId'], '7');
  for (const messageId of [null, '', undefined]) {
    assert.match(String(prepare({ ...page, messageId })['messageId']), /^[0-9a-f-]{36}$/);
  }
});

test('context.ip is filled where context.direct asks for it, and never replaced', () => {
  const contextOf = (context: object): unknown => prepare({ ...page, context })['context'];
  assert.deepEqual(contextOf({ direct: true }), { direct: true, ip: '203.0.113.7' });
  assert.deepEqual(contextOf({ direct: true, ip: null }), { direct: true, ip: '203.0.113.7' });
  assert.deepEqual(contextOf({ direct: true, ip: '192.0.2.1' }), { direct: true, ip: '192.0.2.1' });
  assert.deepEqual(contextOf({ direct: 'true' }), { direct: 'true' });
});

test('the type of the path wins, and the write key does not travel in the call', () => {
  const call = prepare({ userId: 'u', type: 'delete', writeKey: 'wk_shop' }, { type: 'identify' });
  assert.equal(call['type'], 'identify');
  assert.ok(!('writeKey' in call));
});
