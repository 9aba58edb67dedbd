import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEnvelope, type Envelope } from '../../src/event/envelope.ts';
import { readFreshHeader } from '../../src/event/fresh-header.ts';
import fc from '../harness/fast-check.ts';

const ordinary: Envelope = {
  destinationId: 'crm-7',
  uid: 'Zk3_x-9aQ1',
  sourceId: 'shop',
  messageId: '3f0e8b1c-6f0b-4c1e-9a35-3f6f3ce1d0aa',
  type: 'track',
  eventName: 'Order Completed',
  configOffset: 1_234,
  appendTimeMs: 1_764_370_000_123,
  attempts: 0,
};

/** What JSON.parse says, with the fields that may be missing. */
function asJson(bytes: Buffer): object {
  return { w: undefined, e: undefined, ...(JSON.parse(bytes.toString()) as object) };
}

test('a fresh event with and without its optional fields is read without JSON.parse', () => {
  const fewer = [
    ordinary,
    { ...ordinary, uid: undefined },
    { ...ordinary, eventName: undefined },
    { ...ordinary, uid: undefined, eventName: undefined },
    { ...ordinary, configOffset: 0, eventName: '' },
  ];
  for (const envelope of fewer) {
    const bytes = Buffer.from(encodeEnvelope(envelope));
    assert.deepEqual(readFreshHeader(bytes), asJson(bytes));
  }
});

test('what is not plain is left to JSON.parse', () => {
  const others: Partial<Envelope>[] = [
    { messageId: 'größer' },
    { messageId: 'a"b' },
    { messageId: 'a\\b' },
    { messageId: 'a\nb' },
    { eventName: '😀' },
    { dueMs: 1 },
    { deadlineMs: 1 },
    { previousId: 'a' },
    { isSync: true },
    { urlValues: {} },
    { configOffset: Number.MAX_SAFE_INTEGER },
  ];
  for (const change of others) {
    const header = encodeEnvelope({ ...ordinary, ...change });
    assert.equal(readFreshHeader(Buffer.from(header)), undefined, header);
  }
});

test('whatever byte of a header is another, is missing or comes twice, it is read as JSON.parse reads it, or left to it', () => {
  const header = Buffer.from(encodeEnvelope(ordinary));
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('"\\,:{}0e.- ')), fc.nat(255));
  const place = fc.nat(header.length - 1);
  const edit = fc.constantFrom<'replace' | 'insert' | 'remove'>('replace', 'insert', 'remove');
  const edits = fc.array(fc.tuple(edit, place, byte), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(edits, (all) => {
      const bytes = [...header];
      for (const [kind, at, value] of all) {
        if (kind === 'replace') bytes[Math.min(at, bytes.length - 1)] = value;
        else if (kind === 'insert') bytes.splice(at, 0, value);
        else bytes.splice(at, 1);
      }
      const edited = Buffer.from(bytes);
      const read = readFreshHeader(edited);
      if (read !== undefined) assert.deepEqual(read, asJson(edited));
    }),
    { numRuns: 3_000 },
  );
});

test('texts that share a place in a cache are told apart', () => {
  // Ids of one length with one last byte have the same place.
  const ids = ['a-1', 'b-1', 'a-1', 'c-1', 'b-1'];
  const read = ids.map((destinationId) =>
    readFreshHeader(Buffer.from(encodeEnvelope({ ...ordinary, destinationId }))),
  );
  assert.deepEqual(
    read.map((header) => header?.['d']),
    ids,
  );
});
