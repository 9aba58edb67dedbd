import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packClient } from '../../src/dev/pack-client.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(root, 'node_modules');
const run = promisify(execFile);

/** A project of somebody who uses the packed client. */
export interface Consumer {
  readonly folder: string;
  readonly tarball: string;
  /** Writes a file into it and returns its path. */
  write(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
}

/** Packs the client, and installs the tarball into a new folder beside links to `others`. */
export async function installPacked(others: readonly string[] = []): Promise<Consumer> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-client-'));
  const packed = await packClient(join(folder, 'packed'));
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder, packed]);
  const tarball = join(folder, stdout.trim());
  const write = async (name: string, text: string): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, text);
    return file;
  };
  await write('package.json', '{ "private": true }');
  const install = ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball];
  await run('npm', install, { cwd: folder });
  for (const name of others) {
    await symlink(join(modules, name), join(folder, 'node_modules', name), 'dir');
  }
  return { folder, tarball, write, remove: () => rm(folder, { recursive: true }) };
}

/** A command of the project's own tools; resolves with what it printed. */
export async function tool(path: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [join(modules, path), ...args], { cwd });
    return stdout;
  } catch (error) {
    throw new Error(String((error as { stdout?: unknown }).stdout), { cause: error });
  }
}

/** This Node.js, and any other that the path leads to. */
export async function nodes(): Promise<string[]> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = folders
    .filter((each) => !each.includes('node_modules'))
    .map((each) => join(each, 'node'));
  const found = new Map([[process.version, process.execPath]]);
  for (const candidate of candidates) {
    const answer = await run(candidate, ['-v']).catch(() => undefined);
    const version = answer?.stdout.trim();
    if (version !== undefined && !found.has(version)) found.set(version, candidate);
  }
  return [...found.values()];
}

/** The examples of the package's README: the code of each by its file name, its first line. */
export async function readmeExamples(): Promise<Map<string, string>> {
  const readme = await readFile(join(root, 'docs/client.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```js\n\/\/ (\S+)\n(.*?)^```$/gms)];
  return new Map(blocks.map(([, name = '', code = '']) => [name, code]));
}

const writeToKafka = `
const analytics = new Analytics('wk_shop', {
  transport: 'kafka',
  kafka: { brokers: [process.argv[2]], topic: process.argv[3] },
  onError: (error) => console.log(error.code, error instanceof AnalyticsError),
});
const id = analytics.track({ userId: 'packed', event: 'E' });
analytics.close().then(() => console.log(id));
`;

/** Each writes one call to the topic that is its second argument, and prints the message id. */
export const kafkaPrograms: Readonly<Record<string, string>> = {
  'kafka.mjs': `import { Analytics, AnalyticsError } from 'postrider-client';${writeToKafka}`,
  'kafka.cjs': `const { Analytics, AnalyticsError } = require('postrider-client');${writeToKafka}`,
};

const outOfFiles = `
const messages = [];
const analytics = new Analytics('wk_shop', {
  transport: 'kafka',
  kafka: { brokers: ['127.0.0.1:1'] },
  onError: ({ message }) => messages.push(message),
});
const open = [];
try {
  for (;;) open.push(openSync(process.argv[1]));
} catch {}
analytics.identify({ userId: 'u' });
analytics.flush().then(() => {
  for (const file of open) closeSync(file);
  analytics.identify({ userId: 'u' });
  analytics.close().then(() => console.log(JSON.stringify(messages)));
});
`;

/** Each loses a call while no file can be opened, another one when that is over, and prints the messages. */
export const outOfFilesPrograms: Readonly<Record<string, string>> = {
  'files.mjs': `import { closeSync, openSync } from 'node:fs';
import { Analytics } from 'postrider-client';${outOfFiles}`,
  'files.cjs': `const { closeSync, openSync } = require('node:fs');
const { Analytics } = require('postrider-client');${outOfFiles}`,
};

/** Writes a call and reads it with kafkajs as the application itself uses it; prints its message id. */
export const readBackProgram = `
import { Analytics } from 'postrider-client';
const [brokers, topic] = [[process.argv[2]], process.argv[3]];
const analytics = new Analytics('wk_shop', { transport: 'kafka', kafka: { brokers, topic } });
const id = analytics.track({ userId: 'packed', event: 'E' });
await analytics.close();
const { default: kafkajs } = await import('kafkajs');
const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING });
const consumer = kafka.consumer({ groupId: topic + '.application', maxWaitTimeInMs: 100 });
await consumer.connect();
await consumer.subscribe({ topic, fromBeginning: true });
await consumer.run({
  eachMessage: async ({ message }) => {
    if (!String(message.value).includes(id)) return;
    console.log(id);
    process.exit();
  },
});
`;
