import { isUrgent } from '../event/destination-health.ts';
import type { JudgedView } from '../event/judged-view.ts';
import { decodeNotice, type Notice } from '../event/notice.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';

/**
 * The last notice about each destination, by its id.
 * @throws PostriderError `kafka-unavailable`, `not-found`
 */
export async function readNotices(
  kafka: KafkaClient,
  topic: string,
): Promise<ReadonlyMap<string, Notice>> {
  const notices = new Map<string, Notice>();
  for await (const { key, value } of readRange(kafka, { topic })) {
    const id = key?.toString() ?? '';
    const notice = decodeNotice(value);
    if (notice === undefined) notices.delete(id);
    else notices.set(id, notice);
  }
  return notices;
}

/** A restarted worker does not have the time since which a destination has failed; the notice has it. */
export function sinceNotice(view: JudgedView, notice: Notice | undefined): JudgedView {
  if (notice?.notice !== 'failing' || !isUrgent(view.state)) return view;
  return (view.since ?? '~') <= notice.since ? view : { ...view, since: notice.since };
}
