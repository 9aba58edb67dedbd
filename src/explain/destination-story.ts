import { batchText, describeLine } from '../attempts/describe.ts';
import { timeText } from '../dead-letter/texts.ts';
import { lastText } from '../event/last-answer.ts';
import { identityText, isOf, type Identity } from '../event/uid.ts';
import type { Evidence, EventLine, FoundCopy, FoundLetter, FoundWaiting } from './evidence.ts';
import { placeOf } from './evidence.ts';
import type { Ruling } from './rulings.ts';

/**
 * `paused`: kept until its destination is resumed. `on-its-way`: a worker has it, or reads it next.
 * `sent-again`: by an operator, and nothing is known since. `done`: its record is finished, and no line shows
 * how. `no-trace`: it should be there.
 */
export type State =
  | 'delivered'
  | 'waiting'
  | 'on-its-way'
  | 'paused'
  | 'dead-letter'
  | 'sent-again'
  | 'dropped'
  | 'done'
  | 'no-trace'
  | 'unwanted';

export interface DestinationStory {
  readonly destination: string;
  /** The uid of the destination; null: the first one of the id. */
  readonly uid: string | null;
  readonly state: State;
  /** Since when the state holds. */
  readonly at: string | null;
  readonly detail: string;
  /** For a waiting event: not tried before this time. */
  readonly until: string | null;
  /** For a waiting event: given up at this time. */
  readonly deadline: string | null;
  /** The present place: `<topic> <partition>:<offset>`. */
  readonly place: string | null;
  /** Why the destination does not get the call, and by which configuration. */
  readonly unwanted: Pick<Ruling, 'by' | 'unwanted'> | null;
  readonly happened: readonly Happening[];
}

export interface Happening {
  readonly at: string;
  readonly what: string;
}

/**
 * Destinations that have or had the event come first. Which of its id a destination is, its records say. A ruling says it
 * where there is no record: it may be by a later configuration.
 */
export function destinationsOf({ rulings, lines, ...found }: Evidence): readonly Identity[] {
  const touched = [
    ...lines.map(({ destination: id, uid }) => ({ id, uid })),
    ...[...found.copies, ...found.waiting, ...found.letters].map(({ envelope }) => ({
      id: envelope.destinationId,
      uid: envelope.uid,
    })),
  ];
  const isTouched = new Set(touched.map(({ id }) => id));
  const ruled = (rulings?.all ?? []).filter(({ destination }) => !isTouched.has(destination));
  const wanting = ruled.filter(({ unwanted }) => unwanted === undefined).map(ruledIdentity);
  const all = new Map<string, Identity>();
  const had = [...touched, ...wanting].sort((a, b) => compare(identityText(a), identityText(b)));
  for (const each of [...had, ...ruled.map(ruledIdentity)])
    if (!all.has(identityText(each))) all.set(identityText(each), each);
  return [...all.values()];
}

function ruledIdentity({ destination: id, uid }: Ruling): Identity {
  return { id, uid };
}

/** The evidence about one destination. */
interface Known {
  readonly lines: readonly EventLine[];
  readonly copies: readonly FoundCopy[];
  readonly waiting: FoundWaiting | undefined;
  readonly letters: readonly FoundLetter[];
  readonly ruling: Ruling | undefined;
  readonly isRouted: boolean;
}

type Ending = Pick<DestinationStory, 'state' | 'detail'> &
  Partial<Pick<DestinationStory, 'at' | 'until' | 'deadline' | 'place'>>;

export function tellDestination(destination: Identity, evidence: Evidence): DestinationStory {
  const known = knownOf(destination, evidence);
  const { ruling } = known;
  const ending = endingOf(known);
  const isUnwanted = ruling?.unwanted !== undefined && ending.state === 'unwanted';
  return {
    destination: destination.id,
    uid: destination.uid ?? null,
    state: ending.state,
    at: ending.at ?? null,
    detail: ending.detail,
    until: ending.until ?? null,
    deadline: ending.deadline ?? null,
    place: ending.place ?? null,
    unwanted: isUnwanted ? { unwanted: ruling.unwanted, by: ruling.by } : null,
    happened: happeningsOf(known),
  };
}

function knownOf(
  destination: Identity,
  { lines, copies, letters, waiting, ...rest }: Evidence,
): Known {
  const { id } = destination;
  const isItsOwn = ({ envelope }: FoundCopy | FoundLetter): boolean =>
    envelope.destinationId === id && isOf(destination, envelope);
  const own = lines.filter((line) => line.destination === id && isOf(destination, line));
  const lastMs = own.reduce((last, { at }) => Math.max(last, Date.parse(at)), -Infinity);
  return {
    lines: own,
    copies: copies.filter(isItsOwn),
    // A record that a worker has taken and not committed is still in the topic. The worker took it when it
    // was due.
    waiting: waiting.findLast((each) => isItsOwn(each) && !(lastMs > (each.dueMs ?? Infinity))),
    letters: letters.filter(isItsOwn),
    ruling: rest.rulings?.all.find((ruling) => ruling.destination === id),
    isRouted: rest.calls.some(({ isAhead }) => !isAhead),
  };
}

/** The event's end, by the latest evidence. */
function endingOf(known: Known): Ending {
  const { lines, copies, waiting, letters, ruling, isRouted } = known;
  const last = lines.findLast(({ kind }) => kind !== 'attempt') ?? lines.at(-1);
  const delivered = lines.findLast(
    (line) => line.kind === 'attempt' && line.outcome === 'delivered',
  );
  const letter = letters.at(-1);
  const sentAgain = letter?.sentAgain;
  if (delivered !== undefined && (letter === undefined || isSince(delivered, letter)))
    return { state: 'delivered', at: delivered.at, detail: deliveredText(delivered) };
  if (waiting !== undefined) return waitingEnding(waiting, last);
  if (last?.kind === 'dropped') {
    const whose = last.by === 'user' ? 'its user' : 'the previous id of its alias';
    return { state: 'dropped', at: last.at, detail: `${whose} was deleted after the call` };
  }
  if (letter !== undefined) {
    const isOpen = !lines.some((line) => isSince(line, letter));
    if (isOpen && sentAgain !== undefined)
      return { state: 'sent-again', at: sentAgain, detail: 'nothing has happened to it since' };
    if (sentAgain === undefined)
      return letter.kind === 'kept' ? keptEnding(letter) : letterEnding(letter);
  }
  if (last !== undefined) return openEnding(last);
  const copy = copies.at(-1);
  if (copy !== undefined) return copyEnding(copy);
  if (ruling?.unwanted !== undefined) {
    const by =
      ruling.by === 'then'
        ? ''
        : ' (by its current configuration, because the former one is no longer kept)';
    return { state: 'unwanted', detail: `${ruling.detail}${by}` };
  }
  return isRouted
    ? { state: 'no-trace', detail: 'no record and no line of it is kept' }
    : { state: 'on-its-way', detail: 'the router has not read it yet' };
}

/** Says whether the line is about the event after it was sent again, by the operator's clock. */
function isSince(
  { redrivenAt = '' }: EventLine,
  { envelope: { redrivenMs } }: FoundLetter,
): boolean {
  return redrivenAt > (redrivenMs === undefined ? '' : timeText(redrivenMs));
}

function deliveredText(line: EventLine): string {
  if (line.kind !== 'attempt') return '';
  return `at attempt ${line.attempt}${batchText(line)}, in ${line.tookMs} ms`;
}

function waitingEnding(waiting: FoundWaiting, last: EventLine | undefined): Ending {
  const { place, dueMs, deadlineMs, events, envelope } = waiting;
  const cause = last?.kind === 'deferred' && last.cause !== undefined ? `, ${last.cause}` : '';
  const tries = envelope.attempts === 1 ? '1 attempt' : `${envelope.attempts} attempts`;
  const others = events > 1 ? `, packed with ${events - 1} others` : '';
  const said = envelope.lastAnswer === undefined ? '' : `; ${lastText(envelope.lastAnswer)}`;
  return {
    state: 'waiting',
    at: timeText(place.timeMs),
    detail: `after ${tries}${cause}${others}${said}`,
    until: dueMs === undefined ? null : timeText(dueMs),
    deadline: deadlineMs === undefined ? null : timeText(deadlineMs),
    place: placeOf(place),
  };
}

function letterEnding({ place, reason, detail, answer }: FoundLetter): Ending {
  const said =
    answer === undefined || detail.includes('last answer') ? '' : `; it said "${answer}"`;
  return {
    state: 'dead-letter',
    at: timeText(place.timeMs),
    detail: `${reason}${detail === '' ? '' : `: ${detail}`}${said}`,
    place: placeOf(place),
  };
}

function keptEnding({ place, envelope }: FoundLetter): Ending {
  return {
    state: 'paused',
    at: timeText(place.timeMs),
    detail: `kept; \`postrider resume ${envelope.destinationId}\` sends it`,
    place: placeOf(place),
  };
}

/** Its last line is not an end. */
function openEnding(line: EventLine): Ending {
  switch (line.kind) {
    case 'retry':
    case 'deferred':
      return {
        state: 'waiting',
        at: line.at,
        detail: describeLine(line),
        until: line.until ?? null,
        deadline: line.deadline ?? null,
      };
    case 'kept':
      return { state: 'paused', at: line.at, detail: describeLine(line) };
    case 'dead-letter':
      return { state: 'dead-letter', at: line.at, detail: `${line.reason}: ${line.detail}` };
    case 'attempt':
    case 'dropped':
      return { state: 'on-its-way', at: line.at, detail: describeLine(line) };
  }
}

function copyEnding({ place, isAhead }: FoundCopy): Ending {
  const at = timeText(place.timeMs);
  if (isAhead)
    return {
      state: 'on-its-way',
      at,
      detail: 'no worker has finished with it yet',
      place: placeOf(place),
    };
  const detail =
    'it neither waits nor is a dead letter: it was delivered at the first attempt, unless ATTEMPTS is off';
  return { state: 'done', at, detail };
}

// What happened

function happeningsOf({ lines, copies, letters }: Known): readonly Happening[] {
  const isTold = (letter: FoundLetter): boolean => lines.some(({ kind }) => kind === letter.kind);
  // An event that came back from the dead letters is described with its letter.
  const firstLetterMs = letters[0]?.place.timeMs ?? Infinity;
  const isByRouter = ({ place }: FoundCopy): boolean => place.timeMs < firstLetterMs;
  return [
    ...copies.filter(isByRouter).map(({ place, envelope }) => ({
      at: timeText(place.timeMs),
      what: `routed to ${placeOf(place)}, with the configuration up to offset ${envelope.configOffset}`,
    })),
    ...lines.map((line) => ({ at: line.at, what: describeLine(line) })),
    ...letters.flatMap((letter) => [
      ...(isTold(letter) ? [] : [{ at: timeText(letter.place.timeMs), what: deadText(letter) }]),
      ...sendingAgain(letter, lines),
    ]),
  ].sort((a, b) => compare(a.at, b.at));
}

/** At the time that the event itself bears: the letter is marked later, when the event may be delivered. */
function sendingAgain(letter: FoundLetter, lines: readonly EventLine[]): readonly Happening[] {
  if (letter.sentAgain === undefined) return [];
  const since = lines.find((line) => isSince(line, letter));
  return [
    {
      at: since?.redrivenAt ?? letter.sentAgain,
      what: `sent again from ${placeOf(letter.place)}`,
    },
  ];
}

function deadText({ kind, reason, detail }: FoundLetter): string {
  if (kind === 'kept') return 'kept: its destination is paused';
  return `dead letter: ${reason}${detail === '' ? '' : `: ${detail}`}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
