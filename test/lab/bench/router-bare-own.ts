import { createKafka } from '../../../src/kafka/client.ts';
import { startConsumeLoop } from '../../../src/kafka/consume/consume-loop.ts';
import type { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { reportMeasurement } from './measure.ts';
import { copiesPerCall, loadTopology, type RouterLoad } from './router-load.ts';

/**
 * The least that can be called routing, with this project's client: consume, JSON.parse, produce three records
 * of the same bytes, and finish the call when all three are acknowledged. No rules, no envelope, no body of
 * its own. The windows are the role's. Argument 1 is the load as JSON; prints a measurement as JSON.
 */
const load = JSON.parse(process.argv[2] ?? '') as RouterLoad;
const { topics } = loadTopology(load);
let delivered = 0;

const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-bare' }, silentLogger);
const producer = await createProducer(kafka, { log: silentLogger });
startConsumeLoop(kafka, {
  groupId: load.group,
  topics: [topics.ingest],
  windowRecords: 256,
  windowBytes: 512 * 1024,
  maxBytesPerPartition: 32 * 1024,
  clock: systemClock,
  log: silentLogger,
  onRecords: (records) => {
    for (const record of records) route(record);
  },
});

function route(record: TakenRecord): void {
  const { value } = record;
  const { userId } = JSON.parse(String(value)) as { userId: string };
  let unsettled = copiesPerCall;
  const done = (): void => {
    delivered += 1;
    unsettled -= 1;
    if (unsettled === 0) record.finish();
  };
  for (let i = 0; i < copiesPerCall; i += 1)
    producer.produce({ topic: topics.delivery, key: `d${i}:${userId}`, value }, done);
}

await reportMeasurement(load, () => delivered);
