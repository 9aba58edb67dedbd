import { fullBatchChanges } from '../audience/change-batch.ts';
import { findAudiences, type FoundAudiences } from '../audience/find-audiences.ts';
import { SyncMetrics } from '../audience/metrics.ts';
import { readMembers } from '../audience/read/read-members.ts';
import type { ReadReport } from '../audience/read/report.ts';
import { wholeAudience, type Shard } from '../audience/shard.ts';
import { syncAudience, type SyncOptions, type SyncProgress } from '../audience/sync.ts';
import { writeTextfile } from '../audience/textfile.ts';
import { PostriderError } from '../errors.ts';
import { systemClock } from '../ops/clock.ts';
import { startOpsServer, type OpsServer } from '../ops/http-server.ts';
import { createMetrics, type MetricsRegistry } from '../ops/metrics.ts';
import { shutdownSignal } from '../ops/shutdown.ts';
import type { Audience, ComputedTrait } from '../resources/resource.ts';
import { createSecretKeys } from '../resources/config/secrets.ts';
import type { Context } from './context.ts';
import { note } from './note.ts';
import { startStatusLine } from './status-line.ts';
import { presentSync, syncJson, type SyncOutcome } from './sync-report.ts';

export interface AudienceSyncOptions {
  readonly dryRun?: true;
  readonly full?: true;
  readonly destination?: string;
  readonly shard?: Shard;
  readonly allowEmpty?: true;
  /** From 0 to 1. */
  readonly maxRemoved: number;
  readonly checkpointDir?: string;
  readonly json?: true;
  readonly serveMetrics?: true;
  readonly textfile?: string;
}

type Synced = Audience | ComputedTrait;

/**
 * Syncs one after the other; one that fails does not keep the others from their turn.
 * @throws PostriderError what kept the only one from being synced, or `input-invalid` for some of several
 */
export async function syncAudiences(
  context: Context,
  ids: readonly string[],
  options: AudienceSyncOptions,
): Promise<void> {
  if (options.destination !== undefined && options.full !== true)
    throw new PostriderError('usage', '--destination is allowed only with --full');
  const { kafka, log, settings } = context;
  const topology = await context.topology();
  const keys = createSecretKeys(settings.secretKey, settings.secretKeyPrevious);
  const found = await findAudiences({ kafka, topology, log }, ids, keys);
  for (const audience of found.audiences) checkDestination(found, audience, options.destination);
  const registry = createMetrics();
  const metrics = new SyncMetrics(registry);
  const ops = await serveMetrics(context, registry, options);
  const outcomes = await Promise.race([
    syncAll(context, found.audiences, options, metrics),
    failWhenTold(),
  ]);
  await ops?.close();
  if (options.textfile !== undefined && options.dryRun !== true)
    await writeTextfile(options.textfile, await metrics.text());
  if (options.json === true) context.print(syncJson(outcomes));
  failIfFailed(outcomes);
}

async function serveMetrics(
  { settings }: Context,
  metrics: MetricsRegistry,
  options: AudienceSyncOptions,
): Promise<OpsServer | undefined> {
  if (options.serveMetrics !== true) return undefined;
  const ops = await startOpsServer({ port: settings.opsPort, metrics, ready: () => true });
  note(`metrics on ${ops.url}/metrics`);
  return ops;
}

/** Nothing has to be tidied up: what is not committed is as if it had never been. */
async function failWhenTold(): Promise<never> {
  await shutdownSignal();
  throw new PostriderError('stopped', 'stopped early; the next sync goes on behind what was sent');
}

async function syncAll(
  context: Context,
  audiences: readonly Synced[],
  options: AudienceSyncOptions,
  metrics: SyncMetrics,
): Promise<readonly SyncOutcome[]> {
  const outcomes: SyncOutcome[] = [];
  for (const audience of audiences) {
    const outcome = await syncOne(context, audience, options, metrics);
    outcomes.push(outcome);
    if (outcome.error !== undefined) {
      metrics.failed(audience.id);
      if (audiences.length > 1) note(`postrider: ${outcome.error.message}`);
      continue;
    }
    if (!outcome.dryRun) metrics.succeeded(audience.id, outcome.result, systemClock.now());
    if (options.json !== true) for (const line of presentSync(outcome)) context.print(line);
  }
  return outcomes;
}

async function syncOne(
  context: Context,
  audience: Synced,
  options: AudienceSyncOptions,
  metrics: SyncMetrics,
): Promise<SyncOutcome> {
  const { kafka, log } = context;
  const topology = await context.topology();
  let progress: SyncProgress = { stage: 'fencing', done: 0 };
  let sent = 0;
  let read: ReadReport | undefined;
  const status = startStatusLine(() => describe(audience, progress));
  const onProgress = (now: SyncProgress): void => {
    progress = now;
    if (now.stage !== 'sending') return;
    metrics.sent(audience.id, now.done - sent);
    sent = now.done;
  };
  const dryRun = options.dryRun === true;
  try {
    const result = await syncAudience(
      { kafka, topology, clock: systemClock, log, onProgress },
      audience,
      syncOptions(context, options),
      async (connection, tempFolder) => {
        const [from, rows] =
          audience.kind === 'Audience'
            ? ([audience.members, 'members'] as const)
            : ([audience.values, 'values'] as const);
        read = await readMembers(connection, from, { rows, folder: process.cwd(), tempFolder });
      },
    );
    return { audience, dryRun, result, read };
  } catch (error) {
    return { audience, dryRun, error: error instanceof Error ? error : new Error(String(error)) };
  } finally {
    status.stop();
  }
}

function syncOptions({ settings }: Context, options: AudienceSyncOptions): SyncOptions {
  return {
    shard: options.shard ?? wholeAudience,
    directory: options.checkpointDir ?? settings.audienceCheckpointDir,
    dryRun: options.dryRun === true,
    baseline: options.full === true ? { destination: options.destination } : undefined,
    allowEmpty: options.allowEmpty === true,
    maxRemovedPercent: options.maxRemoved,
    changesPerTransaction: fullBatchChanges,
  };
}

function describe({ id }: Synced, { stage, done }: SyncProgress): string {
  const count = done.toLocaleString('en');
  const stages: Readonly<Record<SyncProgress['stage'], string>> = {
    fencing: 'making sure that no other sync of it goes on',
    remembering: `reading what was sent before: ${count} records`,
    reading: 'reading its data',
    comparing: 'comparing',
    sending: `${count} changes sent`,
  };
  return `${id}: ${stages[stage]}`;
}

/** @throws PostriderError `input-invalid` where the router would leave the destination out. */
function checkDestination(
  { destinationsOf }: FoundAudiences,
  { kind, id, source, destinations }: Synced,
  wanted: string | undefined,
): void {
  if (wanted === undefined) return;
  const allowed = destinationsOf(source).filter((each) => destinations?.includes(each) ?? true);
  if (allowed.includes(wanted)) return;
  throw new PostriderError(
    'input-invalid',
    `${kind} ${id} does not go to destination ${wanted}; allowed: ${allowed.join(', ')}`,
  );
}

function failIfFailed(outcomes: readonly SyncOutcome[]): void {
  const failures = outcomes.flatMap(({ error }) => error ?? []);
  const [failure] = failures;
  if (failure === undefined) return;
  if (outcomes.length === 1) throw failure;
  const message = `${failures.length} of ${outcomes.length} were not synced, for the reasons above`;
  throw new PostriderError('input-invalid', message);
}
