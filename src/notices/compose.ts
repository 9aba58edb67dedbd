import { roughDuration } from '../duration.ts';
import type { DestinationView } from '../event/destination-view.ts';
import { deliveryKey, encodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { Notice } from '../event/notice.ts';
import type { WithUid } from '../event/uid.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { hookDestinationId } from '../resources/notice-hook.ts';
import { partitionKeyOf, type Destination, type NoticeHook } from '../resources/resource.ts';
import type { Episode } from './episode.ts';

/** The destination that a notice is about. */
export interface Subject extends WithUid {
  readonly destination: string;
  readonly name: string | undefined;
  /** Its endpoint has answered 410, and it is paused for that. */
  readonly isGone: boolean;
  readonly episode: Episode;
  /** Undefined if no worker reports on it. */
  readonly view: DestinationView | undefined;
}

type Told = Pick<Notice, 'notice' | 'after'>;

export function composeNotice(
  told: Told,
  subject: Subject,
  keptFor: string,
  nowMs: number,
): Notice {
  const { destination, uid, name, episode, view } = subject;
  const { sinceMs, undeliveredSinceMs } = episode;
  const url = view?.urls.find(({ lastAnswer }) => lastAnswer === view.lastAnswer)?.url;
  const since = new Date(sinceMs).toISOString();
  return {
    // After a crash, the next watcher derives the same id.
    id: ['notice', destination, sinceMs, told.after ?? told.notice].join('-'),
    at: new Date(nowMs).toISOString(),
    ...told,
    destination,
    ...(uid === undefined ? {} : { uid }),
    ...(name === undefined ? {} : { name }),
    since,
    undeliveredSince: new Date(undeliveredSinceMs).toISOString(),
    ...(view === undefined ? {} : troubleOf(view, url)),
    text: textOf(told, subject, keptFor, nowMs),
  };
}

function troubleOf(
  { lastAnswer, waiting, deadline }: DestinationView,
  url: string | undefined,
): Partial<Notice> {
  return {
    ...(url === undefined ? {} : { url }),
    ...(lastAnswer === undefined ? {} : { lastAnswer }),
    waiting: waiting.total,
    ...(deadline === undefined ? {} : { deadline }),
  };
}

function textOf(
  { notice }: Told,
  { destination, isGone, episode, view }: Subject,
  keptFor: string,
  nowMs: number,
): string {
  const forText = roughDuration(nowMs - episode.sinceMs);
  switch (notice) {
    case 'well':
      return `Destination ${destination} works again, after ${forText}.`;
    case 'disabled': {
      const because = isGone
        ? 'its endpoint answers 410: it takes no more events'
        : `nothing has reached it for ${roughDuration(nowMs - episode.undeliveredSinceMs)}`;
      return `Destination ${destination} is paused, because ${because}. Its events are kept for ${keptFor}; \`postrider resume ${destination}\` sends them.`;
    }
    case 'failing':
      return `Destination ${destination} has failed for ${forText}, since ${minute(episode.sinceMs)}${answerText(view)}.${waitingText({ waiting: view?.waiting.total, deadline: view?.deadline })}`;
  }
}

/**
 * Without what the endpoint itself said: chats take some characters for mentions and links, and a customer's endpoint must
 * not write into an operator's chat. `lastAnswer` has it.
 */
function answerText(view: DestinationView | undefined): string {
  const detail = view?.lastAnswer?.detail;
  return detail === undefined ? '' : `: ${detail}`;
}

/** @param waiting the number of events */
export function waitingText({
  waiting = 0,
  deadline,
}: {
  readonly waiting?: number | undefined;
  readonly deadline?: string | undefined;
}): string {
  if (waiting === 0) return '';
  const events = waiting === 1 ? '1 event waits' : `${waiting} events wait`;
  const ends =
    deadline === undefined ? '' : `; the first is given up at ${minute(Date.parse(deadline))}`;
  return ` ${events}${ends}.`;
}

export function minute(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** The body that a hook gets. */
export function hookBody(
  { format }: Pick<NoticeHook, 'format'>,
  notice: Pick<Notice, 'id' | 'at' | 'text'> & { readonly notice: string },
): string {
  return JSON.stringify(format === 'chat' ? { text: notice.text } : notice);
}

/** In the place of an event's source; no source has this id. */
const noSource = '-';

/** The record of a notice for a hook. */
export function hookRecord(
  topic: string,
  hook: NoticeHook,
  notice: Notice,
  configOffset: number,
): OutgoingRecord {
  const place = { ...hook, id: hookDestinationId(hook.id) };
  return noticeRecord(topic, place, notice, hookBody(hook, notice), configOffset);
}

/**
 * A notice as a record for delivery, where it is an event like any other.
 * @param place the destination of delivery that it goes to
 */
export function noticeRecord(
  topic: string,
  place: Pick<Destination, 'id' | 'uid' | 'rateLimit'>,
  notice: Pick<Notice, 'id' | 'at' | 'destination'>,
  body: string,
  configOffset: number,
): OutgoingRecord {
  const envelope = encodeEnvelope({
    destinationId: place.id,
    uid: place.uid,
    sourceId: noSource,
    messageId: notice.id,
    type: 'notice',
    configOffset,
    appendTimeMs: Date.parse(notice.at),
    attempts: 0,
  });
  return {
    topic,
    partitionKey: partitionKeyOf(place),
    // The key keeps the notices of one destination in order.
    key: deliveryKey(place.id, notice.destination),
    value: body,
    headers: { [envelopeHeader]: envelope },
  };
}
