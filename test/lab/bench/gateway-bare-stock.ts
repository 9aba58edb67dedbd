import kafkajs from './bare-kafkajs.ts';
import { serveBare } from './gateway-bare.ts';
import { loadTopology, type GatewayLoad } from './gateway-load.ts';

/**
 * A bare handler with stock kafkajs, which sends what it is given: each request is a call of its own. With LZ4,
 * as our producer compresses batches of this size.
 */
const load = JSON.parse(process.argv[2] ?? '') as GatewayLoad;
const kafka = new kafkajs.Kafka({ brokers: [...load.brokers], logLevel: kafkajs.logLevel.NOTHING });
const producer = kafka.producer();
await producer.connect();
const { ingest: topic } = loadTopology(load.prefix).topics;
const compression = kafkajs.CompressionTypes.LZ4;
await serveBare(load, (messages) => producer.send({ topic, acks: -1, compression, messages }));
