import { deliveryKey, encodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import { readRejected, type RejectedCall } from '../../src/dead-letter/rejected.ts';
import type { IncomingRecord, OutgoingRecord } from '../../src/kafka/record.ts';
import { createTopology, type Topology } from '../../src/topology.ts';

export const topology: Topology = createTopology({
  prefix: 'p.',
  partitions: 3,
  replicationFactor: 1,
  retryTiersMs: [10_000],
  extraIngestTopics: ['web-calls'],
});

/** Headers are given as text. */
export function rejectedRecord(changes: {
  readonly offset?: number;
  readonly key?: string | null;
  readonly value?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}): IncomingRecord {
  const { offset = 0, key = 'u1', value = '{}', headers = {} } = changes;
  const own = {
    reason: 'unknown-write-key',
    detail: 'No source has the write key "wk_new".',
    'postrider-origin': 'web-calls:1:7:1000',
    ...headers,
  };
  return {
    topic: 'p.ingest.rejected',
    partition: 2,
    offset,
    timestampMs: 2_000,
    key: key === null ? null : Buffer.from(key),
    value: Buffer.from(value as string),
    headers: Object.fromEntries(
      Object.entries(own).map(([name, text]) => [name, Buffer.from(text)]),
    ),
  };
}

export function rejectedLetter(changes: Parameters<typeof rejectedRecord>[0] = {}): RejectedCall {
  return readRejected(rejectedRecord(changes));
}

/** As a worker writes it after the third attempt. */
export function deadLetterRecord(event: {
  readonly destinationId: string;
  readonly uid?: string;
  readonly user: string;
  readonly reason?: string;
}): Omit<OutgoingRecord, 'topic'> & { readonly headers: Record<string, string> } {
  const { destinationId, uid, user, reason = 'http-410' } = event;
  const envelope = encodeEnvelope({
    destinationId,
    uid,
    sourceId: 'shop',
    messageId: `m-${destinationId}-${user}`,
    type: 'track',
    configOffset: 0,
    appendTimeMs: Date.parse('2026-11-20T10:00:00.000Z'),
    attempts: 3,
    deadlineMs: Date.parse('2026-11-20T14:00:00.000Z'),
    dueMs: 1,
  });
  return {
    key: deliveryKey(destinationId, user),
    value: '{"event":"Order","note":"a\u202eb"}',
    headers: { [envelopeHeader]: envelope, reason, detail: 'answered 500', answer: 'no such list' },
  };
}
