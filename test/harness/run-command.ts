import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createContext } from '../../src/cli/context.ts';
import { run } from '../../src/cli/run.ts';
import { compileCache } from './compile-cache.ts';
import { eventually, usualMs } from './eventually.ts';

/** The sources of now. */
export const presentProgram: string = fileURLToPath(
  new URL('../../src/cli/main.ts', import.meta.url),
);

export type Environment = Readonly<Record<string, string>>;

export interface RunningCommand {
  readonly firstLine: string;
  /** All that it has printed so far. */
  readonly stdout: () => string;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

export interface Begun {
  /** Open until it is ended. */
  readonly stdin: NodeJS.WritableStream;
  /** All that it has written so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  kill(signal: NodeJS.Signals): void;
  /** Its code is null after SIGKILL. */
  readonly ended: Promise<Ended>;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The CLI in a process, with this environment and what the run has compiled.
 * @param program that of another release
 */
export function spawnCommand(
  args: readonly string[],
  env: Environment,
  program: string = presentProgram,
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [program, ...args], { env: { ...compileCache(), ...env } });
}

export function beginCommand(args: readonly string[], env: Environment): Begun {
  const child = spawnCommand(args, env);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  return {
    stdin: child.stdin,
    stdout,
    stderr,
    kill: (signal) => {
      child.kill(signal);
    },
    ended: once(child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: stdout(),
      stderr: stderr(),
    })),
  };
}

/** They run until they are told to end, or end at once because of what is wrong. */
const roles = ['gateway', 'router', 'delivery', 'console', 'api'];
/** Commands that take signals or end their process, and one whose library writes to the process's stdout. */
const processes = [...roles, 'dev', 'demo', 'listen', 'completion'];

/** A role that finds nothing wrong is killed, or whoever expects it to end would wait for as long as the run lasts. */
async function runProcess(
  name: string,
  args: readonly string[],
  env: Environment,
  stdin: string,
): Promise<Ended> {
  const begun = beginCommand(args, env);
  begun.stdin.end(stdin);
  if (!roles.includes(name)) return begun.ended;
  const timer = setTimeout(() => {
    begun.kill('SIGKILL');
  }, usualMs);
  return begun.ended.finally(() => {
    clearTimeout(timer);
  });
}

/**
 * Runs it to its end: in this process where that is the same, which takes a tenth of the time, and otherwise, as
 * with options for Node, in one of its own.
 */
export async function runCommand(
  args: readonly string[],
  env: Environment,
  stdin: string = '',
): Promise<Ended> {
  const name = args.find((arg) => !arg.startsWith('-')) ?? '';
  if (processes.includes(name) || 'NODE_OPTIONS' in env) return runProcess(name, args, env, stdin);
  const terminal = { stdin: new PassThrough(), stdout: new Written(), stderr: new Written() };
  terminal.stdin.end(stdin);
  const context = createContext(env, terminal, () => new AbortController().signal);
  const code = await run(args, context);
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

class Written extends Writable {
  text = '';

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: string | Buffer, _: BufferEncoding, written: () => void): void {
    this.text += chunk.toString();
    written();
  }
}

/** Resolves with what it prints first. */
export async function startCommand(
  args: readonly string[],
  env: Environment,
  stdin: string = '',
): Promise<RunningCommand> {
  const child = spawnCommand(args, env);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  child.stdin.end(stdin);
  const firstLine = await eventually(() => {
    failIfEnded(child, stderr());
    const [line, ...rest] = stdout().split('\n');
    if (line === undefined || rest.length === 0) throw new Error(`nothing printed:\n${stderr()}`);
    return line;
  });
  return { firstLine, stdout, kill: killer(child) };
}

export function killer(child: ChildProcess): (signal: NodeJS.Signals) => Promise<number | null> {
  const exited = once(child, 'exit');
  return async (signal) => {
    child.kill(signal);
    const [code] = (await exited) as [number | null];
    return code;
  };
}

export function failIfEnded(child: ChildProcess, log: string): void {
  const end = child.exitCode ?? child.signalCode;
  if (end !== null) throw new Error(`ended with ${end}:\n${log}`);
}

export function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}
