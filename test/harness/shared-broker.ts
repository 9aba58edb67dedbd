import { startBroker } from '../../src/dev/broker.ts';
import type { DevBroker } from '../../src/dev/dev-broker.ts';
import { useCompileCache } from './compile-cache.ts';

/** Node's test runner calls these around a whole run: one broker for all files. */

let broker: DevBroker | undefined;

export async function globalSetup(): Promise<void> {
  useCompileCache();
  if (process.env['KAFKA_BROKERS'] !== undefined) return;
  broker = await startBroker();
  process.env['KAFKA_BROKERS'] = broker.brokers.join(',');
}

export async function globalTeardown(): Promise<void> {
  await broker?.stop();
}
