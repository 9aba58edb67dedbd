import { PartitionQueue, type QueuedRecord } from '../../src/kafka/produce/partition-queue.ts';
import type { PostriderError } from '../../src/errors.ts';

/** A record that waits; its value tells it from the others. */
export function queued(
  value: string,
  { bytes = 100, done = (): void => undefined }: Partial<QueuedRecord> = {},
): QueuedRecord {
  return {
    key: null,
    value,
    headers: {},
    partition: 0,
    bytes,
    mayWait: false,
    isPlaced: false,
    done,
  };
}

/** A queue with so many records named `<topic>/<partition>#0` and so on. */
export function filledQueue(
  topic: string,
  partition: number,
  records: number,
  done: (value: string, refused?: PostriderError) => void = () => undefined,
): PartitionQueue {
  const queue = new PartitionQueue(topic, partition);
  for (let i = 0; i < records; i += 1) {
    const value = `${topic}/${partition}#${i}`;
    queue.push(
      queued(value, {
        done: (refused) => {
          done(value, refused);
        },
      }),
    );
  }
  return queue;
}

/** An error as kafkajs throws it. */
export function kafkaError(type: string): Error {
  return Object.assign(new Error(type.toLowerCase()), { name: 'KafkaJSProtocolError', type });
}
