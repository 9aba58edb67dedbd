import fc from '../harness/fast-check.ts';
import type { Call } from '../../src/event/call.ts';
import { callTypes } from '../../src/event/call.ts';
import { type Origin, type ParsedCall, parseCall } from '../../src/event/parse-call.ts';

export const origin: Origin = {
  topic: 'postrider.ingest',
  partition: 3,
  offset: 42,
  appendTimeMs: Date.parse('2026-11-20T18:59:40.123Z'),
};

/** An object becomes the record's value by JSON.stringify; text and bytes are the value themselves. */
export function parse(value: object | string | Buffer | null): ParsedCall {
  if (value === null || Buffer.isBuffer(value)) return parseCall(value, origin);
  return parseCall(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), origin);
}

export function callOf(value: object | string | Buffer): Call {
  const { call, rejected } = parse(value);
  if (call === undefined) throw new Error(`rejected: ${rejected.detail}`);
  return call;
}

/** Every UTF-16 code unit, lone surrogates included. */
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  maxLength: 8,
});

const anyKey = fc.oneof(
  anyText,
  fc.constantFrom('__proto__', 'constructor', 'hasOwnProperty', 'toJSON', 'length', '2', '1', ''),
);

const nested = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.oneof(anyText, fc.double(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(anyKey, tie('value')), { maxLength: 4 }).map(Object.fromEntries),
  ),
}));

export const anyJson: fc.Arbitrary<unknown> = nested.value;

const anyId = fc.oneof(anyText, fc.maxSafeInteger(), fc.constant(null), fc.constant(undefined));

/** Mostly valid calls, their fields in any order, with unknown and odd ones among them. */
export const anyCall: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({
      type: fc.constantFrom(...callTypes),
      messageId: anyId,
      userId: anyId,
      anonymousId: anyId,
      groupId: anyId,
      previousId: anyId,
      event: fc.oneof(fc.constant('Order Completed'), anyText),
      name: anyJson,
      category: anyJson,
      properties: anyJson,
      traits: anyJson,
      context: anyJson,
      integrations: anyJson,
      writeKey: fc.constantFrom(undefined, 'wk_shop_1'),
      timestamp: fc.constantFrom(undefined, null, '2026-11-20T18:59:40-0500', '2010-12-01'),
    }),
    fc.array(fc.tuple(anyKey, anyJson), { maxLength: 3 }),
    fc.infiniteStream(fc.nat()),
  )
  .map(([fields, others, order]) =>
    Object.fromEntries(
      [...others, ...Object.entries(fields)]
        .map((entry) => ({ entry, rank: Number(order.next().value) }))
        .sort((a, b) => a.rank - b.rank)
        .map(({ entry }) => entry),
    ),
  );
