import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { PartitionWriters } from '../../src/audience/partition-writers.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import { loadTopology } from '../lab/bench/delivery-load.ts';

interface SentBatch {
  readonly topicMessages: readonly {
    readonly topic: string;
    readonly messages: readonly { readonly partition: number }[];
  }[];
}

/** A Kafka of which one transactional id is refused at once, and the others are slow. */
class SlowCoordinators {
  readonly open = new Set<string>();
  readonly barriers: string[] = [];
  readonly #refused: string;

  constructor(refused: string) {
    this.#refused = refused;
  }

  producer({ transactionalId }: { readonly transactionalId: string }): object {
    return {
      connect: () => {
        this.open.add(transactionalId);
        return Promise.resolve();
      },
      disconnect: () => {
        this.open.delete(transactionalId);
        return Promise.resolve();
      },
      transaction: async () => {
        if (transactionalId === this.#refused) throw new Error('refused');
        await delay(20);
        return {
          abort: () => Promise.resolve(),
          commit: () => {
            this.barriers.push(transactionalId);
            return Promise.resolve();
          },
          sendBatch: ({ topicMessages }: SentBatch) =>
            Promise.resolve(
              topicMessages.flatMap(({ topic, messages }) =>
                messages.map(({ partition }) => ({ topicName: topic, partition, baseOffset: '0' })),
              ),
            ),
        };
      },
    };
  }
}

test('of an audience that cannot be taken, nothing is opened or written once that is said', async () => {
  const topology = loadTopology('t.');
  const kafka = new SlowCoordinators(topology.audienceTransaction('vips', 3));
  const writers = new PartitionWriters(topology, 'vips');
  await assert.rejects(writers.take(kafka as unknown as KafkaClient, 6), /refused/);
  await writers.close();
  // All others have come to their end.
  assert.deepEqual([kafka.barriers.length, kafka.open.size], [5, 0]);
});
