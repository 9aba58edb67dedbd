import { createKafka } from '../../../src/kafka/client.ts';
import { createProducer } from '../../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { serveBare } from './gateway-bare.ts';
import { loadTopology, type GatewayLoad } from './gateway-load.ts';

/** A bare handler with this project's producer, which batches the calls of concurrent requests. */
const load = JSON.parse(process.argv[2] ?? '') as GatewayLoad;
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-bare' }, silentLogger);
const producer = await createProducer(kafka, { log: silentLogger });
const { ingest: topic } = loadTopology(load.prefix).topics;
await serveBare(load, (records) =>
  producer.send(records.map(({ key, value }) => ({ topic, key, value }))),
);
