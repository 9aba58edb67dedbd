import avro from 'avsc';
import { createDecoder } from '../../../src/schemas/decoder.ts';
import { ingestSchema } from '../../../src/schemas/publish.ts';
import { medianOf, type BenchResult } from './measure.ts';

export interface DecodeBenchOptions {
  /** Default 15. */
  readonly pairs?: number;
  readonly log?: (line: string) => void;
}

const callsPerRun = 50_000;
const most = 1.3;

/** Decoding a typed call, by CPU time, against `JSON.parse` of the same call. */
export function benchDecode({ pairs = 15, log }: DecodeBenchOptions): Promise<BenchResult> {
  const typed = encode(call);
  const text = Buffer.from(JSON.stringify(call));
  const decode = createDecoder({ type: 'AVRO', schema: ingestSchema, references: [] });
  const ratios: number[] = [];
  const bareUs: number[] = [];
  const ownUs: number[] = [];
  let checked = 0;
  // The first pair warms up.
  for (let pair = 0; pair <= pairs; pair += 1) {
    const bare = measure(() => {
      checked += Object.keys(JSON.parse(text.toString()) as object).length;
    });
    const own = measure(() => {
      checked += Object.keys(decode(typed).object ?? {}).length;
    });
    if (pair === 0) continue;
    bareUs.push(bare);
    ownUs.push(own);
    ratios.push(own / bare);
    log?.(`JSON.parse ${bare.toFixed(2)} µs; decode ${own.toFixed(2)} µs`);
  }
  if (checked === 0) throw new Error('nothing was decoded');
  const median = medianOf(ratios);
  return Promise.resolve({
    name: 'decode, Avro with the published schema: CPU time of a call, as a share of JSON.parse',
    required: `at most ${most}`,
    ratios,
    median,
    spread: [Math.min(...ratios), Math.max(...ratios)],
    passed: median <= most,
    absolutes: {
      'JSON.parse, CPU µs a call': medianOf(bareUs).toFixed(2),
      'decode, CPU µs a call': medianOf(ownUs).toFixed(2),
    },
  });
}

function measure(run: () => void): number {
  const before = process.cpuUsage();
  for (let i = 0; i < callsPerRun; i += 1) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / callsPerRun;
}

const call = {
  type: 'track',
  messageId: '0f5e9d4e-6f0b-4a3c-9a51-0f2b6b7a9c11',
  userId: 'user-1234',
  timestamp: '2026-11-20T18:59:40.123Z',
  writeKey: 'wk_shop',
  event: 'Order Completed',
  properties: {
    order_id: 123_456,
    total: 39.95,
    currency: 'GBP',
    coupon: null,
    note: 'a1b2c3'.repeat(15),
    products: ['sku-1', 'sku-2', 'sku-3'],
  },
  context: { ip: '203.0.113.7', library: { name: 'bench', version: '1.0.0' } },
  integrations: { All: true },
};

function encode({ timestamp, properties, context, integrations, ...texts }: typeof call): Buffer {
  const { order_id: orderId, total, currency, note, products } = properties;
  const type = avro.Type.forSchema(JSON.parse(ingestSchema) as avro.Schema, { wrapUnions: true });
  const text = (string: string): object => ({ string });
  const absent = { anonymousId: null, name: null, category: null, groupId: null, previousId: null };
  return type.toBuffer({
    ...absent,
    type: texts.type,
    messageId: text(texts.messageId),
    userId: text(texts.userId),
    timestamp: { long: Date.parse(timestamp) },
    writeKey: text(texts.writeKey),
    event: text(texts.event),
    properties: {
      map: {
        order_id: { long: orderId },
        total: { double: total },
        currency: text(currency),
        coupon: null,
        note: text(note),
        products: { array: products.map(text) },
      },
    },
    traits: null,
    context: text(JSON.stringify(context)),
    integrations: { map: integrations },
  });
}
