import { decodeBundleHeader, decompressEvents } from '../../../src/delivery/bundle/format.ts';
import { decodeEnvelope, envelopeHeader, type Envelope } from '../../../src/event/envelope.ts';
import { FetchedRecords } from '../../../src/kafka/protocol/fetched-records.ts';
import type { SimulatedPartition } from './kafka/partition.ts';

export interface LoggedEvent {
  readonly envelope: Envelope;
  readonly reason: string;
  readonly offset: number;
  readonly timestampMs: number;
}

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
    if (envelope !== undefined) events.push({ envelope, reason, offset, timestampMs });
    else if (decodeBundleHeader(header) !== undefined)
      for (const packed of decompressEvents(value ?? Buffer.alloc(0)) ?? []) {
        const inner = decodeEnvelope(packed.header);
        if (inner !== undefined) events.push({ envelope: inner, reason, offset, timestampMs });
      }
  }
  return events;
}
