import { once } from 'node:events';
import type { RoleName } from '../../src/topology.ts';
import { testBroker, testPrefix } from './broker.ts';
import { eventually } from './eventually.ts';
import {
  beginCommand,
  collect,
  failIfEnded,
  killer,
  runCommand,
  spawnCommand,
  startCommand,
  type Begun,
  type Ended,
  type Environment,
  type RunningCommand,
} from './run-command.ts';

export type { Begun, Ended } from './run-command.ts';

/** A deployment of its own on the tests' broker, used as an operator does: by commands and processes. */
export interface Installation {
  readonly environment: Environment;
  /** Runs a command to its end. */
  run(args: readonly string[], options?: { stdin?: string; env?: Environment }): Promise<Ended>;
  /** Begins a command that may be told to end before it does. */
  begin(args: readonly string[], env?: Environment): Begun;
  /** Starts a role, of the release whose program is given; resolves once `/readyz` says yes. */
  start(role: RoleName, env?: Environment, program?: string): Promise<RunningRole>;
  /** Starts a command that runs until it is told to end; resolves with what it prints first. */
  startCommand(args: readonly string[], options?: { stdin?: string }): Promise<RunningCommand>;
}

export interface RunningRole {
  readonly pid: number;
  /** Of its ops server. */
  readonly url: string;
  /** Empty for a role that is no gateway. */
  readonly gatewayUrl: string;
  /** Empty for a role that is no console. */
  readonly consoleUrl: string;
  readonly apiUrl: string;
  readonly log: () => string;
  /** Resolves when it has ended, however it did; null: by a signal. */
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
  /** It keeps its connections and does nothing, until it is killed or resumed. */
  hang(): void;
  /** It goes on where it hung. */
  resume(): void;
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
    DELETION_DELAY: '5s',
    GATEWAY_PORT: '0',
    OPS_PORT: '0',
    CONSOLE_PORT: '0',
    API_PORT: '0',
    SECRET_KEY: Buffer.alloc(32, 3).toString('base64'),
    DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
    LOG_FORMAT: 'json',
    ...env,
  };
  const installation: Installation = {
    environment,
    run: (args, options = {}) =>
      runCommand(args, { ...environment, ...options.env }, options.stdin ?? ''),
    begin: (args, env = {}) => beginCommand(args, { ...environment, ...env }),
    start: (role, more = {}, program) => startRole(role, { ...environment, ...more }, program),
    startCommand: (args, { stdin = '' } = {}) => startCommand(args, environment, stdin),
  };
  return installation;
}

async function startRole(role: string, env: Environment, program?: string): Promise<RunningRole> {
  const child = spawnCommand([role], env, program);
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  child.stdout.resume();
  const log = collect(child.stderr);
  const untilReady = async (): Promise<string> => {
    const ops = await eventually(() => {
      failIfEnded(child, log());
      const found = /"ops":"([^"]+)"/.exec(log())?.[1];
      if (found === undefined) throw new Error(`${role} has not started:\n${log()}`);
      return found;
    });
    await eventually(async () => {
      failIfEnded(child, log());
      const { ok } = await fetch(`${ops}/readyz`);
      if (!ok) throw new Error(`${role} is not ready:\n${log()}`);
    });
    return ops;
  };
  const url = await untilReady().catch((error: unknown) => {
    // Nobody else could end it.
    child.kill('SIGKILL');
    throw error;
  });
  const gatewayUrl = /"gateway":"([^"]+)"/.exec(log())?.[1] ?? '';
  const consoleUrl = /"console":"([^"]+)"/.exec(log())?.[1] ?? '';
  const apiUrl = /"api":"([^"]+)"/.exec(log())?.[1] ?? '';
  return {
    pid: child.pid ?? NaN,
    url,
    gatewayUrl,
    consoleUrl,
    apiUrl,
    log,
    ended,
    kill: killer(child),
    hang: () => {
      child.kill('SIGSTOP');
    },
    resume: () => {
      child.kill('SIGCONT');
    },
  };
}
