import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { compressEvents, encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { EventPacker } from '../../src/delivery/packing.ts';
import { envelopeHeader } from '../../src/event/envelope.ts';
import { dueAfter } from '../../src/event/tier-delay.ts';
import { hourMs, minuteMs, SimulatedWorld } from './simulated-world.ts';

function worldWithCrm(): SimulatedWorld {
  const world = new SimulatedWorld();
  world.addDestination('crm');
  return world;
}

/** How long after their appends, which are now, the events were sent; NaN for none within five minutes. */
async function waitsOf(world: SimulatedWorld, ids: readonly string[]): Promise<number[]> {
  const appendedMs = world.clock.now();
  await world.clock.pass(5 * minuteMs);
  const sentMs = new Map(world.requests.map(({ messageId, atMs }) => [messageId, atMs]));
  return ids.map((id) => (sentMs.get(id) ?? NaN) - appendedMs);
}

/** The gate looks at what is due every 20 ms. */
function assertIsAbout(waitMs = NaN, wantedMs: number): void {
  assert.ok(waitMs >= wantedMs && waitMs <= wantedMs + 20, `${waitMs} instead of ${wantedMs} ms`);
}

describe('a record of a retry topic', () => {
  for (const [topic, mostMs, of] of [
    ['retry.10s', 11_000, 'a tier'],
    ['retry.2m', 132_000, 'a former tier'],
  ] as const)
    test(`of ${of} waits for a tenth more than its delay at most, whatever it says`, async () => {
      const world = worldWithCrm();
      const nowMs = world.clock.now();
      const ids = [3 * hourMs, 300 * 365 * 24 * hourMs].map((aheadMs, n) =>
        world.publish('crm', `u${n}`, { attempts: 1, dueMs: nowMs + aheadMs }, topic),
      );
      for (const waitMs of await waitsOf(world, ids)) assertIsAbout(waitMs, mostMs);
    });

  test('with several events waits no longer either', async () => {
    const world = worldWithCrm();
    const packer = new EventPacker();
    packer.add(Buffer.from('crm:u'), world.envelopeFor('crm'), Buffer.from('{}'));
    const oldestMs = world.clock.now();
    const dueMs = oldestMs + 10 * hourMs;
    const header = encodeBundleHeader({ destinationId: 'crm', events: 1, dueMs, oldestMs });
    world.take({
      topic: 'retry.1m',
      key: 'crm:u',
      value: compressEvents(packer.packed),
      headers: { [envelopeHeader]: header },
    });
    const [waitMs] = await waitsOf(world, ['raw']);
    assertIsAbout(waitMs, 66_000);
  });

  test('that a worker has written comes at the time that it says', () => {
    const chances = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    return fc.assert(
      fc.asyncProperty(fc.constantFrom(10_000, minuteMs), chances, async (tierMs, chance) => {
        const world = worldWithCrm();
        const dueMs = dueAfter(tierMs, world.clock.now(), () => chance);
        const waitMs = dueMs - world.clock.now();
        const topic = world.topology.retryTopic(tierMs);
        const id = world.publish('crm', 'u', { attempts: 1, dueMs }, topic);
        const [waitedMs] = await waitsOf(world, [id]);
        assertIsAbout(waitedMs, waitMs);
      }),
      { numRuns: 20 },
    );
  });

  test('with a notification still waits out the fence, and no longer than that or the tier', async () => {
    const world = worldWithCrm();
    const nowMs = world.clock.now();
    const [past, future] = [nowMs - hourMs, nowMs + 10 * hourMs];
    const notified = (dueMs: number, retry: string): string =>
      world.publish('crm', `${dueMs}${retry}`, { type: 'delete', dueMs }, `retry.${retry}`);
    const ids = [notified(past, '1s'), notified(future, '1s'), notified(future, '10s')];
    const [early, short, usual] = await waitsOf(world, ids);
    assert.deepEqual([early, short, usual], [7_000, 7_000, 11_000]);
  });
});

test('no other topic makes a record wait, except a notification for the fence', async () => {
  const world = worldWithCrm();
  world.addDestination('big', { topic: 'dedicated' });
  const dueMs = world.clock.now() + hourMs;
  const ids = [
    world.publish('crm', 'a', { dueMs }),
    world.publish('big', 'b', { dueMs }, 'delivery.big'),
    world.publish('crm', 'c', { dueMs, type: 'delete' }),
  ];
  assert.deepEqual(await waitsOf(world, ids), [0, 0, 7_000]);
});
