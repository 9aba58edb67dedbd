import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { jobOfBundled } from '../../src/delivery/bundle/bundle.ts';
import { Bundler } from '../../src/delivery/bundle/bundler.ts';
import { decodeBundleHeader, encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import type { Gathering } from '../../src/delivery/bundle/gathering.ts';
import { Job, newClaim } from '../../src/delivery/job.ts';
import { recordAt, unpackRecords } from '../../src/delivery/packing.ts';
import { encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { SimulatedClock } from './simulated-clock.ts';

const claim = newClaim({ topic: 'delivery', partition: 0 }, false);
const owner = { finish: (): void => undefined, release: (): void => undefined };

function jobOf(
  messageId: string,
  ownDeadlineMs: number | undefined,
  body: Buffer = Buffer.from('{}'),
): Job {
  const envelope = {
    destinationId: 'crm',
    sourceId: 'web',
    messageId,
    type: 'track' as const,
    configOffset: 1,
    appendTimeMs: 1,
    attempts: 0,
    deadlineMs: ownDeadlineMs,
  };
  const header = Buffer.from(encodeEnvelope(envelope));
  const place = { topic: claim.topic, partition: 0, offset: 1, timestampMs: 1 };
  return new Job(
    recordAt(place, { key: null, header, value: body }, owner, 1),
    claim,
    envelope,
    body,
  );
}

/** As whoever reads the record would have them. */
function unpacked({ packed, header }: Gathering): Job[] {
  const read = decodeBundleHeader(Buffer.from(encodeBundleHeader(header)));
  return (unpackRecords(Buffer.from(packed), header.events) ?? []).flatMap((event) => {
    const record = recordAt({ ...claim, offset: 1, timestampMs: 1 }, event, owner, 1);
    return (read && jobOfBundled(record, claim, read)) ?? [];
  });
}

const anyEvent = fc.record({
  /** Undefined: its retry clock does not run. */
  deadlineMs: fc.oneof(
    fc.constant(undefined),
    fc.integer({ min: 1_000_000, max: 1_003_000 }),
    fc.integer({ min: 1_000_000, max: 15_000_000 }),
  ),
  /** Said by its envelope, not by the bundle that it came in. */
  isOwn: fc.boolean(),
});

test('an event of a bundle has the deadline that it was put off with, or a second less', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { minLength: 1, maxLength: 30 }), async (events) => {
      const clock = new SimulatedClock();
      const jobs: Pick<Job, 'messageId' | 'deadlineMs'>[] = [];
      const bundler = new Bundler({
        clock,
        onGathered: (gathered) => jobs.push(...unpacked(gathered)),
        onAlone: ({ messageId }, { deadlineMs }) => jobs.push({ messageId, deadlineMs }),
      });
      for (const [n, { deadlineMs, isOwn }] of events.entries())
        bundler.add(jobOf(String(n), isOwn ? deadlineMs : undefined), {
          kind: 'later',
          tierMs: 10_000,
          dueMs: 1,
          deadlineMs,
        });
      await clock.pass(1_000);
      assert.equal(jobs.length, events.length);
      for (const { messageId, deadlineMs } of jobs) {
        const wantedMs = events[Number(messageId)]?.deadlineMs;
        const earlyMs = wantedMs === undefined ? 0 : wantedMs - (deadlineMs ?? NaN);
        assert.ok(earlyMs >= 0 && earlyMs < 1_000, `${earlyMs} ms early`);
        assert.equal(deadlineMs === undefined, wantedMs === undefined);
      }
    }),
  );
});

test('an event goes into a bundle as it came, where the bundle says for all when their windows end', async () => {
  const clock = new SimulatedClock();
  const asTheyCame: boolean[] = [];
  const jobs = Array.from({ length: 4 }, (_, n) => jobOf(String(n), undefined));
  const bundler = new Bundler({
    clock,
    onGathered: ({ packed, header }) => {
      for (const [n, event] of (unpackRecords(packed, header.events) ?? []).entries())
        asTheyCame.push(
          event.header.equals(jobs[n]?.record.headers[envelopeHeader] ?? event.value),
        );
    },
    onAlone: () => undefined,
  });
  for (const [n, laterMs] of [0, 999, 0, 1_000].entries()) {
    const job = jobs[n];
    const deadlineMs = 1_000_000 + laterMs;
    if (job !== undefined)
      bundler.add(job, { kind: 'later', tierMs: 10_000, dueMs: 1, deadlineMs });
  }
  await clock.pass(1_000);
  assert.deepEqual(asTheyCame, [true, true, true, false]);
});

test('a bundle is written as soon as it has 256 events or 64 KB, and a large event by itself', () => {
  const sizes = (bodyBytes: number): number[] => {
    const events: number[] = [];
    const bundler = new Bundler({
      clock: new SimulatedClock(),
      onGathered: ({ header }) => events.push(header.events),
      onAlone: () => events.push(1),
    });
    const plan = { kind: 'later', tierMs: 10_000, dueMs: 1, deadlineMs: 9 } as const;
    for (let n = 0; n < 600; n++)
      bundler.add(jobOf(String(n), undefined, Buffer.alloc(bodyBytes)), plan);
    return events;
  };
  assert.deepEqual(sizes(2), [256, 256]);
  assert.deepEqual(sizes(40 * 1024), Array<number>(300).fill(2));
  assert.deepEqual(sizes(64 * 1024), Array<number>(600).fill(1));
});
