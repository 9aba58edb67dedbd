import { randomBytes } from 'node:crypto';
import { startBroker, startCluster, type DevCluster } from '../../src/dev/broker.ts';
import type { DevBroker } from '../../src/dev/dev-broker.ts';

let own: Promise<DevBroker> | undefined;

/** The run's broker; one of its own for a file that is run alone without `KAFKA_BROKERS`. */
export async function testBroker(): Promise<{ readonly brokers: readonly string[] }> {
  const given = process.env['KAFKA_BROKERS'];
  if (given !== undefined) return { brokers: given.split(',') };
  // Not stopped by anyone: it ends with this process.
  own ??= startBroker();
  return own;
}

/** Three brokers that a test may kill; the caller stops them. */
export async function startBrokers(count: number): Promise<DevCluster> {
  return startCluster(count);
}

/** Keeps the topics and groups of tests that share a broker apart. */
export function testPrefix(): string {
  return `t${randomBytes(5).toString('hex')}.`;
}
