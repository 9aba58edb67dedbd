import { setTimeout as delay } from 'node:timers/promises';
import type { RunningRole } from '../../harness/postrider.ts';

/** A process that is started again whenever it ends, as an orchestrator does. */
export interface SupervisedRole {
  readonly name: string;
  /** Undefined while it is being started. */
  readonly running: RunningRole | undefined;
  /** How it ended by itself, each time, with its last lines. */
  readonly crashes: readonly string[];
  kill(): void;
  stop(): Promise<void>;
}

const againMs = 500;
const lastLines = 5;

/** Resolves when it is ready for the first time. */
export async function superviseRole(
  name: string,
  start: () => Promise<RunningRole>,
): Promise<SupervisedRole> {
  const crashes: string[] = [];
  let running: RunningRole | undefined = await start();
  let isStopped = false;
  let isKilled = false;

  const startAgain = async (): Promise<RunningRole | undefined> => {
    while (!isStopped) {
      await delay(againMs);
      try {
        return await start();
      } catch (error) {
        // It was not ready in time: while Kafka is away no role is.
        if (/^ended with/.test((error as Error).message)) crashes.push(String(error));
      }
    }
    return undefined;
  };
  const isOver = (): boolean => isStopped;
  const watch = async (): Promise<void> => {
    while (running !== undefined) {
      const code = await running.ended;
      if (isOver()) return;
      if (!isKilled) {
        const lines = running.log().trimEnd().split('\n').slice(-lastLines);
        crashes.push(`${name} ended with ${code ?? 'a signal'}:\n${lines.join('\n')}`);
      }
      isKilled = false;
      running = undefined;
      running = await startAgain();
    }
  };
  const watching = watch();
  return {
    name,
    get running() {
      return running;
    },
    crashes,
    kill: () => {
      isKilled = running !== undefined;
      void running?.kill('SIGKILL');
    },
    stop: async () => {
      isStopped = true;
      await running?.kill('SIGKILL');
      await watching;
      // It may have become ready meanwhile.
      await running?.kill('SIGKILL');
    },
  };
}
