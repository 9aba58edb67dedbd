import { mostInFlight } from '../../../src/dead-letter/redrive.ts';
import type { Aftermath, Rule } from './invariants.ts';
import type { CommandRun } from './operators.ts';
import { hidesKafka } from './scenario.ts';
import type { LoggedLetter, Span } from './sent-again.ts';

/** Until all have heard of a pause, and have ended what they had begun. */
const heardMs = 10_000;
/** Until everybody knows again what could not be heard of: a partition that was refused rests for half a minute. */
const knownAgainMs = 60_000;

/** What operators are promised. */
export const operatorRules: Readonly<Record<string, Rule>> = {
  "operators' commands end well when all is well": function* ({ deployment }) {
    yield* deployment.operators?.unfinished ?? [];
  },

  'what is marked as sent again was sent before': function* ({ ledger: { sentAgain } }) {
    const marks = sentAgain.marksMs();
    for (const [name, letters] of byName(sentAgain.letters)) {
      const marksMs = letters.flatMap(({ place }) => marks.get(place) ?? []).toSorted(ascending);
      const copiesMs = (sentAgain.copiesMs.get(name) ?? []).toSorted(ascending);
      const early = marksMs.findIndex((atMs, index) => atMs < (copiesMs[index] ?? Infinity));
      if (early >= 0) yield `${name} has mark ${early + 1}, and ${copiesMs.length} copies`;
    }
  },

  'what is marked as sent again is not sent again': function* (aftermath) {
    const isExcused = hidden(aftermath);
    const { sentAgain } = aftermath.ledger;
    const marks = sentAgain.marksMs();
    for (const [name, letters] of byName(sentAgain.letters))
      for (const copyMs of sentAgain.copiesMs.get(name) ?? []) {
        const isUnmarked = ({ place, atMs }: LoggedLetter): boolean =>
          atMs <= copyMs && (marks.get(place) ?? []).every((markMs) => markMs >= copyMs);
        if (!letters.some(isUnmarked) && !isExcused(copyMs)) yield `${name} at ${copyMs}`;
      }
  },

  'only commands that did not end well repeat what they sent, and little': function* (aftermath) {
    const { sentAgain } = aftermath.ledger;
    const marks = sentAgain.marksMs();
    let repeated = 0;
    for (const [name, letters] of byName(sentAgain.letters)) {
      const marked = letters.filter(({ place }) => marks.has(place)).length;
      repeated += Math.max(0, (sentAgain.copiesMs.get(name) ?? []).length - marked);
    }
    const mayRepeat = runsOf(aftermath).filter(({ end, wasAway }) => end !== 'well' || wasAway);
    const most = mayRepeat.reduce((sum, { words }) => sum + mostInFlight(rateOf(words)), 0);
    if (repeated > most) yield `${repeated} after ${mayRepeat.length} runs that did not end well`;
  },

  'nothing that was kept is forgotten': function* ({ ledger }) {
    const { sentAgain } = ledger;
    const marks = sentAgain.marksMs();
    for (const { name, messageId, place, isKept, atMs } of sentAgain.letters) {
      if (!isKept || marks.has(place)) continue;
      const endedMs = ledger.endedMs(name);
      // A worker sends what Kafka kept so late that a resume may not have found it.
      if (endedMs >= atMs) continue;
      // A worker that its group went on without had it too, and keeps what another one has brought to its end.
      if (endedMs >= (sentAgain.lastMs(name) ?? 0)) continue;
      const call = ledger.calls.get(messageId);
      if (call === undefined || !ledger.wasDeleted(call)) yield `${name} at ${place}`;
    }
  },

  'a redrive that ends well has sent all that it was to send': function* (aftermath) {
    const { ledger } = aftermath;
    const marks = ledger.sentAgain.marksMs();
    const pauses = ledger.sentAgain.pauses();
    for (const run of runsOf(aftermath)) {
      if (!run.words.includes('redrive') || run.end !== 'well') continue;
      const only = run.words[run.words.indexOf('--destination') + 1];
      for (const letter of ledger.sentAgain.letters) {
        const { name, destinationId, messageId, place, isKept, visibleMs } = letter;
        if (isKept || visibleMs >= run.fromMs) continue;
        if (run.words.includes('--destination') && destinationId !== only) continue;
        if ((marks.get(place) ?? []).some((markMs) => markMs <= run.untilMs)) continue;
        if ((pauses.get(destinationId) ?? []).some((each) => meet(each, run))) continue;
        const call = ledger.calls.get(messageId);
        if (call === undefined || !ledger.wasDeleted(call))
          yield `${run.name}: ${name} at ${place}`;
      }
    }
  },

  'nothing is sent again while its destination is paused': function* (aftermath) {
    const isExcused = hidden(aftermath);
    const { sentAgain } = aftermath.ledger;
    const pauses = sentAgain.pauses();
    for (const [name, copiesMs] of sentAgain.copiesMs) {
      const spans = pauses.get(name.split(' ')[0] ?? '') ?? [];
      for (const copyMs of copiesMs)
        if (spans.some(isWithin(copyMs)) && !isExcused(copyMs)) yield `${name} at ${copyMs}`;
    }
  },

  'nothing is sent to a destination that is paused': function* (aftermath) {
    const isExcused = hidden(aftermath);
    const pauses = aftermath.ledger.sentAgain.pauses();
    for (const { destinationId, messageId, atMs } of aftermath.deployment.endpoints.attempts)
      if (pauses.get(destinationId)?.some(isWithin(atMs)) === true && !isExcused(atMs))
        yield `${messageId} to ${destinationId} at ${atMs}`;
  },
};

/**
 * Whether somebody who was suspended or cut off, or from whom Kafka hid it, may not know what others have done; or a
 * command that was away may not have found that out yet.
 */
function hidden(aftermath: Aftermath): (atMs: number) => boolean {
  const { scenario, deployment } = aftermath;
  const spans = scenario.faults.flatMap((fault): Span[] => {
    if (!('forMs' in fault) || !(hidesKafka.has(fault.kind) || fault.kind === 'suspend')) return [];
    const fromMs = deployment.time.startMs + fault.atMs;
    return [{ fromMs, untilMs: fromMs + fault.forMs + knownAgainMs }];
  });
  const away = runsOf(aftermath).filter(({ wasAway }) => wasAway);
  return (atMs) =>
    [...spans, ...away].some(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs);
}

/** A run without a rate may have the default of a hundred for each of all destinations. */
function rateOf(words: readonly string[]): number {
  return Number.parseFloat(words[words.indexOf('--rate') + 1] ?? '') || 1_000;
}

function runsOf({ deployment }: Aftermath): readonly CommandRun[] {
  return deployment.operators?.runs ?? [];
}

function isWithin(atMs: number): (span: Span) => boolean {
  return ({ fromMs, untilMs }) => atMs > fromMs + heardMs && atMs < untilMs;
}

function meet(a: Span, b: Span): boolean {
  return a.fromMs <= b.untilMs && b.fromMs <= a.untilMs;
}

function byName(letters: readonly LoggedLetter[]): Map<string, LoggedLetter[]> {
  return Map.groupBy(letters, ({ name }) => name);
}

function ascending(a: number, b: number): number {
  return a - b;
}
