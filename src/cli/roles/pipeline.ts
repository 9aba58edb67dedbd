import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startBroker } from '../../dev/broker.ts';
import { requireDataDir } from '../../dev/data-dir.ts';
import type { DevBroker } from '../../dev/dev-broker.ts';
import { ensureTopics } from '../../kafka/admin.ts';
import type { ParsedFile } from '../../resources/apply/document.ts';
import { requireFreePorts } from '../../ops/listen.ts';
import { describeChosenSettings } from '../../settings/read.ts';
import type { Settings } from '../../settings/table.ts';
import type { ResourceName } from '../../resources/config/stored.ts';
import { answerGiveUpMs, type Context } from '../context.ts';
import { applyFiles } from '../resources/plan-files.ts';
import type { RunningRoles } from './start-roles.ts';

const loopback = ['127.0.0.0/8', '::1/128'];
const lookAgainMs = 20;
/** Usual time until roles get their partitions, if no other members are in the groups. */
const usualMs = 3_000;
const waitingForGroups =
  'waiting for the consumer groups: Kafka takes 10 s to remove members that were killed';

export interface PipelineOptions {
  /**
   * Keeps the broker's data and port, and the secret key, and names the broker. Without it, all are
   * temporary.
   */
  readonly dataDir?: string | undefined;
  readonly resources?: ParsedFile | undefined;
  /** Settings that the command decides instead of the environment. */
  readonly decided?: Partial<Settings>;
}

/**
 * The whole pipeline on one machine: a broker unless one is given, topics, resources, and all roles, which
 * have joined their groups.
 */
export interface Pipeline {
  /** The context with the brokers, keys and networks that were decided here. */
  readonly context: Context;
  readonly brokers: readonly string[];
  /** The resources of the files, including unchanged ones. */
  readonly applied: readonly ResourceName[];
  readonly roles: RunningRoles;
  /** Resolves when the broker that was started here ends unexpectedly. */
  readonly brokerEnded: Promise<void>;
  stop(): Promise<void>;
}

export async function startPipeline(given: Context, options: PipelineOptions): Promise<Pipeline> {
  const { settings } = given;
  const { dataDir } = options;
  if (dataDir !== undefined) await requireDataDir(dataDir);
  const { gatewayPort, opsPort, consolePort, apiPort } = { ...settings, ...options.decided };
  await requireFreePorts({
    GATEWAY_PORT: gatewayPort,
    OPS_PORT: opsPort,
    CONSOLE_PORT: consolePort,
    API_PORT: apiPort,
  });
  const broker = settings.kafkaBrokers === undefined ? await ownBroker(given, dataDir) : undefined;
  const brokers = settings.kafkaBrokers ?? broker?.brokers ?? [];
  try {
    const context = given.with({
      kafkaBrokers: brokers,
      secretKey: settings.secretKey ?? (await keptKey(dataDir)),
      deliveryAllowNetworks: settings.deliveryAllowNetworks ?? loopback,
      consoleDataDir: await consoleFolder(settings.consoleDataDir, dataDir),
      ...options.decided,
    });
    await context.reachKafka(answerGiveUpMs);
    if (dataDir !== undefined) await writeFile(join(dataDir, 'brokers'), `${brokers.join(',')}\n`);
    const { all } = await context.topology();
    await ensureTopics(context.kafka, all);
    const { resources } = options;
    const applied = resources === undefined ? [] : await applyFiles(context, resources);
    const { startRoles } = await import('./start-roles.ts');
    const names = ['gateway', 'router', 'delivery', 'api', 'console'] as const;
    const roles = await startRoles(context, names, describeChosenSettings);
    await untilReady(context, roles);
    const stop = async (): Promise<void> => {
      await roles.stop();
      await broker?.stop();
    };
    const brokerEnded = broker?.ended ?? new Promise<void>(() => undefined);
    return { context, brokers, applied, roles, brokerEnded, stop };
  } catch (error) {
    await broker?.stop();
    throw error;
  }
}

async function ownBroker(context: Context, dataDir: string | undefined): Promise<DevBroker> {
  // Not to the log, which the demo has none of.
  const onNote = (text: string): void => {
    context.note(text);
  };
  if (dataDir === undefined) return startBroker({ onNote });
  return startBroker({ dataDir: join(dataDir, 'kafka'), onNote });
}

/**
 * The folder of the console's index: the one that is set, beside the broker's data, or one for this
 * process alone.
 */
async function consoleFolder(
  chosen: string | undefined,
  dataDir: string | undefined,
): Promise<string> {
  const kept = chosen ?? (dataDir === undefined ? undefined : join(dataDir, 'console'));
  if (kept !== undefined) return kept;
  const dir = await mkdtemp(join(tmpdir(), 'postrider-console-'));
  // Runs however the process ends.
  process.once('exit', () => {
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

async function untilReady({ log }: Context, roles: RunningRoles): Promise<void> {
  const said = setTimeout(() => {
    log.info({}, waitingForGroups);
  }, usualMs);
  while (!roles.ready()) await delay(lookAgainMs);
  clearTimeout(said);
}

/** The key that encrypts secrets, kept beside the data that it belongs to. */
async function keptKey(dataDir: string | undefined): Promise<Buffer> {
  const made = randomBytes(32);
  if (dataDir === undefined) return made;
  const file = join(dataDir, 'secret-key');
  const isNew = await writeFile(file, `${made.toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
    .then(() => true)
    .catch(() => false);
  return isNew ? made : Buffer.from(await readFile(file, 'utf8'), 'base64');
}
