import { createKafka } from '../../../src/kafka/client.ts';
import { startConsumeLoop } from '../../../src/kafka/consume/consume-loop.ts';
import type { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { loadTopology, type DeliveryLoad, type LoadTopology } from './delivery-load.ts';
import { Poster } from './delivery-post.ts';

/** What a bare loop needs to know of a load. */
type BareLoad = Pick<DeliveryLoad, 'brokers' | 'prefix' | 'group' | 'receiverPort' | 'inFlight'>;

/**
 * Deliveries with this project's client. A record is finished when its request has begun, whatever becomes of
 * it. The windows are the role's: a loop reads ahead as far as they allow, where stock kafkajs waits for what
 * it has brought.
 */
export function startBareDelivery(
  load: BareLoad,
  topology?: LoadTopology,
): { readonly delivered: number } {
  const poster = new Poster<TakenRecord>(load, (record) => {
    record.finish();
  });
  const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-bare' }, silentLogger);
  startConsumeLoop(kafka, {
    groupId: load.group,
    topics: [loadTopology(load.prefix, topology).topics.delivery],
    windowRecords: 1_024,
    windowBytes: 4 * 1024 * 1024,
    maxBytesPerPartition: 256 * 1024,
    clock: systemClock,
    log: silentLogger,
    onRecords: (records) => {
      poster.add(records);
    },
  });
  return poster;
}
