import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PostriderError } from '../errors.ts';

/** A Kafka broker, or a cluster of them, for development and tests. It ends with this process. */
export interface DevBroker {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Resolves when it ends without being stopped. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const composeFile = fileURLToPath(new URL('../../deploy/compose/kafka.yml', import.meta.url));
/** Not that of docker-compose.yml, whose broker has data that someone keeps. */
const project = 'postrider-dev';

/** A broker without data to keep, for machines with Docker and without Java. */
export async function startComposeBroker(): Promise<DevBroker> {
  const compose = async (...args: string[]): Promise<void> => {
    await promisify(execFile)('docker', [
      'compose',
      '--project-name',
      project,
      '--file',
      composeFile,
      ...args,
    ]);
  };
  await compose('up', '--detach', '--wait', 'kafka').catch((error: unknown) => {
    const reason = (error as Error).message.trim().split('\n').at(-1) ?? '';
    throw new PostriderError(
      'broker-unavailable',
      `docker compose could not start Kafka: ${reason}`,
    );
  });
  return {
    brokers: ['127.0.0.1:9092'],
    // It is the engine's to watch.
    ended: new Promise(() => undefined),
    stop: () => compose('rm', '--stop', '--force', '--volumes', 'kafka'),
  };
}
