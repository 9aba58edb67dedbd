import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startBroker } from '../dev/broker.ts';
import type { DevBroker } from '../dev/dev-broker.ts';
import { ensureTopics } from '../kafka/admin.ts';
import type { ParsedFile } from '../resources/apply/document.ts';
import type { Settings } from '../settings/table.ts';
import { applyFiles } from './apply.ts';
import { answerGiveUpMs, type Context } from './context.ts';
import type { RunningRoles } from './roles.ts';

const loopback = ['127.0.0.0/8', '::1/128'];
const lookAgainMs = 20;

export interface PipelineOptions {
  /** Keeps the broker's data and the secret key; without it, both are temporary. */
  readonly dataDir?: string | undefined;
  readonly resources?: ParsedFile | undefined;
  /** What the command decides instead of the environment. */
  readonly decided?: Partial<Settings>;
}

/** Everything on one machine: a broker unless one is given, topics, resources, all roles, which have joined their groups. */
export interface Pipeline {
  /** With the brokers, keys and networks that were decided here. */
  readonly context: Context;
  readonly brokers: readonly string[];
  readonly roles: RunningRoles;
  /** Resolves when the broker that was started here ends by itself. */
  readonly brokerEnded: Promise<void>;
  stop(): Promise<void>;
}

export async function startPipeline(given: Context, options: PipelineOptions): Promise<Pipeline> {
  const { settings } = given;
  const { dataDir } = options;
  const broker = settings.kafkaBrokers === undefined ? await ownBroker(dataDir) : undefined;
  const brokers = settings.kafkaBrokers ?? broker?.brokers ?? [];
  try {
    const context = given.with({
      kafkaBrokers: brokers,
      secretKey: settings.secretKey ?? (await keptKey(dataDir)),
      deliveryAllowNetworks: settings.deliveryAllowNetworks ?? loopback,
      ...options.decided,
    });
    await context.reachKafka(answerGiveUpMs);
    const { all } = await context.topology();
    await ensureTopics(context.kafka, all);
    if (options.resources !== undefined) await applyFiles(context, options.resources);
    const { startRoles } = await import('./roles.ts');
    const roles = await startRoles(context, ['gateway', 'router', 'delivery']);
    while (!roles.ready()) await delay(lookAgainMs);
    const stop = async (): Promise<void> => {
      await roles.stop();
      await broker?.stop();
    };
    const brokerEnded = broker?.ended ?? new Promise<void>(() => undefined);
    return { context, brokers, roles, brokerEnded, stop };
  } catch (error) {
    await broker?.stop();
    throw error;
  }
}

async function ownBroker(dataDir: string | undefined): Promise<DevBroker> {
  return startBroker(dataDir === undefined ? {} : { dataDir: join(dataDir, 'kafka') });
}

/** The key that encrypts secrets, kept beside the data that it belongs to. */
async function keptKey(dataDir: string | undefined): Promise<Buffer> {
  const made = randomBytes(32);
  if (dataDir === undefined) return made;
  await mkdir(dataDir, { recursive: true });
  const file = join(dataDir, 'secret-key');
  const isNew = await writeFile(file, `${made.toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
    .then(() => true)
    .catch(() => false);
  return isNew ? made : Buffer.from(await readFile(file, 'utf8'), 'base64');
}
