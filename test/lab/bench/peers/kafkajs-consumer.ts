import { createHmac } from 'node:crypto';
import kafkajs from '../bare-kafkajs.ts';
import { secret, writeKey } from './events.ts';
import type { Work } from './peer.ts';

/** What both consumers over kafkajs have in common. */

export type Message = Pick<kafkajs.KafkaMessage, 'key' | 'value'>;

const attempts = 4;
const pauseMs = 1_000;
const timeoutMs = 5_000;

export const work = JSON.parse(process.argv[2] ?? '') as Work;

const urls = new Map(work.destinations.map(({ id, url }) => [id, url]));

/** Subscribed to the topic, from its beginning. */
export async function subscribedConsumer(): Promise<kafkajs.Consumer> {
  const kafka = new kafkajs.Kafka({
    brokers: [...work.brokers],
    logLevel: kafkajs.logLevel.NOTHING,
  });
  const consumer = kafka.consumer({ groupId: work.group });
  await consumer.connect();
  await consumer.subscribe({ topics: [work.topic], fromBeginning: true });
  return consumer;
}

/** Signs and posts; a request that fails is made three more times, and then dropped. */
export async function deliver({ key, value }: Message): Promise<void> {
  const body = value ?? Buffer.alloc(0);
  const url = urlOf(key, body);
  if (url === undefined) return;
  const signature = createHmac('sha1', secret).update(body).digest('hex');
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Signature': signature },
        body: new Uint8Array(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.text();
      if (response.ok) return;
    } catch {
      // Its time is over, or its connection is: as with a status that says no.
    }
    if (attempt < attempts) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

function urlOf(key: Buffer | null, body: Buffer): string | undefined {
  if (work.reads === 'events') return urls.get(key?.toString().split(':')[0] ?? '');
  const call = JSON.parse(body.toString()) as { readonly writeKey: string };
  return call.writeKey === writeKey ? work.destinations[0]?.url : undefined;
}
