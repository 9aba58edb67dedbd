import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { fullBatchChanges } from '../../audience/emit.ts';
import { findAudiences, type FoundAudiences } from '../../audience/find-audiences.ts';
import { SyncMetrics, writeTextfile } from '../../audience/metrics.ts';
import { readMembers } from '../../audience/read/read-members.ts';
import type { ReadReport } from '../../audience/read/report.ts';
import type { SyncProgress } from '../../audience/open-audience.ts';
import { defaultLimits } from '../../audience/safety.ts';
import {
  syncAudience,
  type ReadCurrent,
  type SyncOptions,
  type SyncResult,
} from '../../audience/sync.ts';
import { removeUnknown } from '../../audience/workspace.ts';
import { asError, PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import { startOpsServer, type OpsServer } from '../../ops/http-server.ts';
import { createMetrics, type MetricsRegistry } from '../../ops/metrics.ts';
import { enumerated } from '../../printable.ts';
import type { Audience, ComputedTrait } from '../../resources/resource.ts';
import type { OutputFormat } from '../../resources/present.ts';
import { readAudienceRecords } from '../../resources/audiences/records.ts';
import type { SyncEntry } from '../../resources/audiences/record.ts';
import { createSecretKeys } from '../../resources/config/secrets.ts';
import { auditedWhereSeen } from '../audit.ts';
import type { Context } from '../context.ts';
import { aloneWith } from './one-at-a-time.ts';
import { isForPrograms, present, type OutputOptions } from '../terminal/output.ts';
import { realFilesDir, retireAll, type FindNow } from './retiring.ts';
import {
  describeProgress,
  failIfFailed,
  presentHistory,
  presentSync,
  syncData,
  type SyncOutcome,
} from './sync-report.ts';

export interface AudienceSyncOptions extends OutputOptions {
  readonly dryRun?: true;
  readonly full?: true;
  readonly destination?: string;
  readonly yes?: true;
  readonly allowEmpty?: true;
  readonly allowOld?: true;
  /** In percent, and so the next two. */
  readonly maxRemoved?: number;
  readonly maxChanged?: number;
  readonly maxAdded?: number;
  readonly retire?: true;
  readonly keepTraits?: true;
  readonly history?: true;
  readonly checkpointDir?: string;
  readonly serveMetrics?: true;
  readonly textfile?: string;
}

type Synced = Audience | ComputedTrait;

/**
 * Syncs one audience after the other. A failed one does not prevent the others.
 * @throws PostriderError why the only one was not synced, or `input-invalid` for some of several
 */
export async function syncAudiences(
  context: Context,
  ids: readonly string[],
  options: AudienceSyncOptions,
): Promise<void> {
  refuseMixed(options);
  const { kafka, log, settings } = context;
  const topology = await context.topology();
  const keys = createSecretKeys(settings.secretKey, settings.secretKeyPrevious);
  const findNow: FindNow = (some) => findAudiences({ kafka, topology, log }, some, keys);
  const found = await findNow(ids);
  if (found.audiences.length === 0) context.note('there are no audiences or computed traits');
  for (const audience of found.audiences) checkDestination(found, audience, options.destination);
  if (options.history === true) {
    await showHistory(context, found.audiences, options.output);
    return;
  }
  // Files that are written from here on contain user ids.
  process.umask(0o077);
  const isRetiring = options.retire === true || options.keepTraits === true;
  const sync = (): Promise<void> =>
    isRetiring
      ? retireAll(context, found.audiences, findNow, options)
      : syncFound(context, found, findNow, options);
  if (options.dryRun === true || found.audiences.length === 0) await sync();
  else {
    const done = { action: 'audience-sync', detail: syncText(ids, options) } as const;
    await auditedWhereSeen(context, done, sync);
  }
}

/** The audiences and the options of a sync, as they were given. */
function syncText(ids: readonly string[], options: AudienceSyncOptions): string {
  const { full, destination, allowEmpty, allowOld, retire, keepTraits } = options;
  const { maxRemoved, maxChanged, maxAdded } = options;
  const wishes = Object.entries({
    full,
    destination,
    retire,
    'keep-traits': keepTraits,
    'allow-empty': allowEmpty,
    'allow-old': allowOld,
    'max-removed': maxRemoved,
    'max-changed': maxChanged,
    'max-added': maxAdded,
  }).flatMap(([name, value]) =>
    value === undefined ? [] : value === true ? [`--${name}`] : [`--${name} ${value}`],
  );
  return [ids.length === 0 ? 'all' : enumerated(ids), ...wishes].join(' ');
}

async function syncFound(
  context: Context,
  found: FoundAudiences,
  findNow: FindNow,
  options: AudienceSyncOptions,
): Promise<void> {
  const { settings } = context;
  const topology = await context.topology();
  const directory = options.checkpointDir ?? settings.audienceCheckpointDir;
  if (directory !== undefined) await removeUnknown(directory, topology, found.isKnown);
  const registry = createMetrics();
  const metrics = new SyncMetrics(registry);
  const ops = await serveMetrics(context, registry, options);
  const ofAll = syncAll(context, found.audiences, findNow, options, metrics);
  const outcomes = await Promise.race([ofAll, failWhenTold(context.stopping())]);
  await ops?.close();
  if (options.textfile !== undefined && options.dryRun !== true)
    await writeTextfile(options.textfile, await metrics.text(), found.isKnown);
  if (isForPrograms(options)) {
    const data = (): object => syncData(outcomes);
    context.print(present(options.output, data, () => ''));
  }
  failIfFailed(outcomes);
}

/** @throws PostriderError `usage` for options of which one would be ignored */
function refuseMixed(options: AudienceSyncOptions): void {
  const { destination, full, dryRun, retire, keepTraits } = options;
  if (destination !== undefined && full !== true)
    throw new PostriderError('usage', '--destination is allowed only with --full');
  if (retire === true && keepTraits === true)
    throw new PostriderError('usage', 'either --retire or --keep-traits, not both');
  if (retire !== true && keepTraits !== true) return;
  const ignored = dryRun === true ? '--dry-run' : full === true ? '--full' : undefined;
  if (ignored === undefined) return;
  const only = retire === true ? '--retire' : '--keep-traits';
  throw new PostriderError('usage', `${only} cannot be used with ${ignored}; nothing was done`);
}

async function serveMetrics(
  context: Context,
  metrics: MetricsRegistry,
  options: AudienceSyncOptions,
): Promise<OpsServer | undefined> {
  if (options.serveMetrics !== true) return undefined;
  const ops = await startOpsServer({ port: context.settings.opsPort, metrics, ready: () => true });
  context.note(`metrics on ${ops.url}/metrics`);
  return ops;
}

/** Nothing has to be cleaned up, because uncommitted changes have no effect. */
async function failWhenTold(stopping: AbortSignal): Promise<never> {
  await once(stopping, 'abort');
  throw new PostriderError(
    'stopped',
    'stopped early; the next sync continues after the changes that were sent',
  );
}

async function syncAll(
  context: Context,
  audiences: readonly Synced[],
  findNow: FindNow,
  options: AudienceSyncOptions,
  metrics: SyncMetrics,
): Promise<readonly SyncOutcome[]> {
  const outcomes: SyncOutcome[] = [];
  for (const audience of audiences) {
    const outcome = await syncOne(context, audience, findNow, options, metrics);
    outcomes.push(outcome);
    if (outcome.error !== undefined) {
      metrics.failed(audience.id);
      if (audiences.length > 1) context.note(`postrider: ${outcome.error.message}`);
      continue;
    }
    if (!outcome.dryRun) metrics.show(audience.id, outcome.result.record);
    if (!isForPrograms(options)) for (const line of presentSync(outcome)) context.print(line);
  }
  return outcomes;
}

/** By the audience as it is when its turn comes: those before it may take hours. */
async function syncOne(
  context: Context,
  audience: Synced,
  findNow: FindNow,
  options: AudienceSyncOptions,
  metrics: SyncMetrics,
): Promise<SyncOutcome> {
  const { kafka, log } = context;
  const topology = await context.topology();
  let progress: SyncProgress = { stage: 'fencing', done: 0 };
  let sent = 0;
  let read: ReadReport | undefined;
  const status = context.status(() => describeProgress(audience, progress));
  const onProgress = (now: SyncProgress): void => {
    progress = now;
    if (now.stage !== 'sending') return;
    metrics.sent(audience.id, now.done - sent);
    sent = now.done;
  };
  const dryRun = options.dryRun === true;
  const { audienceFilesDir, audienceQueryTimeoutMs: queryTimeoutMs } = context.settings;
  try {
    const filesDir = await realFilesDir(audienceFilesDir);
    const sync = async (): Promise<SyncResult> => {
      const now = await findNow([audience.id]);
      const [target = audience] = now.audiences;
      checkDestination(now, target, options.destination);
      const readNow: ReadCurrent = async (connection, tempFolder) => {
        // Whoever deletes it from here on stops this run.
        await refuseIfChanged(findNow, now, target);
        const [from, rows] =
          target.kind === 'Audience'
            ? ([target.members, 'members'] as const)
            : ([target.values, 'values'] as const);
        read = await readMembers(connection, from, {
          rows,
          folder: filesDir,
          tempFolder,
          queryTimeoutMs,
          nowMs: systemClock.now(),
          allowOld: options.allowOld === true,
        });
      };
      return syncAudience(
        { kafka, topology, clock: systemClock, log, onProgress },
        target,
        syncOptions(context, now, target, options, filesDir),
        readNow,
      );
    };
    const result = await (dryRun ? sync() : aloneWith(context, audience.id, sync));
    return { audience, dryRun, result, read };
  } catch (error) {
    return { audience, dryRun, error: asError(error) };
  } finally {
    status.stop();
  }
}

/** @throws PostriderError `not-found`, `input-invalid` */
async function refuseIfChanged(
  findNow: FindNow,
  before: FoundAudiences,
  { kind, id, source }: Synced,
): Promise<void> {
  const now = await findNow([id]);
  const wereConnected = before.destinationsOf(source);
  const isSame =
    isDeepStrictEqual(now.audiences, before.audiences) &&
    isDeepStrictEqual(now.destinationsOf(source), wereConnected);
  if (!isSame)
    throw new PostriderError(
      'input-invalid',
      `${kind} ${id} or its destinations were changed while its sync began; nothing was sent. Run it again`,
    );
}

function syncOptions(
  { settings }: Context,
  { destinationsOf }: FoundAudiences,
  audience: Synced,
  options: AudienceSyncOptions,
  filesDir: string,
): SyncOptions {
  const limits = { ...defaultLimits, ...audience.limits };
  return {
    filesDir,
    directory: options.checkpointDir ?? settings.audienceCheckpointDir,
    dryRun: options.dryRun === true,
    full: options.full === true ? { destination: options.destination } : undefined,
    connected: destinationsOf(audience.source),
    allowEmpty: options.allowEmpty === true,
    maxRemoved: options.maxRemoved ?? limits.maxRemoved,
    maxChanged: options.maxChanged ?? limits.maxChanged,
    maxAdded: options.maxAdded ?? limits.maxAdded,
    confirmFirst: (users) =>
      options.yes === true ? Promise.resolve() : Promise.reject(unconfirmed(audience, users)),
    changesPerTransaction: fullBatchChanges,
  };
}

function unconfirmed({ kind, id, trait }: Synced, users: number): PostriderError {
  return new PostriderError(
    'input-invalid',
    `${kind} ${id} was never synced: its first sync would send \`${trait}\` for ${users} users; nothing was sent. If that is right, use --yes`,
  );
}

async function showHistory(
  context: Context,
  audiences: readonly Synced[],
  format: OutputFormat,
): Promise<void> {
  const records = await readAudienceRecords(context.kafka, await context.topology());
  const syncsOf = (id: string): readonly SyncEntry[] => records.get(id)?.syncs ?? [];
  const data = (): object => ({
    audiences: audiences.map(({ id }) => ({ id, syncs: syncsOf(id) })),
  });
  const text = (): string =>
    audiences
      .flatMap(({ kind, id }) => [
        ...(audiences.length > 1 ? [`${kind} ${id}:`] : []),
        presentHistory(syncsOf(id)),
      ])
      .join('\n');
  context.print(present(format, data, text));
}

/** @throws PostriderError `input-invalid` if the router would not send to the destination */
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
