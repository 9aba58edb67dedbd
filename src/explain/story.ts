import { describeLine } from '../attempts/describe.ts';
import { timeText } from '../dead-letter/texts.ts';
import type { Envelope } from '../event/envelope.ts';
import { isOf, type Identity } from '../event/uid.ts';
import { destinationsOf, tellDestination, type DestinationStory } from './destination-story.ts';
import {
  placeOf,
  type Evidence,
  type FoundCall,
  type FoundRejected,
  type Place,
} from './evidence.ts';
import type { Rulings } from './rulings.ts';

/** An event from its receipt to its end, as `postrider explain` shows it. Times are ISO 8601, in UTC. */
export interface Story {
  readonly messageId: string;
  readonly user: string | null;
  readonly source: string | null;
  readonly type: string | null;
  /** The name of a track call. */
  readonly event: string | null;
  readonly received: readonly Receipt[];
  readonly destinations: readonly DestinationStory[];
}

/** A record that came in with the message id. */
interface Receipt {
  readonly at: string;
  readonly topic: string;
  /** `<partition>:<offset>` */
  readonly place: string;
  readonly outcome:
    'routed' | 'unwanted' | 'duplicate' | 'rejected' | 'unreadable' | 'not-routed-yet';
  readonly detail: string;
}

export function tellStory(evidence: Evidence): Story {
  const { messageId, lines, letters, copies, waiting, rulings } = evidence;
  const call = evidence.first?.read.call;
  const line = lines[0];
  const envelope = [...copies, ...waiting, ...letters][0]?.envelope;
  const name = call?.fields['event'];
  return {
    messageId,
    user: evidence.user ?? line?.user ?? null,
    source: rulings?.source?.id ?? line?.source ?? envelope?.sourceId ?? null,
    type: call?.type ?? line?.type ?? envelope?.type ?? null,
    event: call?.type === 'track' && typeof name === 'string' ? name : null,
    received: receiptsOf(evidence),
    destinations: destinationsOf(evidence).map((id) => tellDestination(id, evidence)),
  };
}

function receiptsOf({ calls, rejected, rulings }: Evidence): readonly Receipt[] {
  const own = rejected.filter(
    ({ origin }) => !calls.some(({ place }) => placeOf(place) === placeOf(origin)),
  );
  const receipts = [
    ...calls.map((call) => receiptOf(call, rejected, rulings)),
    ...own.map((each) => receipt(each.place, 'rejected', rejectedText(each))),
  ];
  return receipts.sort((a, b) => compare(a.at, b.at));
}

function receiptOf(
  { place, isRead, isSentAgain, unreadable, rejection, isAhead, duplicateOf }: FoundCall,
  rejected: readonly FoundRejected[],
  rulings: Rulings | undefined,
): Receipt {
  const refused = rejected.find(({ origin }) => placeOf(origin) === placeOf(place));
  if (refused !== undefined) return receipt(place, 'rejected', rejectedText(refused));
  if (isAhead) return receipt(place, 'not-routed-yet', 'the router has not read it yet');
  if (rejection !== undefined)
    return receipt(place, 'rejected', `${rejection.reason}: ${rejection.detail}`);
  if (!isRead) return receipt(place, 'unreadable', unreadable ?? '');
  if (duplicateOf !== undefined) {
    const detail = `it repeats the call of ${timeText(duplicateOf.timeMs)}, ${placeOf(duplicateOf)}`;
    return receipt(place, 'duplicate', detail);
  }
  const { source, all } = rulings ?? { source: undefined, all: [] };
  const wanted = all.filter(({ unwanted }) => unwanted === undefined).length;
  const again = isSentAgain ? ', sent again after it was rejected' : '';
  const nobody = source === undefined ? 'it has no source now' : 'no destination wants it';
  if (wanted === 0) return receipt(place, 'unwanted', `${nobody}${again}`);
  return receipt(place, 'routed', `to ${wanted} of ${all.length} destinations${again}`);
}

function receipt(place: Place, outcome: Receipt['outcome'], detail: string): Receipt {
  const { topic, partition, offset, timeMs } = place;
  return { at: timeText(timeMs), topic, place: `${partition}:${offset}`, outcome, detail };
}

function rejectedText({ reason, detail, place, sentAgain }: FoundRejected): string {
  const again = sentAgain === undefined ? '' : `; sent again ${sentAgain}`;
  return `${reason}: ${detail} (rejected show ${place.partition}:${place.offset})${again}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The story for whom one destination belongs. No place is in it, because topics are shared.
 * @param own of `ownEvidence`
 * @returns undefined if nothing of the event has come to the destination
 */
export function ownStory(own: Evidence): Story | undefined {
  const story = tellStory(own);
  const told = story.destinations[0];
  if (told === undefined) return undefined;
  const happened = own.lines.map((line) => ({ at: line.at, what: describeLine(line) }));
  const detail = told.state === 'paused' ? 'kept: its destination is paused' : told.detail;
  return {
    ...story,
    received: [],
    destinations: [{ ...told, detail, place: null, happened }],
  };
}

/**
 * The evidence of the event in the records and lines of one destination alone, because another
 * source may have sent another event with the same message id.
 */
export function ownEvidence(evidence: Evidence, { id, uid }: Identity): Evidence {
  const isOwn = ({ envelope }: { readonly envelope: Envelope }): boolean =>
    envelope.destinationId === id && isOf({ uid }, envelope);
  const lines = evidence.lines.filter((line) => line.destination === id && isOf({ uid }, line));
  const copies = evidence.copies.filter(isOwn);
  const waiting = evidence.waiting.filter(isOwn);
  const letters = evidence.letters.filter(isOwn);
  const sources = new Set([
    ...lines.map(({ source }) => source),
    ...[...copies, ...waiting, ...letters].map(({ envelope }) => envelope.sourceId),
  ]);
  const source = evidence.rulings?.source?.id;
  const { first } = evidence;
  const isFirst = ({ place }: FoundCall): boolean =>
    first !== undefined && placeOf(place) === placeOf(first.place);
  const isOwnCall = source !== undefined && sources.has(source);
  return {
    ...evidence,
    // The source is that of the first call; the others may be of others.
    calls: isOwnCall ? evidence.calls.filter(isFirst) : [],
    first: isOwnCall ? first : undefined,
    bodies: evidence.bodies.filter((body) => body.id === id && isOf({ uid }, body)),
    rejected: [],
    rulings: undefined,
    lines,
    copies,
    waiting,
    letters,
  };
}
