import assert from 'node:assert/strict';
import { test } from 'node:test';
import { purchaseCalls, purchaseRows, type PurchaseCall } from '../../src/dev/purchases.ts';

const calls: PurchaseCall[] = [];
for await (const call of purchaseCalls(purchaseRows())) calls.push(call);

test('the extract gives one call per invoice and one per known customer', () => {
  // Counted in the data with another program: 3,046 invoices, 503 of them cancelled, 1,255 customers.
  const tracks = calls.filter(({ type }) => type === 'track');
  assert.equal(tracks.length, 3046);
  assert.equal(tracks.filter((call) => call['event'] === 'Order Cancelled').length, 503);
  assert.equal(calls.length - tracks.length, 1255);
});

test('every call has its own message id and an owner', () => {
  assert.equal(new Set(calls.map(({ messageId }) => messageId)).size, calls.length);
  for (const call of calls) assert.ok(call['userId'] ?? call['anonymousId'], call.messageId);
});

test("an identify comes before the customer's first order and original timestamps are kept", () => {
  assert.deepEqual(calls[0], {
    type: 'identify',
    userId: '17850',
    messageId: 'identify-17850',
    traits: { country: 'United Kingdom' },
    timestamp: '2010-12-01T08:26:00Z',
  });
  assert.equal(calls[1]?.['timestamp'], '2010-12-01T08:26:00Z');
  assert.equal((calls[1] as { properties?: { revenue: number } }).properties?.revenue, 139.12);
});

test('every call stays below the limit of 32 KB', () => {
  for (const call of calls) {
    assert.ok(Buffer.byteLength(JSON.stringify(call)) < 32 * 1024, call.messageId);
  }
});
