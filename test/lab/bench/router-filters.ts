import type { IncomingRecord } from '../../../src/kafka/record.ts';
import { readCall } from '../../../src/router/read-call.ts';
import { Routes } from '../../../src/router/route-call.ts';
import { noRegistry } from '../../../src/schemas/schemas.ts';
import { exampleDestination, exampleSource } from '../../resources/examples.ts';
import { audienceTopic, FakeConfig, incoming, topics } from '../../router/fakes.ts';
import { summarize, type BenchResult } from './measure.ts';

const customers = 50_000;
const mostTimes = 2;
/** Of five conditions. */
const mostFilterUs = 2;
const rounds = 15;
const callsPerRound = 20_000;
/** Enough that what each of them costs shows beside reading the call. */
const filtered = 50;
const mostChangeMs = 1;

/**
 * What the router's decision costs by CPU time, from the record of a call to the records for its destinations, without
 * Kafka: with 50,000 destinations that each want their own customer's calls, against one; and with filters of five
 * conditions, against none.
 */
export function benchFilters(log: (line: string) => void): BenchResult[] {
  return [ofCustomers(log), ofConditions(log)];
}

function ofCustomers(log: (line: string) => void): BenchResult {
  const config = configOf(customers, (index) => ({ 'properties.accountId': accountOf(index) }));
  const calls = Array.from({ length: 1_000 }, (_, index) => callOf(accountOf(index * 37)));
  const pairs = compare(
    router(
      configOf(1, () => undefined),
      calls,
    ),
    router(config, calls),
    `router: 1 destination %s µs a call, ${customers} %s µs`,
    log,
  );
  const ratios = pairs.map(({ one, other }) => other / one);
  const summary = summarize(ratios);
  const change = changeMs(config);
  return {
    name: 'router, a call to 1 of 50,000 destinations by its filter: CPU time, as a multiple of 1 destination',
    required: `at most ${mostTimes}, and a changed destination in ${mostChangeMs} ms`,
    ...summary,
    passed: summary.median <= mostTimes && change <= mostChangeMs,
    absolutes: {
      '1 destination, CPU µs a call': figure(pairs.map(({ one }) => one)),
      '50,000 destinations, CPU µs a call': figure(pairs.map(({ other }) => other)),
      'a changed destination of 50,000, CPU ms': change.toFixed(3),
    },
  };
}

function ofConditions(log: (line: string) => void): BenchResult {
  const filter = {
    'properties.total': { gte: 10, lt: 1_000 },
    event: { prefix: 'Order ' },
    'context.library.name': { exists: true },
    'properties.tags': { contains: 'vip' },
  };
  const calls = [callOf('acme')];
  const pairs = compare(
    router(
      configOf(filtered, () => undefined),
      calls,
    ),
    router(
      configOf(filtered, () => filter),
      calls,
    ),
    `router: ${filtered} destinations %s µs a call, with filters %s µs`,
    log,
  );
  const addedUs = pairs.map(({ one, other }) => (other - one) / filtered);
  const summary = summarize(addedUs);
  return {
    name: 'router, a filter of five conditions: CPU µs that it adds to a destination',
    required: `at most ${mostFilterUs}`,
    ...summary,
    passed: summary.median <= mostFilterUs,
    absolutes: {
      '50 destinations without filters, CPU µs a call': figure(pairs.map(({ one }) => one)),
      '50 destinations with filters, CPU µs a call': figure(pairs.map(({ other }) => other)),
    },
  };
}

interface Pair {
  readonly one: number;
  readonly other: number;
}

/** CPU µs a call of both, in turns; the first pair warms up. */
function compare(
  runOne: () => number,
  runOther: () => number,
  text: string,
  log: (line: string) => void,
): Pair[] {
  const pairs: Pair[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const pair = { one: runOne(), other: runOther() };
    if (round === 0) continue;
    pairs.push(pair);
    log(text.replace('%s', pair.one.toFixed(2)).replace('%s', pair.other.toFixed(2)));
  }
  return pairs;
}

function router(config: FakeConfig, records: readonly IncomingRecord[]): () => number {
  const routes = new Routes(config, topics);
  return () => {
    let written = 0;
    const before = process.cpuUsage();
    for (let i = 0; i < callsPerRound; i += 1) {
      const record = records[i % records.length];
      const read = record === undefined ? undefined : readCall(record, noRegistry, audienceTopic);
      if (read === undefined || !('call' in read)) throw new Error('a call was not read');
      const source = routes.sourceOf(read);
      if (source === undefined) throw new Error('a call has no source');
      written += routes.route(read, source).length;
    }
    const { user, system } = process.cpuUsage(before);
    if (written < callsPerRound) throw new Error(`${written} records of ${callsPerRound} calls`);
    return (user + system) / callsPerRound;
  };
}

function configOf(count: number, filterOf: (index: number) => object | undefined): FakeConfig {
  return new FakeConfig(
    exampleSource(),
    ...Array.from({ length: count }, (_, index) => {
      const filter = filterOf(index);
      const id = `d${String(index).padStart(5, '0')}`;
      return exampleDestination({ id, ...(filter === undefined ? {} : { filter }) });
    }),
  );
}

/** CPU ms of a change of one destination. */
function changeMs(config: FakeConfig): number {
  const changes = Array.from({ length: 1_000 }, (_, index) =>
    exampleDestination({
      id: `d${String(index * 7).padStart(5, '0')}`,
      filter: { 'properties.accountId': `changed-${index}` },
    }),
  );
  const before = process.cpuUsage();
  for (const change of changes) config.put(change);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / changes.length;
}

function accountOf(index: number): string {
  return `account-${index % customers}`;
}

function callOf(accountId: string): IncomingRecord {
  return incoming({
    type: 'track',
    messageId: 'order-1041',
    userId: 'user-7',
    writeKey: 'wk_shop',
    event: 'Order Completed',
    timestamp: '2026-11-20T18:59:40.123Z',
    properties: { accountId, total: 39.95, currency: 'GBP', tags: ['new', 'vip'] },
    context: { ip: '203.0.113.7', library: { name: 'bench', version: '1.0.0' } },
  });
}

function figure(samples: readonly number[]): string {
  return summarize(samples).median.toFixed(2);
}
