import { randomBytes } from 'node:crypto';
import { startBroker } from '../../../src/dev/broker.ts';
import { CommandLine } from '../../harness/command-line.ts';
import { tableText } from '../../harness/markdown-table.ts';
import { benchApi } from './api.ts';
import { benchApply } from './apply.ts';
import { benchAttempts } from './attempts.ts';
import { benchAudience } from './audience.ts';
import { benchBatch } from './batch.ts';
import { benchClient } from './client.ts';
import { benchConsole } from './console.ts';
import { benchCrash } from './crash.ts';
import { benchDecode } from './decode.ts';
import { benchDelivery } from './delivery.ts';
import { benchExplain } from './explain.ts';
import { benchFence } from './fence.ts';
import { benchFleet } from './fleet.ts';
import { benchGateway } from './gateway.ts';
import { benchDestinations } from './destinations.ts';
import { benchGrowth } from './growth.ts';
import { benchHeap } from './heap.ts';
import { benchIsolation } from './isolation.ts';
import { benchLatency } from './latency.ts';
import type { BenchResult } from './measure.ts';
import { benchMemory } from './memory.ts';
import { benchOutages } from './outages.ts';
import { benchOrdinaryDays } from './ordinary-days/ordinary-days.ts';
import { benchPeers } from './peers/peers.ts';
import { benchPostgres } from './postgres.ts';
import { benchNames, writeReport, type BenchName } from './report.ts';
import { benchReading } from './reading.ts';
import { benchRebalance } from './rebalance.ts';
import { benchRouter } from './router.ts';
import { benchStatus } from './status.ts';
import { benchTls } from './tls.ts';
import { givenVariables } from './variables.ts';

/**
 * `npm run bench -- [NAME…] [--report]`: every figure of docs/performance.md, each as a ratio inside one
 * run; with `--report`, the page gets what these benches found. Ends with 1 if one misses what is required.
 */
const benches: Readonly<Record<BenchName, Bench>> = {
  delivery: benchDelivery,
  batch: benchBatch,
  tls: benchTls,
  attempts: benchAttempts,
  explain: benchExplain,
  fence: benchFence,
  router: benchRouter,
  gateway: benchGateway,
  decode: benchDecode,
  postgres: benchPostgres,
  latency: benchLatency,
  memory: benchMemory,
  heap: benchHeap,
  client: benchClient,
  isolation: benchIsolation,
  destinations: benchDestinations,
  growth: benchGrowth,
  fleet: benchFleet,
  outages: benchOutages,
  'ordinary-days': benchOrdinaryDays,
  audience: benchAudience,
  reading: benchReading,
  rebalance: benchRebalance,
  crash: benchCrash,
  status: benchStatus,
  apply: benchApply,
  console: benchConsole,
  api: benchApi,
  peers: benchPeers,
};

type Bench = (options: {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly log: (line: string) => void;
}) => Promise<BenchResult | readonly BenchResult[]>;

const withoutBroker: readonly BenchName[] = [
  'client',
  'decode',
  'fleet',
  'outages',
  'postgres',
  'tls',
];

const commandLine = new CommandLine('bench', '[NAME…] [--report]');
const { positionals, values } = commandLine.read({
  allowPositionals: true,
  options: { report: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !benchNames.some((each) => each === name));
if (unknown.length > 0)
  commandLine.refuse(`there is no bench ${unknown.join(', ')}; allowed: ${benchNames.join(', ')}`);
const given = givenVariables();
const chosen = benchNames.filter((name) => positionals.length === 0 || positionals.includes(name));
const othersBrokers = process.env['KAFKA_BROKERS']?.split(',');
const needsBroker = chosen.some((name) => !withoutBroker.includes(name));
const broker =
  othersBrokers === undefined && needsBroker ? await startBroker({ steady: true }) : undefined;
const brokers = othersBrokers ?? broker?.brokers ?? [];
// The latency bench starts roles, which find the broker as the tests do.
process.env['KAFKA_BROKERS'] = brokers.join(',');

const results: BenchResult[] = [];
for (const name of chosen) {
  console.log(`\n${name}`);
  const prefix = `bench-${randomBytes(4).toString('hex')}.`;
  const found = [await benches[name]({ brokers, prefix, log: console.log })].flat();
  results.push(...found);
  // Each at once: a later one may fail, and hours would be lost.
  if (values.report) writeReport(name, found, given);
}

for (const result of results) {
  const [least, most] = result.spread.map((ratio) => ratio.toFixed(2));
  const verdict = result.passed ? 'ok' : 'MISSED';
  const samples = `median ${result.median.toFixed(2)} of ${result.ratios.length}, ${least ?? ''} to ${most ?? ''}`;
  console.log(`\n${verdict}  ${result.name}\n    ${samples}, required: ${result.required}`);
  for (const [what, figure] of Object.entries(result.absolutes))
    console.log(`    ${what}: ${figure}`);
  for (const table of result.tables ?? []) console.log(`\n${table.title}:\n\n${tableText(table)}`);
  for (const note of result.notes ?? []) console.log(`\n${note}`);
}
await broker?.stop();
process.exit(results.every(({ passed }) => passed) ? 0 : 1);
