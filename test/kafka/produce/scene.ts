import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { KafkaProducer } from '../../../src/kafka/produce/producer.ts';
import type { ProducerHooks } from '../../../src/kafka/produce/events.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { systemClock, type SteadyClock } from '../../../src/ops/clock.ts';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';
import { WritableCluster } from './writable-cluster.ts';

export interface SceneOptions {
  readonly hooks?: ProducerHooks;
  readonly clock?: SteadyClock;
  readonly deliveryTimeoutMs?: number;
  readonly log?: Logger;
  /** Of topic `a`; 4. */
  readonly partitions?: number;
}

export interface Scene {
  readonly cluster: WritableCluster;
  readonly producer: KafkaProducer;
  /** How long it wanted to wait before it sent something again. */
  readonly pauses: readonly number[];
}

/** A producer on brokers that hold topic `a`. It waits for nothing between its attempts. */
export function openScene({
  hooks = {},
  clock = systemClock,
  log = silentLogger,
  partitions = 4,
  deliveryTimeoutMs,
}: SceneOptions = {}): Scene {
  const cluster = new WritableCluster();
  cluster.makeTopic('a', partitions);
  const pauses: number[] = [];
  const producer = new KafkaProducer({
    cluster,
    compressor: cluster.compressor,
    clock,
    log,
    hooks,
    deliveryTimeoutMs,
    pause: async (ms, signal) => {
      const isBackoff = ms < 10_000;
      if (isBackoff) pauses.push(ms);
      if (isBackoff) await setImmediate();
      else await delay(ms, undefined, { signal }).catch(() => undefined);
    },
  });
  return { cluster, producer, pauses };
}

export function record(topic: string, value: string, partition?: number): OutgoingRecord {
  return { topic, key: value, value, ...(partition === undefined ? {} : { partition }) };
}

/** Values `from` to `to - 1` for one partition. */
export function series(
  topic: string,
  partition: number,
  from: number,
  to: number,
): OutgoingRecord[] {
  return numbers(from, to).map((value) => record(topic, value, partition));
}

export function numbers(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => String(from + i));
}

/** A log, and the sentences that operators see in it. */
export function keptLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = [];
  return { lines, log: { ...silentLogger, warn: (_fields, message) => lines.push(message) } };
}
