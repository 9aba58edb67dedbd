import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { access, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brokerProperties, log4jProperties } from './broker-config.ts';
import { freePorts } from './broker-ports.ts';
import { startJava, waitForPort } from './broker-process.ts';

/**
 * Files that the first broker on a machine leaves for all later ones, which then start in half the time: the records
 * that Kafka's own tool writes into the folder of every new node, and the classes that the JVM has loaded.
 */
export interface PreparedStart {
  /** The file that every new node begins with. It names neither cluster nor node. */
  readonly checkpointFile: string;
  /** The JVM ignores it where it does not fit, and starts as slowly as without it. */
  readonly archiveFile: string;
}

export const smallJvm: readonly string[] = [
  '-Xmx384m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
];
const checkpoint = 'bootstrap.checkpoint';
/** Writing the archive takes the JVM some seconds at its end, and more on a busy machine. */
const archivePatienceS = 120;

/**
 * Kept beside the jars, for each version of Java.
 * @param onFirst told that this takes some seconds
 */
export async function preparedStart(
  jarsDir: string,
  onFirst: () => void = () => undefined,
): Promise<PreparedStart> {
  const { stderr } = await promisify(execFile)('java', ['-version']);
  const version = createHash('sha256').update(stderr).digest('hex').slice(0, 8);
  const folder = join(jarsDir, `start-${version}`);
  if (!(await exists(folder))) {
    onFirst();
    const workDir = await mkdtemp(join(jarsDir, 'preparing-'));
    // Where this fails, the folder stays for its log.
    await prepare(jarsDir, workDir);
    // Another process may have been faster; its folder is as good as ours.
    await rename(join(workDir, 'start'), folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
    await rm(workDir, { recursive: true, force: true });
  }
  return { checkpointFile: join(folder, checkpoint), archiveFile: join(folder, 'classes.jsa') };
}

/** Formats one node, and runs its broker once. */
async function prepare(jarsDir: string, workDir: string): Promise<void> {
  const ports = await freePorts(1, []);
  const dataDir = join(workDir, 'data');
  const startDir = join(workDir, 'start');
  const propertiesFile = join(workDir, 'server.properties');
  const log4jFile = join(workDir, 'log4j2.properties');
  await mkdir(startDir);
  await writeFile(propertiesFile, brokerProperties({ nodeId: 1, ports, dataDir }));
  await writeFile(log4jFile, log4jProperties());
  const jvmOptions = [...smallJvm, `-Dlog4j2.configurationFile=${log4jFile}`];
  const logFile = join(workDir, 'kafka.log');
  const java = { jarsDir, logFile, temporaryDir: workDir };
  const format = await startJava({
    ...java,
    jvmOptions,
    mainClass: 'kafka.tools.StorageTool',
    args: ['format', `--cluster-id=${newId()}`, '-c', propertiesFile],
  });
  await format.exited;
  await copyFile(join(dataDir, checkpoint), join(startDir, checkpoint));
  const broker = await startJava({
    ...java,
    jvmOptions: [...jvmOptions, `-XX:ArchiveClassesAtExit=${join(startDir, 'classes.jsa')}`],
    mainClass: 'kafka.Kafka',
    args: [propertiesFile],
    patienceS: archivePatienceS,
  });
  await waitForPort(ports[0]?.client ?? 0, broker, logFile);
  await broker.stop('SIGTERM');
}

/** Makes the folder of a new node as Kafka's own tool does, without the JVM; one that has data stays as it is. */
export async function formatNode(
  dataDir: string,
  { checkpointFile }: PreparedStart,
  { clusterId, nodeId }: { readonly clusterId: string; readonly nodeId: number },
): Promise<void> {
  const metaFile = join(dataDir, 'meta.properties');
  if (await exists(metaFile)) return;
  await mkdir(dataDir, { recursive: true });
  await copyFile(checkpointFile, join(dataDir, checkpoint));
  const meta = { version: 1, 'cluster.id': clusterId, 'node.id': nodeId, 'directory.id': newId() };
  const lines = Object.entries(meta).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(metaFile, lines.join(''));
}

/** Kafka's form of a UUID. */
export function newId(): string {
  return randomBytes(16).toString('base64url');
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
