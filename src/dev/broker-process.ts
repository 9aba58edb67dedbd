import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { PostriderError } from '../errors.ts';

/**
 * Runs the JVM until our end of the pipe on stdin closes, which also happens when this process is killed.
 * A shell is between, because a JVM does not notice that its parent is gone. First politely, so that
 * kept data is clean, then not. A folder that is only for this run goes with it, unless a last word comes
 * through the pipe, but stays for its log where the JVM ended first.
 */
const guardScript = `exec 3<&0
temporary=$1
patience=$2
shift 2
"$@" 3<&- </dev/null &
jvm=$!
{
  last_word=$(cat <&3)
  kill -TERM $jvm || exit
  while [ $patience -gt 0 ]; do sleep 1; kill -0 $jvm || break; patience=$((patience - 1)); done
  kill -KILL $jvm
  [ -z "$temporary" ] || [ -n "$last_word" ] || rm -rf "$temporary"
} 2>/dev/null &
exec 3<&-
wait $jvm`;

const usualPatienceS = 10;

export interface BrokerProcess {
  readonly exited: Promise<void>;
  /** Ends it and waits: `SIGTERM` shuts down cleanly, `SIGKILL` is a crash. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** It keeps its connections and answers nothing, until it is stopped or resumed. */
  hang(): void;
  /** It goes on where it hung. */
  resume(): void;
  /** Lets this process end although the other one runs (and then ends too). */
  unref(): void;
}

export interface JavaCommand {
  readonly jarsDir: string;
  readonly jvmOptions?: readonly string[];
  readonly mainClass: string;
  readonly args: readonly string[];
  /** Takes all that it prints. */
  readonly logFile: string;
  /** Removed if this process ends, however it does, while the program runs. */
  readonly temporaryDir?: string | undefined;
  /** The time in which the broker may end before it is killed. */
  readonly patienceS?: number;
}

/** Starts a Java program that ends with this process. */
export async function startJava(command: JavaCommand): Promise<BrokerProcess> {
  const { temporaryDir = '', patienceS = usualPatienceS } = command;
  const logFile = await open(command.logFile, 'a');
  const java = [
    'java',
    ...(command.jvmOptions ?? []),
    '-cp',
    `${command.jarsDir}/*`,
    command.mainClass,
    ...command.args,
  ];
  // A group of its own: Ctrl-C in the terminal must reach us first, so that roles can still commit.
  const guard = spawn('sh', ['-c', guardScript, 'sh', temporaryDir, String(patienceS), ...java], {
    stdio: ['pipe', logFile.fd, logFile.fd],
    detached: true,
  });
  await once(guard, 'spawn');
  await logFile.close();
  const exited = once(guard, 'exit').then(() => undefined);
  // The guard may have ended by itself; the pipe only says that we live.
  guard.stdin?.on('error', () => undefined);
  return {
    exited,
    stop: async (signal) => {
      if (guard.exitCode !== null || guard.signalCode !== null) return;
      if (signal === 'SIGTERM' || guard.pid === undefined) guard.stdin?.end('stopped');
      else process.kill(-guard.pid, 'SIGKILL');
      guard.ref();
      await exited;
    },
    hang: () => {
      if (guard.pid !== undefined) process.kill(-guard.pid, 'SIGSTOP');
    },
    resume: () => {
      if (guard.pid !== undefined) process.kill(-guard.pid, 'SIGCONT');
    },
    unref: () => {
      guard.unref();
      (guard.stdin as Socket | null)?.unref();
    },
  };
}

/**
 * Resolves once something listens on the port.
 * @throws PostriderError `broker-unavailable` when the process ends first or `timeoutMs` pass, which ends it.
 */
export async function waitForPort(
  port: number,
  process: BrokerProcess,
  logFile: string,
  timeoutMs: number = 60_000,
): Promise<void> {
  const ended = process.exited.then(() => 'ended while starting');
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await listens(port))) {
    const what =
      Date.now() > giveUpAt
        ? `did not start within ${timeoutMs / 1000} s`
        : await Promise.race([ended, delay(50)]);
    if (what !== undefined) {
      // With its guard, so that the log stays.
      await process.stop('SIGKILL');
      throw new PostriderError(
        'broker-unavailable',
        `The Kafka broker ${what}; its log: ${logFile}`,
      );
    }
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
