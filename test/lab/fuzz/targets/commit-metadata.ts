import assert from 'node:assert/strict';
import { ByteWriter } from '../../../../src/kafka/protocol/fields.ts';
import {
  decodeCommitMetadata,
  encodeCommitMetadata,
} from '../../../../src/kafka/consume/commit-metadata.ts';
import type { Target } from '../engine/target.ts';

const offset = 1_000;

export const target: Target = {
  about:
    'the metadata of a committed offset: what it says can be an epoch and offsets, and encodes to the same again',
  seeds: [
    encodeCommitMetadata(offset, { epoch: 5, ahead: undefined, topicId: undefined }),
    encodeCommitMetadata(offset, {
      epoch: -1,
      ahead: { upTo: 2_000, unfinished: new Set([1_000, 1_005, 1_700]) },
      topicId: '0123456789abcdef'.repeat(2),
    }),
    'written by another program',
    '',
  ],
  words: [';', '1;', '-1', '2147483648', 'gICAgICAgICAgIA=', '9007199254740993'],
  check(input) {
    const said = decodeCommitMetadata(offset, input.toString('latin1'));
    const { epoch, ahead } = said;
    // Sent to brokers as 32 bits.
    assert.doesNotThrow(() => new ByteWriter(4).int32(epoch), `epoch ${epoch}`);
    if (ahead === undefined) return;
    assert.ok(Number.isSafeInteger(ahead.upTo), `up to ${ahead.upTo}`);
    for (const each of ahead.unfinished)
      assert.ok(Number.isSafeInteger(each) && each >= offset, `unfinished ${each}`);
    const again = decodeCommitMetadata(offset, encodeCommitMetadata(offset, said));
    assert.deepEqual([again.epoch, again.topicId], [epoch, said.topicId]);
  },
};
