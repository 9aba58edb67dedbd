import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import type { Logger } from '../ops/log.ts';
import { writeKeyHeader } from '../event/headers.ts';
import { createProducer, type Producer } from '../kafka/produce/producer.ts';
import { createProducingClient } from '../kafka/producing-client.ts';
import { systemClock } from './clock.ts';
import { type DebugLog, OutageWarner, warn } from './warnings.ts';
import type { EncodedCall } from './encode-call.ts';
import type { KafkaTransportOptions } from './kafka-options.ts';
import { PublishedSchema } from './published-schema.ts';
import type { Refusal, SendResult, Transport } from './transport.ts';

export interface KafkaSettings extends KafkaTransportOptions {
  readonly writeKey: string;
  readonly debug: DebugLog | undefined;
}

export type ProducingTransport = Pick<Transport, 'send' | 'close'>;

/** Returns at once; the connection is made in the background. */
export function openKafka(settings: KafkaSettings): Promise<ProducingTransport> {
  return Promise.resolve(new KafkaConnection(settings));
}

/**
 * The longest time for closing a producer. Its records are settled, or given up. A producer that
 * hangs, or still connects, ends when kafkajs gives it up.
 */
const disconnectTimeoutMs = 1_000;

/**
 * Writes calls to the ingest topic, keyed by the user. A call is delivered when every in-sync replica has it.
 * While Kafka is unreachable, the producer itself tries again, for as long as it takes.
 */
class KafkaConnection implements ProducingTransport {
  readonly #topic: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #producer: Promise<Producer>;
  /** Undefined: calls are written as JSON. */
  readonly #schema: PublishedSchema | undefined;
  readonly #stop = new AbortController();
  readonly #pending = new Set<(result: SendResult) => void>();
  #goodbye: Promise<void> | undefined;
  /** The reason of the last failure in the producer's log. The producer tries again itself. */
  #lastFailure: string | undefined;
  readonly #outage = new OutageWarner({ clock: systemClock, warn });

  constructor(settings: KafkaSettings) {
    const { brokers, topic = 'postrider.ingest', clientId = 'postrider-client' } = settings;
    const { ssl, sasl, registry, writeKey, debug } = settings;
    this.#topic = topic;
    this.#headers = { [writeKeyHeader]: writeKey };
    const failed = (reason: string): void => {
      this.#lastFailure = reason;
      this.#outage.failed(reason);
    };
    const log = loggerOf((fields, message) => {
      debug?.(`${message} ${JSON.stringify(fields)}`);
      if ('reason' in fields) failed(message);
    });
    const kafka = createProducingClient({ brokers, clientId, ssl: tlsOf(ssl), sasl }, log);
    const { signal } = this.#stop;
    if (registry !== undefined) {
      const { subject = `${topic}-value` } = registry;
      this.#schema = new PublishedSchema({ ...registry, subject, signal, onFailure: failed });
    }
    this.#producer = createProducer(kafka, { log, signal });
    // Handled by the code that sends.
    this.#producer.catch(() => undefined);
  }

  async send(calls: readonly EncodedCall[]): Promise<SendResult> {
    if (this.#stop.signal.aborted) return this.#stopped();
    return new Promise((resolve, reject) => {
      const settle = (result: SendResult): void => {
        this.#pending.delete(settle);
        resolve(result);
      };
      // Added before the connection exists, so that closing ends this wait too.
      this.#pending.add(settle);
      this.#produce(calls, settle).catch(reject);
    });
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const settle of this.#pending) settle(this.#stopped());
    this.#goodbye ??= this.#disconnect();
    const timer = new AbortController();
    const { signal } = timer;
    const timeout = delay(disconnectTimeoutMs, undefined, { signal }).catch(() => undefined);
    await Promise.race([this.#goodbye, timeout]).finally(() => {
      timer.abort();
    });
  }

  async #produce(
    calls: readonly EncodedCall[],
    settle: (result: SendResult) => void,
  ): Promise<void> {
    const producer = await this.#connected();
    const encode = this.#schema === undefined ? asJson : await this.#schema.encoder();
    if (producer === undefined || encode === undefined || this.#stop.signal.aborted) {
      settle(this.#stopped());
      return;
    }
    const refused = new Map<EncodedCall, Refusal>();
    let open = calls.length;
    const done = (call: EncodedCall, error: Error | undefined): void => {
      if (error !== undefined) {
        refused.set(call, { code: 'refused', message: error.message, cause: error });
      }
      open -= 1;
      if (open > 0) return;
      this.#lastFailure = undefined;
      if (refused.size < calls.length) this.#outage.delivered();
      settle({ outcome: 'settled', refused });
    };
    for (const call of calls) {
      let value: Buffer | string;
      try {
        value = encode(call.json);
      } catch (cause) {
        const message = `the call cannot be written with the registry's schema: ${String(cause)}`;
        done(call, new Error(message, { cause }));
        continue;
      }
      const record = { topic: this.#topic, key: call.user, value, headers: this.#headers };
      producer.produce(record, (error) => {
        done(call, error);
      });
    }
  }

  #stopped(): SendResult {
    return { outcome: 'again', reason: this.#lastFailure, waitMs: undefined };
  }

  async #disconnect(): Promise<void> {
    const producer = await this.#connected();
    // Nothing waits for the producer's records anymore.
    await producer?.close(0);
  }

  /** Undefined when it was stopped before. */
  async #connected(): Promise<Producer | undefined> {
    return this.#producer.catch(() => undefined);
  }
}

function asJson(json: string): string {
  return json;
}

function tlsOf(ssl: KafkaTransportOptions['ssl']): ConnectionOptions | undefined {
  if (ssl === true) return {};
  return ssl === false ? undefined : ssl;
}

function loggerOf(write: (fields: object, message: string) => void): Logger {
  const log: Logger = {
    debug: () => undefined,
    info: write,
    warn: write,
    error: write,
    child: () => log,
  };
  return log;
}
