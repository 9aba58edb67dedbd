import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { demoDestinations, startDemoEndpoints } from '../../dev/demo-endpoints.ts';
import {
  progressLine,
  replay,
  settled,
  summaryTable,
  watchDeadLetters,
  type DemoProgress,
} from '../../dev/demo.ts';
import { balances, createLedger, type Account, type Ledger } from '../../dev/ledger.ts';
import { purchaseCalls, purchaseRows, type PurchaseCall } from '../../dev/purchases.ts';
import { PostriderError } from '../../errors.ts';
import { createProducer } from '../../kafka/produce/producer.ts';
import type { MetricsRegistry } from '../../ops/metrics.ts';
import { shutdownSignal } from '../../ops/process.ts';
import { noVariables } from '../../resources/apply/interpolate.ts';
import { loadFiles } from '../../resources/apply/load-files.ts';
import type { Settings } from '../../settings/table.ts';
import type { Context } from '../context.ts';
import { startPipeline } from '../roles/pipeline.ts';

/** Retries as in production but shortened, so that the dead endpoint's events expire within the demo. */
const decided: Partial<Settings> = {
  retryTiersMs: [1_000, 3_000, 10_000],
  retryWindowMs: 30_000,
  topicPartitions: 6,
  gatewayPort: 0,
  opsPort: 0,
  consolePort: 0,
};
/** After the last event: a retry window, its longest tier, and reading them. */
const settleLimitMs = 75_000;

interface DemoOptions {
  readonly stay?: true;
}

/** `postrider demo`: real purchases from Kafka to four endpoints, and accounts of every event. */
export function registerDemo(program: Command, context: Context): void {
  program
    .command('demo')
    .description('send real purchases through the whole pipeline and account for every event')
    .option('--stay', 'keep running at the end, so that you can use the console; Ctrl-C ends it')
    .action((options: DemoOptions) => demo(context, options));
}

async function demo(given: Context, { stay }: DemoOptions): Promise<void> {
  const signalled = shutdownSignal();
  const ledger = createLedger(demoDestinations);
  const replaying = replayPurchases(given, ledger, signalled);
  const stopped = signalled.then(() => {
    throw new PostriderError('stopped', 'stopped early, before all events were accounted for');
  });
  const end = await Promise.race([replaying, stopped]);
  conclude(given, ledger);
  if (stay === true) {
    given.print(`\nThe console stays at ${end.consoleUrl} until Ctrl-C.`);
    await signalled;
  }
  await end.stop();
  process.exit(0);
}

interface Replayed {
  readonly consoleUrl: string;
  stop(): Promise<void>;
}

async function replayPurchases(
  given: Context,
  ledger: Ledger,
  signalled: Promise<unknown>,
): Promise<Replayed> {
  const endpoints = await startDemoEndpoints(ledger);
  const stdin = Readable.from([JSON.stringify(endpoints.resources)]);
  const quiet = given.environment['LOG_LEVEL'] === undefined ? { logLevel: 'silent' as const } : {};
  given.print('Starting a Kafka broker, the topics, the router and the delivery worker …');
  const pipeline = await startPipeline(given, {
    resources: await loadFiles(['-'], { ...noVariables, stdin }),
    // On a shared broker, demos must not meet.
    decided: { ...decided, ...quiet, topicPrefix: `demo-${randomBytes(3).toString('hex')}.` },
  });
  const { context, roles } = pipeline;
  const topology = await context.topology();
  const { kafka, log } = context;
  const producer = await createProducer(kafka, { log });
  const deps = { kafka, topology, producer, log };

  const calls: PurchaseCall[] = [];
  for await (const call of purchaseCalls(purchaseRows())) calls.push(call);
  given.print(
    `Replaying ${calls.length} events of a gift shop to ${demoDestinations.join(', ')} …`,
  );
  given.print(`Watch it: ${roles.consoleUrl ?? ''}`);
  const deadLetters = watchDeadLetters(deps, ledger);
  const progress = startProgress(context, roles.metrics, (counts) =>
    progressLine({ produced: ledger.producedCount, total: calls.length, ...counts }),
  );
  void signalled.then(() => {
    progress.stop();
  });
  await replay(deps, calls, ledger);
  await settled(ledger, settleLimitMs);
  progress.stop();
  await Promise.all([deadLetters.stop(), producer.close(settleLimitMs)]);
  const stop = async (): Promise<void> => {
    await pipeline.stop();
    await endpoints.close();
  };
  return { consoleUrl: roles.consoleUrl ?? '', stop };
}

function conclude(context: Context, ledger: Ledger): void {
  const accounts = ledger.accounts();
  context.print(`\n${summaryTable(accounts)}\n`);
  if (!balances(accounts))
    throw new PostriderError('accounts-differ', 'the accounts of the demo do not balance');
  context.print('Every event was delivered or given up with a reason; every signature was valid;');
  const healthy = accounts.find(({ destination }) => destination === 'healthy');
  if (healthy !== undefined) for (const line of orderOf(healthy)) context.print(line);
}

/** An event that waits, or is sent again, may come after later ones: on a busy machine some do. */
function orderOf({ extraArrivals, outOfOrder }: Account): string[] {
  if (extraArrivals > 0)
    return [
      `${extraArrivals} answers of the healthy endpoint came after its time limit, so`,
      'their events were sent again: this machine was too busy for the demo.',
    ];
  if (outOfOrder > 0)
    return [
      `${outOfOrder} events reached the healthy endpoint after a later one of the same user, because`,
      'events had to wait: this machine was too busy for the demo.',
    ];
  return ["each user's events reached the healthy endpoint in order."];
}

type Counts = Omit<DemoProgress, 'produced' | 'total'>;

const lookEveryMs = 500;

/** Shows what the metrics say until stopped. */
export function startProgress(
  context: Context,
  metrics: MetricsRegistry,
  describe: (counts: Counts) => string,
): { stop(): void } {
  let before = { delivered: 0, atMs: Date.now() };
  let line = '';
  const look = async (): Promise<void> => {
    const nowMs = Date.now();
    const delivered = await total(metrics, 'postrider_delivered_total');
    const perSecond = ((delivered - before.delivered) * 1_000) / Math.max(1, nowMs - before.atMs);
    before = { delivered, atMs: nowMs };
    line = describe({
      delivered,
      deliveriesPerSecond: Math.round(perSecond),
      retries: await total(metrics, 'postrider_retries_total'),
      deadLetters: await total(metrics, 'postrider_dead_letters_total'),
      breakersOpen: await total(metrics, 'postrider_breakers', 'open'),
    });
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  const status = context.status(() => line);
  return {
    stop: () => {
      clearInterval(timer);
      status.stop();
    },
  };
}

/** A metric's sum over its labels, or over those with the value `only`. */
async function total(metrics: MetricsRegistry, name: string, only?: string): Promise<number> {
  const metric = await metrics.getSingleMetric(name)?.get();
  return (metric?.values ?? [])
    .filter(({ labels }) => only === undefined || Object.values(labels).includes(only))
    .reduce((sum, { value }) => sum + value, 0);
}
