import { statusKey, type DestinationStatus } from '../../src/event/destination-status.ts';
import type { Identity } from '../../src/event/uid.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';

const worker = 'played';
const url = 'https://crm.example.com/events';

/**
 * Writes to `destination-status` what a worker would say that has seen a destination fail since `failingSince`,
 * or, without it, deliver just now: nobody can wait for a quarter of an hour.
 */
export async function sayAsWorker(
  kafka: KafkaClient,
  topic: string,
  { id: destination, uid }: Identity,
  failingSince: Date | undefined,
): Promise<void> {
  const at = new Date().toISOString();
  const since = failingSince?.toISOString();
  const status: DestinationStatus = {
    kind: 'destination',
    worker,
    at,
    destination,
    uid,
    state: since === undefined ? 'ok' : 'failing',
    ...(since === undefined ? {} : { since }),
    urls: [
      {
        url,
        breaker: since === undefined ? 'closed' : 'open',
        ...(since === undefined ? {} : { failingSince: since }),
        lastAnswer:
          since === undefined
            ? { at, outcome: 'delivered', status: 200 }
            : { at, outcome: 'failed', status: 500, detail: 'answered 500', answer: 'no database' },
      },
    ],
    waiting: { here: 0, tiers: { '1m': since === undefined ? 0 : 271 } },
    inFlight: 0,
    perMinute: { delivered: 0, failed: 0 },
  };
  const self = {
    kind: 'worker',
    worker,
    at,
    expiresAt: new Date(Date.now() + 600_000).toISOString(),
    startedAt: at,
    inFlight: 0,
    queued: 0,
    isCutOff: false,
    topics: {},
  };
  const producer = await createProducer(kafka, { log: silentLogger });
  await producer.send([
    { topic, key: statusKey(worker), value: JSON.stringify(self) },
    { topic, key: statusKey(worker, destination), value: JSON.stringify(status) },
  ]);
  await producer.close(5_000);
}
