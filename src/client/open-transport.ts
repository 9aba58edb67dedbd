import type { DebugLog } from './warnings.ts';
import { HttpTransport } from './http-transport.ts';
import type { KafkaSettings, ProducingTransport } from './kafka.ts';
import type { Options } from './options.ts';
import { refusedAll, type Transport } from './transport.ts';

export function openTransport(
  options: Options['transport'],
  writeKey: string,
  debug: DebugLog | undefined,
): Transport {
  return options.kind === 'http'
    ? new HttpTransport({ url: options.url, writeKey })
    : kafkaWhenNeeded({ ...options.kafka, writeKey, debug });
}

/** Loads kafkajs only for the Kafka transport. */
function kafkaWhenNeeded(settings: KafkaSettings): Transport {
  let loading: Promise<ProducingTransport> | undefined;
  const load = async (): Promise<ProducingTransport> => {
    try {
      const { openKafka } = await import('./kafka.ts');
      return await openKafka(settings);
    } catch (error) {
      loading = undefined;
      throw error;
    }
  };
  return {
    // Each may be a batch of a single call, because the producer makes its own batches.
    maxInFlight: 1_000,
    send: async (calls) => {
      try {
        loading ??= load();
        return await (await loading).send(calls);
      } catch (cause) {
        const message = `The transport 'kafka' ${whyNot(cause)}`;
        if (isPassing(cause)) return { outcome: 'again', reason: message, waitMs: undefined };
        return refusedAll(calls, { code: 'no-kafkajs', message, cause });
      }
    },
    close: async () => {
      const connection = await loading?.catch(() => undefined);
      await connection?.close();
    },
  };
}

/**
 * Errors of a machine, process or network file system that passes. Only then is another try worth
 * it.
 */
const passing: ReadonlySet<unknown> = new Set([
  ...['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'],
  ...['EBUSY', 'EIO', 'ESTALE', 'ETIMEDOUT'],
]);

function isPassing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && passing.has(cause.code);
}

/** Node's message about a missing package contains a line with the path of each requiring file. */
function whyNot(cause: unknown): string {
  if (isAbsent('kafkajs', cause)) return needs('kafkajs', 'kafkajs@2.2.4');
  if (isAbsent(registryPackage, cause)) return `with a registry ${needs(registryPackage)}`;
  return `could not be loaded (when bundling, keep postrider-client and kafkajs external): ${String(cause)}`;
}

const registryPackage = '@kafkajs/confluent-schema-registry';

function needs(name: string, toInstall: string = name): string {
  return `needs the package ${name}, which is not installed: npm install ${toInstall}`;
}

function isAbsent(name: string, cause: unknown): boolean {
  if (!(cause instanceof Error && 'code' in cause)) return false;
  return cause.code === 'MODULE_NOT_FOUND' && cause.message.includes(`'${name}'`);
}
