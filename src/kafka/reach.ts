import { PostriderError } from '../errors.ts';
import { silentLogger } from '../ops/log.ts';
import { waitUnlessAborted } from '../ops/wait.ts';
import { adminError } from './admin-error.ts';
import { createBareKafka, type KafkaClient, type KafkaOptions } from './bare-client.ts';
import { findConnectionProblem, type ConnectionProblem } from './connection-problem.ts';

export interface ReachOptions {
  /** Undefined: never. */
  readonly giveUpMs?: number | undefined;
  /** Once it takes longer than somebody expects who waits, and every now and then from there on. */
  readonly onWaiting: (text: string) => void;
  /** For what waiting does not mend: a sentence that names what to look at. */
  readonly explain: (problem: ConnectionProblem) => string;
}

const firstWordMs = 1_000;
const nextWordMs = 10_000;
const tryAgainMs = 500;

/**
 * Resolves when a broker has answered a question that it answers only to whom it lets in, in the version that
 * readers and producers ask it in.
 * @throws PostriderError `kafka-unavailable` after `giveUpMs`; at once what waiting does not mend,
 * `setting-invalid` where it is about certificates and logins, `kafka-refused` for a broker that is too old
 */
export async function reachKafka(kafka: KafkaOptions, options: ReachOptions): Promise<void> {
  const { giveUpMs, onWaiting, explain } = options;
  const client = createBareKafka(kafka, silentLogger);
  const stop = new AbortController();
  let reason = 'Kafka cannot be reached: no broker has answered yet';
  const attempts = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await askOnce(client);
        return;
      } catch (error) {
        const problem = await findConnectionProblem(error, kafka);
        if (problem !== undefined) {
          throw new PostriderError('setting-invalid', explain(problem), { cause: error });
        }
        if (!(error instanceof PostriderError && error.retry)) throw error;
        reason = error.message;
      }
      await waitUnlessAborted(tryAgainMs, stop.signal);
    }
  };
  const words = async (): Promise<void> => {
    for (let waitMs = firstWordMs; ; waitMs = nextWordMs) {
      await waitUnlessAborted(waitMs, stop.signal);
      if (stop.signal.aborted) return;
      onWaiting(`${reason}; trying again`);
    }
  };
  const giveUp = async (afterMs: number): Promise<void> => {
    await waitUnlessAborted(afterMs, stop.signal);
    if (!stop.signal.aborted) throw new PostriderError('kafka-unavailable', reason);
  };
  try {
    void words();
    await Promise.race(giveUpMs === undefined ? [attempts()] : [attempts(), giveUp(giveUpMs)]);
  } finally {
    stop.abort();
  }
}

/** Without retries, so that the reason of every failure is known at once. */
async function askOnce(client: KafkaClient): Promise<void> {
  const cluster = client.openCluster();
  try {
    await cluster.refresh([]);
  } catch (error) {
    throw adminError(error);
  } finally {
    cluster.close();
  }
}
