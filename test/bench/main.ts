import { randomBytes } from 'node:crypto';
import { startBroker } from '../../src/dev/broker.ts';
import { benchAttempts } from './attempts.ts';
import { benchAudience } from './audience.ts';
import { benchClient } from './client.ts';
import { benchConsole } from './console.ts';
import { benchCrash } from './crash.ts';
import { benchDecode } from './decode.ts';
import { benchDelivery } from './delivery.ts';
import { benchExplain } from './explain.ts';
import { benchFence } from './fence.ts';
import { benchGateway } from './gateway.ts';
import { benchDestinations } from './destinations.ts';
import { benchIsolation } from './isolation.ts';
import { benchLatency } from './latency.ts';
import type { BenchResult } from './measure.ts';
import { benchMemory } from './memory.ts';
import { benchOutages } from './outages.ts';
import { benchPostgres } from './postgres.ts';
import { benchReading } from './reading.ts';
import { benchRebalance } from './rebalance.ts';
import { benchRouter } from './router.ts';
import { benchStatus } from './status.ts';

/**
 * `npm run bench [NAME…]`: every figure of the README's performance section, each as a ratio inside one
 * run. Ends with 1 if one misses what is required.
 */
const benches = {
  delivery: benchDelivery,
  attempts: benchAttempts,
  explain: benchExplain,
  fence: benchFence,
  router: benchRouter,
  gateway: benchGateway,
  decode: benchDecode,
  postgres: benchPostgres,
  latency: benchLatency,
  memory: benchMemory,
  client: benchClient,
  isolation: benchIsolation,
  destinations: benchDestinations,
  outages: benchOutages,
  audience: benchAudience,
  reading: benchReading,
  rebalance: benchRebalance,
  crash: benchCrash,
  status: benchStatus,
  console: benchConsole,
};

const withoutBroker = ['client', 'decode', 'outages', 'postgres'];

const names = process.argv.slice(2);
const chosen = Object.entries(benches).filter(
  ([name]) => names.length === 0 || names.includes(name),
);
const given = process.env['KAFKA_BROKERS']?.split(',');
const needsBroker = chosen.some(([name]) => !withoutBroker.includes(name));
const broker = given === undefined && needsBroker ? await startBroker({ steady: true }) : undefined;
const brokers = given ?? broker?.brokers ?? [];
// The latency bench starts roles, which find the broker as the tests do.
process.env['KAFKA_BROKERS'] = brokers.join(',');

const results: BenchResult[] = [];
for (const [name, bench] of chosen) {
  console.log(`\n${name}`);
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const found = await bench({ brokers, prefix, log: console.log });
  results.push(...[found].flat());
}

for (const result of results) {
  const [least, most] = result.spread.map((ratio) => ratio.toFixed(2));
  const verdict = result.passed ? 'ok' : 'MISSED';
  const samples = `median ${result.median.toFixed(2)} of ${result.ratios.length}, ${least ?? ''} to ${most ?? ''}`;
  console.log(`\n${verdict}  ${result.name}\n    ${samples}, required: ${result.required}`);
  for (const [what, figure] of Object.entries(result.absolutes))
    console.log(`    ${what}: ${figure}`);
}
await broker?.stop();
process.exit(results.every(({ passed }) => passed) ? 0 : 1);
