import { decodeBundleHeader, decompressEvents } from '../../../src/delivery/bundle/format.ts';
import { decodeEnvelope, envelopeHeader, type Envelope } from '../../../src/event/envelope.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import type { SimulatedPartition } from './kafka/partition.ts';

export interface LoggedRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestampMs: number;
}

export interface LoggedEvent {
  readonly envelope: Envelope;
  readonly reason: string;
  /** Of a record in a retry topic, or the bundle that it is in. */
  readonly dueMs: number;
  readonly offset: number;
  readonly timestampMs: number;
}

/** The records in a partition that are no part of a transaction that is open or was aborted. */
export function committedRecords(partition: SimulatedPartition): readonly LoggedRecord[] {
  const { aborted, records } = partition.fetch(fromTheStart, Infinity, true);
  const reader = new FetchedRecords(records, 0, aborted);
  const found: LoggedRecord[] = [];
  while (reader.next()) {
    const { key, value, timestampMs } = reader;
    found.push({ key, value, timestampMs });
  }
  return found;
}

const fromTheStart = {
  partition: 0,
  offset: 0,
  maxBytes: Infinity,
  leaderEpoch: -1,
  lastEpoch: -1,
};

/** The events in a partition from an offset on, those of bundles one by one. */
export function eventsIn(partition: SimulatedPartition, from: number = 0): LoggedEvent[] {
  const bytes = Buffer.concat(partition.batches.map((batch) => batch.bytes));
  const records = new FetchedRecords(bytes, 0, []);
  const events: LoggedEvent[] = [];
  while (records.next()) {
    if (records.offset < from) continue;
    const { offset, timestampMs, value, headers } = records;
    const header = headers[envelopeHeader];
    if (header === undefined) continue;
    const reason = String(headers['reason'] ?? '');
    const envelope = decodeEnvelope(header);
    const dueMs = (envelope ?? decodeBundleHeader(header))?.dueMs ?? 0;
    if (envelope !== undefined) events.push({ envelope, reason, dueMs, offset, timestampMs });
    else if (decodeBundleHeader(header) !== undefined)
      for (const packed of decompressEvents(value ?? Buffer.alloc(0)) ?? []) {
        const inner = decodeEnvelope(packed.header);
        if (inner !== undefined)
          events.push({ envelope: inner, reason, dueMs, offset, timestampMs });
      }
  }
  return events;
}
