import { fastify } from 'fastify';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { loadTopology, type GatewayLoad } from './gateway-load.ts';
import { reportMeasurement } from './measure.ts';

/**
 * The least that can be called a gateway: fastify parses the JSON, and the handler writes each call as it
 * is and answers. No checks, no limits of its own, no times, no headers on the records. Its batches are
 * the gateway's, because it has the same producer.
 */
const load = JSON.parse(process.argv[2] ?? '') as GatewayLoad;
const kafka = createKafka({ brokers: load.brokers, clientId: 'bench-bare' }, silentLogger);
const producer = await createProducer(kafka, { log: silentLogger });
const { ingest } = loadTopology(load.prefix).topics;
let acknowledged = 0;

interface Call {
  readonly userId: string;
}

const server = fastify();
server.post('/v1/batch', async (request) => {
  const { batch } = request.body as { batch: Call[] };
  await write(batch);
  return { success: true };
});
server.post('/v1/track', async (request) => {
  await write([request.body as Call]);
  return { success: true };
});

async function write(calls: readonly Call[]): Promise<void> {
  await producer.send(
    calls.map((call) => ({ topic: ingest, key: call.userId, value: JSON.stringify(call) })),
  );
  acknowledged += calls.length;
}

process.send?.(Number(new URL(await server.listen({ port: 0, host: '127.0.0.1' })).port));
await reportMeasurement(load, () => acknowledged);
