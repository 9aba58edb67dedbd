import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compressEvents, encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { UnpackedBytes } from '../../src/delivery/bundle/unpacked-bytes.ts';
import { EventPacker } from '../../src/delivery/packing.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import { answerOk, hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

const topic = 'retry.10s';

/** A bundle with events of 4 KB is due. */
function takeBundle(world: SimulatedWorld, destinationId: string, events: number): void {
  const packer = new EventPacker();
  const body = Buffer.alloc(4_000, 'x');
  for (let n = 0; n < events; n++)
    packer.add(Buffer.from(`${destinationId}:u${n}`), world.envelopeFor(destinationId), body);
  const header = { destinationId, events, dueMs: 1, oldestMs: world.clock.now() };
  world.take({
    topic,
    key: `${destinationId}:u0`,
    value: compressEvents(packer.packed),
    headers: { [envelopeHeader]: encodeBundleHeader(header) },
  });
}

describe('of what is unpacked of a partition', () => {
  test('there is less while others of the worker have much', () => {
    let share = 1;
    const unpacked = new UnpackedBytes(() => share);
    unpacked.add('crm', 100, 2 * 1024 * 1024);
    unpacked.add('erp', 100, 1024);
    assert.deepEqual([unpacked.areTooMany, unpacked.areTooManyOf('erp')], [false, false]);
    share = 0.25;
    assert.deepEqual([unpacked.areTooMany, unpacked.areTooManyOf('erp')], [true, true]);
    unpacked.remove('crm', 100, 2 * 1024 * 1024);
    assert.equal(unpacked.areTooMany, false);
    unpacked.add('shop', 1_100, 1024);
    assert.equal(unpacked.areTooMany, true);
  });

  test('there is no more than it may hold, however well it is packed', async () => {
    const world = new SimulatedWorld();
    // Of several destinations, because a lane that has enough to do leaves bundles packed.
    for (let d = 0; d < 40; d++) {
      world.addDestination(`crm-${d}`, { maxInFlight: 1 });
      takeBundle(world, `crm-${d}`, 100);
    }
    let mostBytes = 0;
    for (let step = 0; step < 200; step++) {
      mostBytes = Math.max(mostBytes, world.claim(topic).unpackedBytes.inFlightBytes);
      await world.clock.pass(1_000);
    }
    assert.ok(mostBytes > 0 && mostBytes < 5 * 1024 * 1024, `${mostBytes} bytes`);
    assert.equal(world.claim(topic).unpackedBytes.inFlightBytes, 0);
    assert.equal(world.delivered.length, 40 * 100);
  });

  for (const many of [4, 12])
    test(`${many} destinations that take their time leave room for others`, async () => {
      const world = new SimulatedWorld();
      world.addDestination('quick');
      world.answer = (url) => ({ ...answerOk, afterMs: url.includes('slow') ? 900 : 20 });
      for (let d = 0; d < many; d++) world.addDestination(`slow-${d}`, { maxInFlight: 1 });
      for (let n = 0; n < 25; n++)
        for (let d = 0; d < many; d++) takeBundle(world, `slow-${d}`, 16);
      for (let minute = 1; minute <= 5; minute++) {
        await world.clock.pass(minuteMs - 1_000);
        takeBundle(world, 'quick', 16);
        await world.clock.pass(1_000);
        const arrived = world.requests.filter(({ url }) => url.includes('quick'));
        assert.equal(arrived.length, minute * 16, `in minute ${minute}`);
      }
      const isSlow = ({ url }: { url: string }): boolean => url.includes('slow');
      const { length } = world.requests.filter(isSlow);
      assert.ok(length > many * 100, `${length} requests to those that take their time`);
      await world.clock.pass(3 * hourMs);
      assert.equal(world.delivered.length, (25 * many + 5) * 16);
    });
});
