import { isSelectedDeadLetter } from '../../dead-letter/dead-letter.ts';
import { pauseDestination } from '../../dead-letter/pause.ts';
import {
  countDeadLetters,
  outcomeOf,
  redriveDeadLetters,
  withWaysBack,
  type DeadRedrive,
} from '../../dead-letter/redrive-dead-letters.ts';
import { resumeDestinations } from '../../dead-letter/resume.ts';
import type { Caller, Remedies, ServiceAccess } from '../../dead-letter/service.ts';
import { PostriderError } from '../../errors.ts';
import type { RunOutcome } from '../../event/audit-entry.ts';
import { deadLetterReasons, isDeadLetterReason } from '../../event/dead-letter-reasons.ts';

/** What an operator can have done. */
export interface Operations {
  /** @throws PostriderError `not-found`, `resource-invalid` */
  sendTest(destination: string): Promise<readonly TestAnswer[]>;
  /** @throws PostriderError `not-found` */
  pause(destination: string): Promise<void>;
  /** Resumes at once, and resolves when all that was kept is sent. The work throws PostriderError `not-found`. */
  resume(destination: string): Work;
  /**
   * Sends dead letters again. The work throws PostriderError `busy` while another redrive runs.
   * @throws PostriderError `usage`
   */
  redrive(selection: Selection): Work;
  /**
   * Tells of each event that a redrive would send, as if it was sent.
   * @throws PostriderError `usage`
   */
  count(selection: Selection): Work;
}

/** What one URL of a destination made of a test event. */
export interface TestAnswer {
  readonly url: string;
  readonly outcome: 'delivered' | 'failed' | 'refused';
  readonly status?: number;
  readonly detail?: string;
  /** How the body of an answer begins that was no success. */
  readonly answer?: string;
  readonly tookMs: number;
}

/** Which dead letters. */
export interface Selection {
  readonly destination?: string;
  readonly reason?: string;
  /** ISO 8601. */
  readonly since?: string;
  readonly until?: string;
}

/** Something that takes long. */
export type Work = (run: Run) => Promise<RunEnd>;

/** What a run is given by its caller. */
export interface Run {
  /** Ends it early; what was begun is finished. */
  readonly signal: AbortSignal;
  /** Called for each event that is safe. */
  readonly onSent: () => void;
}

export interface RunEnd {
  /** What became of the events until now. */
  readonly outcome?: RunOutcome;
  /** What a person should know besides. */
  readonly detail?: string;
}

/** Events a second. Live traffic goes first in any case. */
const usualRate = 100;
/** How long to look what becomes of what was sent. */
const waitMs = 30_000;

/** What the page cannot do is named as the command that does it. */
const remedies: Remedies = {
  again: '`postrider dead-letters redrive --again` sends them too',
  unreachable: '`postrider dead-letters redrive --all-destinations` sends them too',
  earlier: '`postrider dead-letters redrive --earlier` sends them to the one that has it now',
  goOn: 'sending the same again continues where this one stopped',
};

/** @param sendTest the console imports no stage that delivers */
export function createOperations(
  access: ServiceAccess,
  sendTest: Operations['sendTest'],
): Operations {
  return {
    sendTest,
    pause: async (id) => {
      await pauseDestination(access, id);
    },
    resume: (id) => async (run) => {
      const { leftOut } = await resumeDestinations(access, [id], usualRate, callerOf(run));
      return detailOf(leftOut);
    },
    redrive: (selection) => {
      const chosen = redriveOf(selection);
      return async (run) => {
        const result = await withWaysBack(access, (ways) =>
          redriveDeadLetters(access, ways, chosen, callerOf(run)),
        );
        if (result.failure !== undefined) throw result.failure;
        const outcome = outcomeOf(result);
        const detail = detailOf(result.leftOut.sentences());
        return outcome === undefined ? detail : { ...detail, outcome };
      };
    },
    count: (selection) => {
      const chosen = redriveOf(selection);
      return async (run) => {
        const { leftOut } = await withWaysBack(access, (ways) =>
          countDeadLetters(access, ways, chosen, callerOf(run)),
        );
        return detailOf(leftOut.sentences());
      };
    },
  };
}

/** @throws PostriderError `usage` */
function redriveOf({ destination, reason, since, until }: Selection): DeadRedrive {
  if (reason !== undefined && !isDeadLetterReason(reason)) {
    const allowed = `${Object.keys(deadLetterReasons).join(', ')}, http-<status>, http-4xx`;
    throw new PostriderError('usage', `${reason} is not a reason; allowed: ${allowed}`);
  }
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  const untilMs = until === undefined ? undefined : Date.parse(until);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new PostriderError('usage', 'since must be earlier than until');
  const reasons = reason === undefined ? undefined : new Set([reason]);
  const destinations = destination === undefined ? undefined : new Set([destination]);
  return {
    selection: {
      area: { sinceMs, untilMs, key: undefined },
      matches: (letter) => isSelectedDeadLetter(letter, { destinations, reasons }),
    },
    destinations,
    rate: usualRate,
    waitMs,
    remedies,
  };
}

function callerOf({ signal, onSent }: Run): Caller {
  return {
    signal,
    onProgress: ({ kind }) => {
      if (kind === 'sent') onSent();
    },
  };
}

function detailOf(sentences: readonly string[]): Pick<RunEnd, 'detail'> {
  return sentences.length === 0 ? {} : { detail: sentences.join('. ') };
}
