import { describeLine } from '../attempts/describe.ts';
import type { Envelope } from '../event/envelope.ts';
import { isOf, type Identity } from '../event/uid.ts';
import { placeOf, type Evidence, type FoundCall } from './evidence.ts';
import { tellStory, type Story } from './story.ts';

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
 * What is known of the event from the records and lines of one destination alone, because another source may have sent
 * another event with the same message id.
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
