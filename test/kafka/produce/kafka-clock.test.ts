import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerClocks, provenAheadMs } from '../../../src/kafka/produce/kafka-clock.ts';

test('clocks may agree where the record was appended while its answer was awaited', () => {
  for (const appendedMs of [1_000, 1_005, 1_010])
    assert.equal(provenAheadMs(appendedMs, 1_000, 1_010), 0);
});

test('a record that was appended before it was sent shows a clock that is ahead, by so much at least', () => {
  assert.equal(provenAheadMs(1_000, 301_000, 301_010), 300_000);
});

test('a record that was appended after its answer came shows a clock that is behind', () => {
  assert.equal(provenAheadMs(301_000, 1_000, 1_010), -299_990);
});

test('one broker’s wrong clock is not taken for Kafka’s', () => {
  const clocks = new BrokerClocks();
  assert.equal(clocks.aheadMs, 0);
  clocks.answered(1, -3_600_000, 0);
  assert.equal(clocks.aheadMs, -3_600_000, 'where nobody says otherwise, it is believed');
  clocks.answered(2, 0, 1);
  assert.equal(clocks.aheadMs, 0);
  clocks.answered(3, 5, 2);
  clocks.answered(1, 3_600_000, 3);
  assert.equal(clocks.aheadMs, 5);
});

test('this process’s own wrong clock is told by all brokers, and by those that answered of late', () => {
  const clocks = new BrokerClocks();
  for (const nodeId of [1, 2, 3]) clocks.answered(nodeId, 300_000 + nodeId, 1_000);
  assert.equal(clocks.aheadMs, 300_002);
  // It was set right.
  clocks.answered(2, 0, -300_000);
  assert.equal(clocks.aheadMs, 0);
});
