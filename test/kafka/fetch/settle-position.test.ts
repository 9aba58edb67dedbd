import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../harness/fast-check.ts';
import { settlePosition, type LogRange } from '../../../src/kafka/fetch/settle-position.ts';

const epochEnd = undefined;

test('what was removed before it was read is left out', () => {
  const move = settlePosition(3, { start: 10, end: 20, epochEnd });
  assert.deepEqual(move, { kind: 'removed', from: 3, to: 10 });
});

test('beyond the end it goes on at the end where nothing else is known', () => {
  const move = settlePosition(30, { start: 10, end: 20, epochEnd });
  assert.deepEqual(move, { kind: 'cut-off', from: 30, to: 20 });
});

test('where the log went another way it goes on from there', () => {
  const diverged = { epoch: 2, endOffset: 15 };
  const move = settlePosition(18, { start: 10, end: 20, epochEnd: diverged });
  assert.deepEqual(move, { kind: 'cut-off', from: 18, to: 15 });
});

test('what was read and removed since is not read again, wherever the log went', () => {
  const diverged = { epoch: 2, endOffset: 5 };
  const move = settlePosition(18, { start: 10, end: 20, epochEnd: diverged });
  assert.deepEqual(move, { kind: 'cut-off', from: 18, to: 10 });
});

test('an epoch that the leader knows nothing of says nothing', () => {
  const unknown = { epoch: -1, endOffset: -1 };
  assert.equal(settlePosition(15, { start: 10, end: 20, epochEnd: unknown }), undefined);
  const move = settlePosition(30, { start: 10, end: 20, epochEnd: unknown });
  assert.deepEqual(move, { kind: 'cut-off', from: 30, to: 20 });
});

test('a position that the log has after all stays', () => {
  for (const offset of [10, 15, 20])
    assert.equal(settlePosition(offset, { start: 10, end: 20, epochEnd }), undefined);
});

const anyRange: fc.Arbitrary<LogRange> = fc
  .record({
    start: fc.nat(100),
    length: fc.nat(100),
    endOffset: fc.option(fc.integer({ min: -1, max: 250 }), { nil: undefined }),
  })
  .map(({ start, length, endOffset }) => ({
    start,
    end: start + length,
    epochEnd: endOffset === undefined ? undefined : { epoch: 1, endOffset },
  }));

test('wherever it goes on, the log has it; and no record that exists is passed over', () => {
  fc.assert(
    fc.property(fc.nat(300), anyRange, (offset, range) => {
      const move = settlePosition(offset, range);
      const to = move?.to ?? offset;
      assert.ok(range.start <= to && to <= range.end, `${to}`);
      // Forward only over what was removed.
      assert.ok(to <= Math.max(offset, range.start), `from ${offset} to ${to}`);
      if (move !== undefined) assert.equal(move.kind, offset < range.start ? 'removed' : 'cut-off');
    }),
  );
});

test('no more is read again than the log lost, and never all of it because of doubt', () => {
  fc.assert(
    fc.property(fc.nat(300), anyRange, (offset, range) => {
      const to = settlePosition(offset, range)?.to ?? offset;
      const { endOffset = -1 } = range.epochEnd ?? {};
      const wentAt = endOffset >= 0 ? Math.min(endOffset, range.end) : range.end;
      assert.ok(to >= Math.min(offset, Math.max(wentAt, range.start)), `from ${offset} to ${to}`);
    }),
  );
});
