import { noneGivenUp, type Evidence } from '../event/destination-health.ts';
import { decodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import { identityText } from '../event/uid.ts';
import { withAdmin, type OffsetRange } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { offsetsIn, rangesWithin } from '../kafka/offset-ranges.ts';
import { readRange } from '../kafka/read-range.ts';

/** Events that became dead letters in the last hour. */
export interface GivenUp {
  /** By `identityText`. */
  readonly byDestination: ReadonlyMap<string, Evidence['givenUp']>;
  /** There were more, which were not counted. */
  readonly isCut: boolean;
}

const hourMs = 3_600_000;
const justNowMs = 180_000;
/** Dead letters have bodies, and `--watch` reads them every two seconds. */
const mostRecords = 5_000;

/** @throws PostriderError `kafka-unavailable`, `not-found` */
export async function readGivenUp(
  kafka: KafkaClient,
  topic: string,
  nowMs: number,
): Promise<GivenUp> {
  const written = await withAdmin(kafka, (admin) =>
    rangesWithin(admin, topic, { sinceMs: nowMs - hourMs }),
  );
  const ranges = newestOf(written, mostRecords);
  const byDestination = new Map<string, Evidence['givenUp']>();
  for await (const { headers, timestampMs } of readRange(kafka, { topic, ranges })) {
    const header = headers[envelopeHeader];
    const envelope = header === undefined ? undefined : decodeEnvelope(header);
    if (envelope === undefined) continue;
    const whose = identityText({ id: envelope.destinationId, uid: envelope.uid });
    const { lastHour, justNow } = byDestination.get(whose) ?? noneGivenUp;
    const isNew = timestampMs >= nowMs - justNowMs;
    byDestination.set(whose, { lastHour: lastHour + 1, justNow: justNow + (isNew ? 1 : 0) });
  }
  return { byDestination, isCut: offsetsIn(ranges) < offsetsIn(written) };
}

/** The ends of the ranges, each in proportion to its length. */
function newestOf(ranges: readonly OffsetRange[], most: number): OffsetRange[] {
  const share = Math.min(1, most / Math.max(1, offsetsIn(ranges)));
  return ranges.map(({ partition, start, end }) => {
    return { partition, start: end - Math.floor((end - start) * share), end };
  });
}
