import assert from 'node:assert/strict';
import {
  compressEvents,
  decodeBundleHeader,
  decompressEvents,
  encodeBundleHeader,
  mostEvents,
} from '../../../../src/delivery/bundle/format.ts';
import { EventPacker, unpackRecords } from '../../../../src/delivery/packing.ts';
import type { Target } from '../engine/target.ts';

const packer = new EventPacker();
packer.add(Buffer.from('crm:u'), '{"v":1}', Buffer.from('{"type":"track"}'));
packer.add(null, '{"v":1}', Buffer.from('{}'));
const packed = Buffer.from(packer.packed);

/** The first byte: a header, a compressed value, or an unpacked one. */
export const target: Target = {
  about: 'bundles of a retry topic: undefined, or events that pack to the same bytes again',
  seeds: [
    seed(0, encodeBundleHeader({ destinationId: 'crm', events: 2, dueMs: 5, oldestMs: 1 })),
    seed(
      0,
      encodeBundleHeader({
        destinationId: 'crm',
        events: 256,
        dueMs: 5,
        deadlineMs: 9,
        impliedDeadlineMs: 8,
        oldestMs: 1,
      }),
    ),
    seed(1, compressEvents(packed)),
    seed(1, compressEvents(Buffer.alloc(100_000))),
    seed(2, packed),
  ],
  words: ['\xff\xff\xff\xff', '\0\0\0\0', '\x7f\xff\xff\xff', '"v":2', '"e":', 'null'],
  check(input) {
    const [choice = 0] = input;
    const bytes = input.subarray(1);
    if (choice % 3 === 0) {
      const header = decodeBundleHeader(bytes);
      if (header === undefined) return;
      assert.deepEqual(decodeBundleHeader(Buffer.from(encodeBundleHeader(header))), header);
      return;
    }
    const unpacked = choice % 3 === 1 ? bytes : undefined;
    const records =
      unpacked === undefined ? unpackRecords(bytes, mostEvents) : decompressEvents(unpacked);
    if (records === undefined) return;
    assert.ok(records.length <= mostEvents);
    packer.reset();
    for (const { key, header, value } of records) packer.add(key, header, value);
    const again = Buffer.from(packer.packed);
    if (unpacked === undefined) assert.ok(again.equals(bytes), 'packed as before');
    assert.deepEqual(decompressEvents(compressEvents(again)), records);
  },
};

function seed(choice: number, content: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from([choice]), Buffer.from(content)]);
}
