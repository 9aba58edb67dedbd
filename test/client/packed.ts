import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findProgram, programs } from '../harness/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(root, 'node_modules');
const run = promisify(execFile);

/** What npm says of the package. */
interface Packed {
  readonly filename: string;
  /** Bytes of the file, and of what is in it. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

/** A project of somebody who uses the packed client. */
export interface Consumer {
  readonly folder: string;
  readonly tarball: string;
  readonly packed: Packed;
  /** Writes a file into it and returns its path. */
  write(name: string, text: string): Promise<string>;
  /** Makes a package of this project's known to it. */
  link(name: string): Promise<void>;
  remove(): Promise<void>;
}

/** Packs the client as its README says, and installs the tarball into a new folder beside links to `others`. */
export async function installPacked(others: readonly string[] = []): Promise<Consumer> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-client-'));
  const pack = ['pack', '--workspace', 'postrider-client', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', pack, { cwd: root, env: cleanEnvironment() });
  const packed = packedOf(stdout);
  const tarball = join(folder, packed.filename);
  const write = async (name: string, text: string): Promise<string> => {
    const file = join(folder, name);
    await writeFile(file, text);
    return file;
  };
  await write('package.json', '{ "private": true }');
  const install = ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball];
  await run('npm', install, { cwd: folder });
  const link = async (name: string): Promise<void> => {
    const path = join(folder, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(join(modules, name), path, 'dir');
  };
  for (const name of others) await link(name);
  return { folder, tarball, packed, write, link, remove: () => rm(folder, { recursive: true }) };
}

/** Without what `npm test` tells npm by its variables, and with the Node.js that runs this. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'));
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  return { ...Object.fromEntries(own), PATH: path };
}

/** What the build prints stands before it. */
function packedOf(stdout: string): Packed {
  const json: unknown = JSON.parse(stdout.slice(stdout.search(/^[[{]$/m)));
  // A list of packages, or from npm 12 on an object with their names.
  const [packed] = Object.values(json as Record<string, Packed>);
  if (packed === undefined) throw new Error(`nothing was packed: ${stdout}`);
  return packed;
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

/** This Node.js, any other that the path leads to, and those that checks have installed. */
export async function nodes(): Promise<string[]> {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = folders
    .filter((each) => !each.includes('node_modules'))
    .map((each) => join(each, 'node'))
    .concat(findProgram(programs.node22) ?? []);
  const found = new Map([[process.version, process.execPath]]);
  for (const candidate of candidates) {
    const answer = await run(candidate, ['-v']).catch(() => undefined);
    const version = answer?.stdout.trim();
    if (version !== undefined && !found.has(version)) found.set(version, candidate);
  }
  return [...found.values()];
}

/** The examples of the package's README, or of another page: the code of each by its file name, its first line. */
export async function readmeExamples(
  page: string = 'src/client/README.md',
): Promise<Map<string, string>> {
  const readme = await readFile(join(root, page), 'utf8');
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
analytics.close().then(() => console.log(id), ({ lost }) => console.log(lost));
`;

/** Each writes one call to the topic that is its second argument, and prints the message id. */
export const kafkaPrograms: Readonly<Record<string, string>> = {
  'kafka.mjs': `import { Analytics, AnalyticsError } from 'postrider-client';${writeToKafka}`,
  'kafka.cjs': `const { Analytics, AnalyticsError } = require('postrider-client');${writeToKafka}`,
};

const outOfFiles = `
process.env.DEBUG = 'analytics';
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
analytics.flush().catch(() => console.log(JSON.stringify(messages)));
process.stderr.write = (line) => {
  if (!line.includes('again in')) return;
  messages.push(line);
  for (const file of open.splice(0)) closeSync(file);
};
`;

/** Each makes a call while no file can be opened until an attempt has failed, and prints what is said of it. */
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
