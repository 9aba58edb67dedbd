import { createKafka } from '../../../src/kafka/client.ts';
import { startConsumeLoop } from '../../../src/kafka/consume/consume-loop.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { reportMeasurement } from './measure.ts';
import type { ReadingLoad } from './reading-load.ts';

/**
 * Reads with this project's client, in the delivery role's windows, and finishes every record at once. Sends a
 * message to the parent process when it has joined its group. Argument 1 is the load as JSON; prints a
 * measurement as JSON.
 */
const load = JSON.parse(process.argv[2] ?? '') as ReadingLoad;
const lateTopics = new Set(load.lateTopics);
let records = 0;
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-own' }, silentLogger);
startConsumeLoop(kafka, {
  groupId: load.group,
  topics: load.topics,
  windowRecords: 1_024,
  windowBytes: 4 * 1024 * 1024,
  maxBytesPerPartition: 256 * 1024,
  mayComeLate: (topic) => lateTopics.has(topic),
  clock: systemClock,
  log: silentLogger,
  onRecords: (some) => {
    records += some.length;
    for (const record of some) record.finish();
  },
  onAssigned: () => process.send?.('joined'),
});
await reportMeasurement(load, () => records);
