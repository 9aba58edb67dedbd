import { bodyMakerOf, type BodyMaker } from '../../../src/event/body-shape.ts';
import { parseCall } from '../../../src/event/parse-call.ts';
import { summarize, type BenchResult } from './measure.ts';

const mostUs = 6;
const samples = 15;
const bodiesPerSample = 50_000;

/** Ten fields: texts, numbers, a default, values that are missing. */
const template = {
  id: '{{messageId}}',
  at: '{{timestamp}}',
  text: '{{event}} by {{userId}}',
  order: { id: '{{properties.order_id}}', total: '{{properties.total}}' },
  currency: '{{properties.currency|EUR}}',
  note: '{{properties.note}}',
  library: '{{context.library.name}} {{context.library.version}}',
  email: '{{traits.email}}',
  address: '{{context.ip}}',
};

/** CPU time of a body made by a template, from the parsed call to the text, beside that of the usual body. */
export function benchTemplate(call: string): BenchResult {
  const origin = { topic: 'bench', partition: 0, offset: 0, appendTimeMs: 0 };
  const { call: parsed } = parseCall(Buffer.from(call), origin);
  if (parsed === undefined) throw new Error('the call is not valid');
  const shaped = bodyMakerOf({ payload: 'standard', body: { template } });
  const usual = bodyMakerOf({ payload: 'standard' });
  const usOf = (maker: BodyMaker): number => {
    const before = process.cpuUsage();
    let length = 0;
    for (let i = 0; i < bodiesPerSample; i += 1) length += maker.build(parsed).length;
    const { user, system } = process.cpuUsage(before);
    if (length === 0) throw new Error('no bodies');
    return (user + system) / bodiesPerSample;
  };
  usOf(shaped);
  usOf(usual);
  const pairs = Array.from({ length: samples }, () => [usOf(shaped), usOf(usual)] as const);
  const summary = summarize(pairs.map(([us]) => us));
  const { median } = summarize(pairs.map(([, us]) => us));
  return {
    name: 'router: CPU µs of a body by a template of ten fields',
    required: `at most ${mostUs}`,
    ...summary,
    passed: summary.median <= mostUs,
    absolutes: { 'the usual body of the same call, CPU µs': median.toFixed(2) },
  };
}
