import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import {
  compressEvents,
  decodeBundleHeader,
  decompressEvents,
  encodeBundleHeader,
} from '../../src/delivery/bundle/format.ts';
import { EventPacker } from '../../src/delivery/packing.ts';
import {
  decodeEnvelope,
  encodeEnvelope,
  envelopeHeader,
  isFromNewerRelease,
} from '../../src/event/envelope.ts';
import { minuteMs, SimulatedWorld } from './simulated-world.ts';

const nowMs = new SimulatedWorld().clock.now();

const envelope = encodeEnvelope({
  destinationId: 'crm',
  sourceId: 'shop',
  messageId: 'm',
  type: 'track',
  configOffset: 1,
  appendTimeMs: nowMs,
  redrivenMs: nowMs,
  attempts: 1,
  dueMs: nowMs,
  deadlineMs: nowMs * 2,
});

function bundleHeader(events: number): string {
  const deadlines = { deadlineMs: 2 * nowMs, impliedDeadlineMs: 2 * nowMs };
  return encodeBundleHeader({
    destinationId: 'crm',
    events,
    dueMs: nowMs,
    oldestMs: nowMs,
    ...deadlines,
  });
}

function packed(events: number): Buffer {
  const packer = new EventPacker();
  for (let n = 0; n < events; n++) packer.add(Buffer.from(`crm:${n}`), envelope, Buffer.from('{}'));
  return packer.packed;
}

const anyBytes = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));

/** Some of the bytes are others, or those from some place on are missing. */
function mutated(bytes: Buffer): fc.Arbitrary<Buffer> {
  if (bytes.length === 0) return anyBytes;
  const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
  const changes = fc.array(change, { maxLength: 4 });
  const cut = fc.option(fc.nat(bytes.length), { freq: 3 });
  return fc.tuple(changes, cut).map(([each, length]) => {
    const copy = Buffer.from(bytes);
    for (const [at, byte] of each) copy[at] = byte;
    return copy.subarray(0, length ?? undefined);
  });
}

/** One of its keys says something else. */
function otherwise(header: string): fc.Arbitrary<Buffer> {
  const json = JSON.parse(header) as Record<string, unknown>;
  const value = fc.oneof(
    fc.maxSafeInteger(),
    fc.integer({ min: -2, max: 300 }),
    fc.integer({ min: nowMs, max: nowMs + minuteMs }),
    fc.double(),
    fc.jsonValue({ maxDepth: 1 }),
  );
  return fc
    .tuple(fc.constantFrom(...Object.keys(json)), value)
    .map(([key, said]) => Buffer.from(JSON.stringify({ ...json, [key]: said })));
}

/** The header and the value of a record, which fit together but for what was broken. */
const anyRecord: fc.Arbitrary<readonly [header: Buffer, value: Buffer]> = fc
  .tuple(fc.constantFrom(0, 1, 2, 255, 256, 257, 1_000), fc.boolean())
  .chain(([events, areEmpty]) => {
    const header = bundleHeader(events);
    const whole = areEmpty ? Buffer.alloc(12 * events) : packed(events);
    const value = compressEvents(whole);
    return fc.tuple(
      fc.oneof(
        { arbitrary: fc.constant(Buffer.from(header)), weight: 3 },
        mutated(Buffer.from(header)),
        otherwise(header),
        mutated(Buffer.from(envelope)),
        otherwise(envelope),
        anyBytes,
      ),
      fc.oneof(
        { arbitrary: fc.constant(value), weight: 2 },
        mutated(value),
        mutated(whole).map(compressEvents),
        anyBytes,
      ),
    );
  });

test('whatever bytes are read as a header, nothing is thrown, and no Date is beyond what it says', () => {
  fc.assert(
    fc.property(anyRecord, ([bytes]) => {
      const { appendTimeMs, redrivenMs, deadlineMs, dueMs } = decodeEnvelope(bytes) ?? {};
      const bundle = decodeBundleHeader(bytes);
      const times = [appendTimeMs, redrivenMs, deadlineMs, dueMs, bundle?.dueMs, bundle?.oldestMs];
      for (const timeMs of [...times, bundle?.deadlineMs, bundle?.impliedDeadlineMs])
        if (timeMs !== undefined) assert.match(new Date(timeMs).toISOString(), /^[+\d]/);
      const { events = 1 } = bundle ?? {};
      assert.ok(events >= 1 && events <= 256, `${events} events`);
    }),
    { numRuns: 2_000 },
  );
});

test('whatever bytes are unpacked, nothing is thrown, and no more events come of them than may', () => {
  fc.assert(
    fc.property(anyRecord, fc.integer({ min: 1, max: 256 }), ([, value], most) => {
      assert.ok((decompressEvents(value)?.length ?? 0) <= 256);
      assert.ok((decompressEvents(value, most)?.length ?? 0) <= most);
    }),
    { numRuns: 1_000 },
  );
});

test('whatever bytes a record has, it comes to an end, and so does what is behind it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('retry.10s', 'delivery'),
      anyRecord,
      async (topic, [header, value]) => {
        const world = new SimulatedWorld();
        world.addDestination('crm');
        const headers = { [envelopeHeader]: header };
        world.take({ topic, key: 'crm:odd', value, headers });
        const behind = world.publish('crm', 'behind', {}, topic);
        await world.clock.pass(minuteMs);
        assert.equal(world.inWork(topic), 0);
        assert.ok(world.delivered.includes(behind));
        // What claims to be a newer release's is kept for it.
        const kept = isFromNewerRelease(header) ? 1 : 0;
        const events = world.delivered.length - 1 + world.deadLetters.length + kept;
        assert.ok(events >= 1 && events <= 256, `${events} events`);
      },
    ),
    { numRuns: 300 },
  );
});
