import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { testBroker, testPrefix } from './broker.ts';
import { eventually } from './eventually.ts';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

type Environment = Readonly<Record<string, string>>;

/** A deployment of its own on the tests' broker, used as an operator does: by commands and processes. */
export interface Installation {
  readonly environment: Environment;
  /** Runs a command to its end. */
  run(args: readonly string[], options?: { stdin?: string; env?: Environment }): Promise<Ended>;
  /** Starts a role; resolves once `/readyz` says yes. */
  start(role: 'router' | 'delivery', env?: Environment): Promise<RunningRole>;
  /** Starts a command that runs until it is told to end; resolves with what it prints first. */
  startCommand(args: readonly string[], options?: { stdin?: string }): Promise<RunningCommand>;
}

export interface RunningCommand {
  readonly firstLine: string;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningRole {
  /** Of its ops server. */
  readonly url: string;
  readonly log: () => string;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export async function install(env: Environment = {}): Promise<Installation> {
  const { brokers } = await testBroker();
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: testPrefix(),
    TOPIC_PARTITIONS: '3',
    TOPIC_REPLICATION_FACTOR: '1',
    RETRY_TIERS: '500ms,1s',
    OPS_PORT: '0',
    SECRET_KEY: Buffer.alloc(32, 3).toString('base64'),
    DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
    LOG_FORMAT: 'json',
    ...env,
  };
  const installation: Installation = {
    environment,
    run: (args, options = {}) =>
      runToEnd(args, { ...environment, ...options.env }, options.stdin ?? ''),
    start: (role, more = {}) => startRole(role, { ...environment, ...more }),
    startCommand: (args, { stdin = '' } = {}) => startCommand(args, environment, stdin),
  };
  return installation;
}

async function runToEnd(args: readonly string[], env: Environment, stdin: string): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...args], { env });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.end(stdin);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout: stdout(), stderr: stderr() };
}

async function startCommand(
  args: readonly string[],
  env: Environment,
  stdin: string,
): Promise<RunningCommand> {
  const child = spawn(process.execPath, [main, ...args], { env });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.end(stdin);
  const firstLine = await eventually(() => {
    failIfEnded(child, stderr());
    const [line, ...rest] = stdout().split('\n');
    if (line === undefined || rest.length === 0) throw new Error(`nothing printed:\n${stderr()}`);
    return line;
  });
  return { firstLine, kill: killer(child) };
}

function killer(child: ChildProcess): (signal: NodeJS.Signals) => Promise<number | null> {
  const exited = once(child, 'exit');
  return async (signal) => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
}

async function startRole(role: string, env: Environment): Promise<RunningRole> {
  const child = spawn(process.execPath, [main, role], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const log = collect(child.stderr);
  const url = await eventually(() => {
    failIfEnded(child, log());
    const found = /"ops":"([^"]+)"/.exec(log())?.[1];
    if (found === undefined) throw new Error(`${role} has not started:\n${log()}`);
    return found;
  });
  await eventually(async () => {
    failIfEnded(child, log());
    const { ok } = await fetch(`${url}/readyz`);
    if (!ok) throw new Error(`${role} is not ready:\n${log()}`);
  });
  return { url, log, kill: killer(child) };
}

function failIfEnded(child: ChildProcess, log: string): void {
  if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}:\n${log}`);
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
