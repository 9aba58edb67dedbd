import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PostriderError } from '../errors.ts';
import type { DevBroker } from './dev-broker.ts';

const composeFile = fileURLToPath(new URL('../../docker-compose.yml', import.meta.url));

/** The broker of `docker-compose.yml`, for machines with Docker and without Java. */
export async function startComposeBroker(): Promise<DevBroker> {
  const compose = async (...args: string[]): Promise<void> => {
    await promisify(execFile)('docker', ['compose', '-f', composeFile, ...args]);
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
