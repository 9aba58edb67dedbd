import assert from 'node:assert/strict';
import {
  decodeAssignment,
  decodeWishes,
  encodeAssignment,
  encodeWishes,
  shareIndices,
} from '../../../../src/kafka/consume/assigner.ts';
import type { Target } from '../engine/target.ts';

const count = 7;

/** The first byte: a member's wishes, or an assignment. */
export const target: Target = {
  about:
    "a group member's own metadata, and what a leader assigns: whatever one member says, every partition has one owner",
  seeds: [
    Buffer.concat([
      Buffer.from([0]),
      encodeWishes({ topics: ['delivery', 'retry.10s'], owned: [0, 3] }),
    ]),
    Buffer.concat([Buffer.from([0]), encodeWishes({ topics: [], owned: [] })]),
    Buffer.concat([
      Buffer.from([1]),
      encodeAssignment(
        [0, 2, 5],
        new Map([
          ['delivery', 6],
          ['retry.10s', 3],
        ]),
      ),
    ]),
    Buffer.from([1]),
  ],
  words: [
    '[0,1]',
    '[-1]',
    '[0.5]',
    '{"parts":["a"]}',
    '1e400',
    '-0',
    'null',
    '\0\0\0\x01',
    '\x01\xff\xff\xff',
  ],
  covers: ['/kafkajs/src/protocol/decoder', '/kafkajs/src/consumer/assignerProtocol'],
  check(input) {
    const bytes = input.subarray(1);
    if (((input[0] ?? 0) & 1) === 0) {
      const wishes = decodeWishes(bytes);
      const shares = shareIndices(count, [
        { memberId: 'a', owned: wishes.owned },
        { memberId: 'b', owned: [1, 2] },
      ]);
      const dealt = [...shares.values()].flat().sort((a, b) => a - b);
      assert.deepEqual(
        dealt,
        Array.from({ length: count }, (_, i) => i),
      );
      assert.deepEqual(decodeWishes(encodeWishes(wishes)), wishes);
      return;
    }
    try {
      const assignment = decodeAssignment(bytes);
      assert.ok(assignment.length <= bytes.length);
      for (const { topic, partition } of assignment)
        assert.ok(typeof topic === 'string' && Number.isInteger(partition));
    } catch (error) {
      assert.ok(error instanceof RangeError, String(error));
    }
  },
};
