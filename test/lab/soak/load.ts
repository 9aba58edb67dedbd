import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Producer } from '../../../src/kafka/produce/producer.ts';
import type { Accounts } from './accounts.ts';

export interface LoadOptions {
  readonly accounts: Accounts;
  /** Those that run now. */
  readonly gatewayUrls: () => readonly string[];
  readonly producer: Producer;
  readonly ingestTopic: string;
  readonly writeKey: string;
  /** Bytes of a call as an Avro record. */
  readonly typed: (call: Readonly<Record<string, string>>) => Buffer;
}

export interface Load {
  /** Sends nothing more; resolves when all has been answered, or `mostMs` have passed. */
  stop(mostMs: number): Promise<void>;
}

type SentCall = Readonly<Record<'type' | 'event' | 'messageId' | 'userId', string>>;

/** Each has a call every three seconds, so that some wait for another one of their user while an endpoint fails. */
const users = 100;
const everyMs = 100;
/** In each tenth of a second. */
const batch = { byGateway: 2, byKafka: 1 };
/** One typed call a second, all of one user: a schema that cannot be read stops one partition. */
const typedEvery = 10;
export const callsPerSecond: number = (1_000 / everyMs) * (batch.byGateway + batch.byKafka) + 1;

/** A steady load through both gateways and directly to Kafka. What was refused is not sent again. */
export function startLoad(options: LoadOptions): Load {
  const { accounts, gatewayUrls, producer, ingestTopic, writeKey, typed } = options;
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`;
  const agent = new Agent();
  const open = new Set<Promise<void>>();
  let sequence = 0;
  let ticks = 0;

  const newCall = (user?: string): SentCall => {
    sequence += 1;
    const userId = user ?? `u${sequence % users}`;
    const messageId = `${accounts.name}-${sequence}`;
    accounts.sent(messageId, userId, performance.now());
    return { type: 'track', event: 'Soaked', messageId, userId };
  };

  const sendByGateway = async (): Promise<void> => {
    const urls = gatewayUrls();
    const url = urls[ticks % Math.max(1, urls.length)];
    if (url === undefined) return;
    const calls = Array.from({ length: batch.byGateway }, () => newCall());
    try {
      const { statusCode, body } = await request(`${url}/v1/batch`, {
        method: 'POST',
        headers: { authorization },
        body: JSON.stringify({ batch: calls }),
        // Longer than a gateway waits for Kafka.
        headersTimeout: 15_000,
        dispatcher: agent,
      });
      await body.dump();
      const ids = calls.map(({ messageId }) => messageId);
      if (statusCode === 200) accounts.accepted(ids, performance.now());
    } catch {
      // The gateway is gone, and perhaps was when the calls were written.
    }
  };

  const produce = async (call: SentCall, value: Buffer | string): Promise<void> => {
    const { userId, messageId } = call;
    const record = {
      topic: ingestTopic,
      key: userId,
      value,
      headers: { 'write-key': writeKey },
    };
    await producer.send([record]);
    accounts.accepted([messageId], performance.now());
  };

  const follow = (sending: Promise<void>): void => {
    const settled = sending.catch(() => undefined).finally(() => open.delete(settled));
    open.add(settled);
  };
  const timer = setInterval(() => {
    ticks += 1;
    follow(sendByGateway());
    for (let n = 0; n < batch.byKafka; n += 1) {
      const call = newCall();
      follow(produce(call, JSON.stringify(call)));
    }
    if (ticks % typedEvery > 0) return;
    const call = newCall('typed');
    follow(produce(call, typed(call)));
  }, everyMs);

  return {
    stop: async (mostMs) => {
      clearInterval(timer);
      await Promise.race([Promise.all(open), delay(mostMs, undefined, { ref: false })]);
      await agent.destroy();
    },
  };
}
