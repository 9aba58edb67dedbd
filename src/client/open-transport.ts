import type { DebugLog } from './debug.ts';
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

/** Nobody who sends over HTTP loads kafkajs. */
function kafkaWhenNeeded(settings: KafkaSettings): Transport {
  let loading: Promise<ProducingTransport> | undefined;
  const load = async (): Promise<ProducingTransport> => {
    const { openKafka } = await import('./kafka.ts');
    return openKafka(settings);
  };
  return {
    // Each may be a batch of a single call; the producer makes its own batches of them.
    maxInFlight: 1_000,
    send: async (calls) => {
      try {
        loading ??= load();
        return await (await loading).send(calls);
      } catch (cause) {
        const message = `The transport 'kafka' needs the package kafkajs: ${String(cause)}`;
        return refusedAll(calls, { code: 'no-kafkajs', message, cause });
      }
    },
    close: async () => {
      const connection = await loading?.catch(() => undefined);
      await connection?.close();
    },
  };
}
