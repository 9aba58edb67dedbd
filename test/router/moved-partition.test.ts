import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { PostriderError } from '../../src/errors.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { createDecoder } from '../../src/schemas/decoder.ts';
import { ingestSchema } from '../../src/schemas/publish.ts';
import type { KnownSchema } from '../../src/schemas/schemas.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { incoming, TestRouter } from './fakes.ts';

const refused = new PostriderError('record-refused', 'too large');
const decode = createDecoder({ type: 'AVRO', schema: ingestSchema, references: [] });
const partitions = [0, 1].map((partition) => ({ topic: 'p.ingest', partition }));

type Kind = 'plain' | 'sent again' | 'of an unknown source' | 'of an unknown schema' | 'no call';

interface Taken {
  readonly step: 'take';
  readonly kind: Kind;
  readonly partition: number;
  /** Tells few users, message ids and schemas apart. */
  readonly n: number;
}

type Step =
  | Taken
  | { readonly step: 'safe' | 'refused' | 'look' }
  | { readonly step: 'tell'; readonly n: number }
  | { readonly step: 'drop'; readonly partition: number };

const kinds: readonly Kind[] = [
  'plain',
  'sent again',
  'sent again',
  'of an unknown source',
  'of an unknown schema',
  'no call',
] as Kind[];

const take: fc.Arbitrary<Step> = fc.record({
  step: fc.constant('take' as const),
  kind: fc.constantFrom(...kinds),
  partition: fc.nat(1),
  n: fc.nat(2),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: take },
  {
    weight: 3,
    arbitrary: fc.record({ step: fc.constantFrom('safe' as const, 'refused', 'look') }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('tell' as const), n: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant('drop' as const), partition: fc.nat(1) }) },
);

function recordOf({ kind, partition, n }: Taken, offset: number): IncomingRecord {
  const place = { partition, offset };
  const call = { type: 'identify', userId: `u${n}`, writeKey: 'wk_shop' };
  switch (kind) {
    case 'plain':
      return incoming(call, place);
    case 'sent again':
      return incoming({ ...call, messageId: `m${n}` }, place);
    case 'of an unknown source':
      return incoming({ ...call, writeKey: `wk_${n}` }, place);
    case 'of an unknown schema':
      return incoming(Buffer.from([0, 0, 0, 0, n, 1, 2, 3]), place);
    case 'no call':
      return incoming('nothing', place);
  }
}

test('whatever a router has begun and what waits in it, a record comes to one end when its partition goes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const router = new TestRouter(exampleSource(), exampleDestination());
      const known = new Map<number, KnownSchema>();
      const waiting: { readonly id: number; readonly resolve: () => void }[] = [];
      router.schemas = {
        find: (id) => known.get(id),
        settled: (id) => new Promise((resolve) => waiting.push({ id, resolve })),
      };
      const tell = async (n: number): Promise<void> => {
        known.set(n, { decode });
        for (const { id, resolve } of waiting) if (id === n) resolve();
        await router.look();
      };
      let taken = 0;
      for (const each of steps) {
        if (each.step === 'take') router.take(recordOf(each, taken++));
        else if (each.step === 'safe') router.written.shift()?.done();
        else if (each.step === 'refused') router.written.shift()?.done(refused);
        else if (each.step === 'tell') await tell(each.n);
        else if (each.step === 'drop')
          router.drop({ topic: 'p.ingest', partition: each.partition });
        else await router.look();
      }
      const offsets = Array.from({ length: taken }, (_, offset) => offset);
      const ended = (): number[] =>
        [...router.finished, ...router.released].toSorted((a, b) => a - b);

      // What is under way needs nothing but its acknowledgement.
      router.drop(...partitions);
      router.acknowledge();
      assert.deepEqual(ended(), offsets);
      await router.look();
      for (const n of [0, 1, 2]) await tell(n);
      assert.deepEqual([ended(), router.written], [offsets, []]);
      assert.deepEqual([router.heldCalls, router.stalledRecords], [0, 0]);
    }),
    { numRuns: 300 },
  );
});
