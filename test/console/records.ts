import type { AttemptLine } from '../../src/event/attempt-line.ts';
import { encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { detailHeader, encodeOrigin, originHeader, reasonHeader } from '../../src/event/headers.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createTopology, type Topology } from '../../src/topology.ts';
import type { Installation } from '../harness/postrider.ts';

/** What workers and routers write, made up. */

export function topologyOf({ environment }: Installation): Topology {
  return createTopology({
    prefix: environment['TOPIC_PREFIX'] ?? '',
    partitions: 3,
    replicationFactor: 1,
    retryTiersMs: [500, 1_000],
    extraIngestTopics: [],
  });
}

export async function write(
  { environment }: Installation,
  records: readonly OutgoingRecord[],
): Promise<void> {
  const brokers = environment['KAFKA_BROKERS']?.split(',') ?? [];
  const producer = await createProducer(createKafka({ brokers, clientId: 'test' }, silentLogger), {
    log: silentLogger,
  });
  await producer.send(records);
  await producer.close(10_000);
}

export function attemptLine(messageId: string, more: Partial<AttemptLine> = {}): AttemptLine {
  return {
    kind: 'attempt',
    at: new Date().toISOString(),
    destination: 'crm',
    source: 'shop',
    messageId,
    user: 'ada',
    type: 'track',
    attempt: 1,
    url: 'https://crm.example/hook',
    outcome: 'delivered',
    status: 200,
    tookMs: 12,
    ...more,
  } as AttemptLine;
}

export function attemptsRecord(
  { topics }: Topology,
  lines: readonly AttemptLine[],
  partition = 0,
): OutgoingRecord {
  const value = `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
  return { topic: topics.attempts, partition, key: null, value };
}

export function deadLetterRecord(
  { topics }: Topology,
  messageId: string,
  reason: string,
): OutgoingRecord {
  const envelope = encodeEnvelope({
    destinationId: 'crm',
    sourceId: 'shop',
    messageId,
    type: 'track',
    configOffset: 0,
    appendTimeMs: Date.now(),
    attempts: 1,
  });
  return {
    topic: topics.deadLetter,
    key: 'crm:ada',
    value: '{"type":"track"}',
    headers: { [envelopeHeader]: envelope, [reasonHeader]: reason, [detailHeader]: 'answered 410' },
  };
}

export function rejectedRecord({ topics }: Topology, body: string, reason: string): OutgoingRecord {
  const origin = { topic: topics.ingest, partition: 1, offset: 7, appendTimeMs: Date.now() };
  return {
    topic: topics.ingestRejected,
    key: 'ada',
    value: body,
    headers: {
      [originHeader]: encodeOrigin(origin),
      [reasonHeader]: reason,
      [detailHeader]: 'unknown',
    },
  };
}
