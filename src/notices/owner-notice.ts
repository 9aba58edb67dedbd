import { roughDuration } from '../duration.ts';
import type { Notice } from '../event/notice.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { notifyDestinationId } from '../resources/notice-hook.ts';
import type { Destination } from '../resources/resource.ts';
import { noticeRecord, minute, waitingText, type Subject } from './compose.ts';

/** A notice, and the facts that it does not say itself. */
interface Told {
  readonly notice: Notice;
  readonly subject: Pick<Subject, 'episode' | 'isGone'>;
}

/**
 * The record of a notice for the owner of the destination, who knows its endpoint, and neither the platform nor its
 * commands. It is delivered as the destination's own events are.
 */
export function ownerRecord(
  topic: string,
  { id, uid }: Destination,
  { notice, subject }: Told,
  keptFor: string,
  configOffset: number,
): OutgoingRecord {
  const text = textOf(notice, subject.episode, subject.isGone, keptFor);
  // The type tells it from an event.
  const body = JSON.stringify({ type: 'notice', ...notice, uid: undefined, text });
  const place = { id: notifyDestinationId(id), uid };
  return noticeRecord(topic, place, notice, body, configOffset);
}

function textOf(
  notice: Notice,
  { sinceMs, undeliveredSinceMs }: Subject['episode'],
  isGone: boolean,
  keptFor: string,
): string {
  const { at, url, lastAnswer } = notice;
  const nowMs = Date.parse(at);
  const endpoint = url === undefined ? 'Your endpoint' : `Your endpoint ${url}`;
  switch (notice.notice) {
    case 'well':
      return `${endpoint} takes events again, after ${roughDuration(nowMs - sinceMs)}.`;
    case 'disabled': {
      const because = isGone
        ? 'it answered 410: it takes no more'
        : `none has reached it for ${roughDuration(nowMs - undeliveredSinceMs)}`;
      return `${endpoint} is sent no more events, because ${because}. They are kept for ${keptFor}, and sent when it is resumed.`;
    }
    case 'failing': {
      const said = lastAnswer?.detail === undefined ? '' : `: ${lastAnswer.detail}`;
      return `${endpoint} has failed for ${roughDuration(nowMs - sinceMs)}, since ${minute(sinceMs)}${said}.${waitingText(notice)}`;
    }
  }
}
