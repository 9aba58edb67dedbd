import { AttemptReader } from '../attempts/read-attempts.ts';
import { isSelectedDeadLetter } from '../dead-letter/dead-letter.ts';
import { pauseDestination } from '../dead-letter/pause.ts';
import {
  countDeadLetters,
  outcomeOf,
  redriveDeadLetters,
  withWaysBack,
  type DeadRedrive,
} from '../dead-letter/redrive-dead-letters.ts';
import { resumeDestinations } from '../dead-letter/resume.ts';
import { retryDestinations } from '../dead-letter/retry.ts';
import type { Letter } from '../dead-letter/letter.ts';
import { lettersOfCustomer } from '../dead-letter/of-customer.ts';
import {
  countRejected,
  redriveRejected,
  type RejectedRedrive,
} from '../dead-letter/redrive-rejected.ts';
import { isSelectedCall } from '../dead-letter/rejected.ts';
import type { Selection } from '../dead-letter/search.ts';
import type { Caller, Remedies, ServiceAccess } from '../dead-letter/service.ts';
import { PostriderError } from '../errors.ts';
import type { RunOutcome } from '../event/audit-entry.ts';
import { deadLetterReasons, isDeadLetterReason } from '../event/dead-letter-reasons.ts';
import { deliveryKey } from '../event/envelope.ts';
import { rejectReasons } from '../event/rejection.ts';
import { findSource } from '../resources/config/config-topic.ts';
import type { StoredResources } from '../resources/config/stored-resources.ts';
import { parseRate } from '../resources/schema/texts.ts';

/** The means of operations. */
export type OperationAccess = ServiceAccess;

/** The answer of one URL of a destination to a test event, or to an event that waited. */
export interface TestAnswer {
  readonly url: string;
  readonly outcome: 'delivered' | 'failed' | 'refused';
  readonly status?: number;
  readonly detail?: string;
  /** The beginning of its body, if it was no success. */
  readonly answer?: string;
  readonly tookMs: number;
}

/** The actions that an operator can have done. */
export interface Operations {
  /** @throws PostriderError `not-found`, `resource-invalid` */
  sendTest(destination: string): Promise<readonly TestAnswer[]>;
  /**
   * Has what waits for it sent now, and resolves to what its endpoint answered to the first of these events.
   * @throws PostriderError `not-found`, `resource-invalid`
   */
  retry(destination: string): Promise<readonly TestAnswer[]>;
  /** @throws PostriderError `not-found` */
  pause(destination: string): Promise<void>;
  /** Resumes at once, and resolves when all that was kept is sent. The work throws PostriderError `not-found`. */
  resume(destination: string): Work;
  /**
   * Sends dead letters again. The work throws PostriderError `busy` while another redrive runs, and `not-found` for a
   * customer without destinations.
   * @throws PostriderError `usage`
   */
  redrive(selection: LetterChoice): Work;
  /**
   * Tells of each event that a redrive would send, as if it was sent.
   * @throws PostriderError `usage`
   */
  count(selection: LetterChoice): Work;
  /** The same for calls that could not be routed, which go back to their ingest topic. */
  redriveCalls(selection: CallChoice): Work;
  countCalls(selection: CallChoice): Work;
}

/** The choice of records to send again, and how fast. */
interface Choice {
  readonly reason?: string;
  /** ISO 8601. */
  readonly since?: string;
  readonly until?: string;
  /** `<partition>:<offset>` in their topic; nothing else is chosen beside them. */
  readonly places?: readonly string[];
  /** Also those that were sent again before. */
  readonly again?: boolean;
  /** For example `100/s`. */
  readonly rate?: string;
}

/** A choice of dead letters. */
export interface LetterChoice extends Choice {
  readonly destination?: string;
  /** All destinations that the customer has when it begins. */
  readonly customer?: string;
  readonly message?: string;
  readonly user?: string;
}

/** A choice of rejected calls. */
export interface CallChoice extends Choice {
  readonly source?: string;
}

/** Something that takes long. */
export type Work = (run: Run) => Promise<RunEnd>;

/** The means that a run gets from its caller. */
export interface Run {
  /** Ends it early; what was begun is finished. */
  readonly signal: AbortSignal;
  /** Called for each event that is safe. */
  readonly onSent: () => void;
}

export interface RunEnd {
  readonly outcome?: RunOutcome;
  /** A sentence for a person, such as what was left out. */
  readonly detail?: string;
}

/** Events a second. Live traffic goes first in any case. */
const usualRate = 100;
/** Calls a second: these go through the router again. */
const usualCallRate = 500;
/** A run looks so long what becomes of the events that it sent. */
const waitMs = 30_000;

/** A page waits for what is answered, and for what is written then. */
const retryMs = 30_000;

/** The ways around an objection. Commands stand for what the page cannot do. */
const remedies: Remedies = {
  again: 'choose to send again what was sent before to include them',
  unreachable: '`postrider dead-letters redrive --all-destinations` sends them too',
  earlier: '`postrider dead-letters redrive --earlier` sends them to the one that has it now',
  goOn: 'sending the same again continues where this one stopped',
};

const callRemedies: RejectedRedrive['remedies'] = {
  again: 'choose to send again what was sent before to include them',
  invalid: 'select their reason to send them anyway',
  goOn: 'sending the same again continues where this one stopped',
};

/** Sends a test event. Nothing that delivers is imported here, so the caller hands it over. */
export type SendTest = (
  access: Pick<OperationAccess, 'withConfig'>,
  destination: string,
) => ReturnType<Operations['sendTest']>;

export function createOperations(access: ServiceAccess, sendTest: SendTest): Operations {
  return {
    sendTest: (id) => sendTest(access, id),
    retry: async (id) => {
      const signal = AbortSignal.timeout(retryMs);
      const attempts = new AttemptReader(access.kafka, access.topology.topics.attempts, {});
      const caller = { attempts, signal, onAnswer: () => undefined };
      const answers = await retryDestinations(access, [id], caller);
      return [...answers.values()].map(({ url, outcome, status, detail, answer, tookMs }) => ({
        url,
        outcome,
        ...(status === undefined ? {} : { status }),
        ...(detail === undefined ? {} : { detail }),
        ...(answer === undefined ? {} : { answer }),
        tookMs,
      }));
    },
    pause: async (id) => {
      await pauseDestination(access, id);
    },
    resume: (id) => async (run) => {
      const { leftOut } = await resumeDestinations(access, [id], usualRate, callerOf(run));
      return detailOf(leftOut);
    },
    redrive: (selection) => {
      const chosen = redriveOf(access, selection);
      return async (run) => {
        const result = await withWaysBack(access, (ways) =>
          redriveDeadLetters(access, ways, chosen(ways.config.resources), callerOf(run)),
        );
        if (result.failure !== undefined) throw result.failure;
        const outcome = outcomeOf(result);
        const detail = detailOf(result.leftOut.sentences());
        return outcome === undefined ? detail : { ...detail, outcome };
      };
    },
    count: (selection) => {
      const chosen = redriveOf(access, selection);
      return async (run) => {
        const { leftOut } = await withWaysBack(access, (ways) =>
          countDeadLetters(access, ways, chosen(ways.config.resources), callerOf(run)),
        );
        return detailOf(leftOut.sentences());
      };
    },
    redriveCalls: (choice) => {
      const begin = callRedriveOf(access, choice);
      return async (run) => {
        const { failure, leftOut } = await redriveRejected(access, await begin(), callerOf(run));
        if (failure !== undefined) throw failure;
        return detailOf(leftOut.sentences());
      };
    },
    countCalls: (choice) => {
      const begin = callRedriveOf(access, choice);
      return async (run) => {
        const { leftOut } = await countRejected(access, await begin(), callerOf(run));
        return detailOf(leftOut.sentences());
      };
    },
  };
}

/**
 * @returns finds the destinations of a customer that was chosen, as the configuration is when the work begins
 * @throws PostriderError `usage`
 */
function redriveOf(
  access: ServiceAccess,
  { destination, customer, reason, message, user, ...choice }: LetterChoice,
): (stored: StoredResources) => DeadRedrive {
  if (destination !== undefined && customer !== undefined)
    throw new PostriderError('usage', 'give either a destination or a customer, not both');
  if (reason !== undefined && !isDeadLetterReason(reason)) {
    const allowed = `${Object.keys(deadLetterReasons).join(', ')}, http-<status>, http-4xx`;
    throw new PostriderError('usage', `${reason} is not a reason; allowed: ${allowed}`);
  }
  const reasons = reason === undefined ? undefined : new Set([reason]);
  const named = destination === undefined ? undefined : new Set([destination]);
  const isKeyKnown = destination !== undefined && user !== undefined;
  const key = isKeyKnown ? deliveryKey(destination, user) : undefined;
  const where = placesAndArea(choice, key, [destination, customer, reason, message, user]);
  const how = howOf(choice, usualRate, access.clock.now());
  return (stored) => {
    const own = customer === undefined ? undefined : lettersOfCustomer(stored, customer);
    const destinations = own?.destinations ?? named;
    const selected = { destinations, reasons, user, messageId: message };
    return {
      selection: {
        ...where,
        matches: (letter) => isSelectedDeadLetter(letter, selected) && own?.has(letter) !== false,
      },
      destinations,
      named,
      ...how,
      waitMs,
      remedies,
    };
  };
}

/**
 * @returns looks the source up that was chosen
 * @throws PostriderError `usage`
 */
function callRedriveOf(
  access: ServiceAccess,
  { source, reason, ...choice }: CallChoice,
): () => Promise<RejectedRedrive> {
  if (reason !== undefined && !Object.hasOwn(rejectReasons, reason)) {
    const allowed = Object.keys(rejectReasons).join(', ');
    throw new PostriderError('usage', `${reason} is not a reason; allowed: ${allowed}`);
  }
  const reasons = reason === undefined ? undefined : new Set([reason]);
  const where = placesAndArea(choice, undefined, [source, reason]);
  const how = howOf(choice, usualCallRate, access.clock.now());
  return async () => {
    const found = source === undefined ? undefined : await findSource(access, source);
    const writeKeys = found && new Set(found.writeKeys);
    return {
      selection: { ...where, matches: (call) => isSelectedCall(call, { reasons, writeKeys }) },
      // Naming reasons or places means these calls.
      alsoInvalid: reason !== undefined || choice.places !== undefined,
      ...how,
      remedies: callRemedies,
    };
  };
}

/**
 * @param others what else was chosen
 * @throws PostriderError `usage`
 */
function placesAndArea(
  { places, since, until }: Choice,
  key: string | undefined,
  others: readonly (string | undefined)[],
): Pick<Selection<Letter>, 'places' | 'area'> {
  const isChosen = [since, until, ...others].some((each) => each !== undefined);
  if (places !== undefined && isChosen)
    throw new PostriderError('usage', 'give either places or fields that select, not both');
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  const untilMs = until === undefined ? undefined : Date.parse(until);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new PostriderError('usage', 'since must be earlier than until');
  const area = { sinceMs, untilMs, key };
  if (places === undefined) return { area };
  return {
    area,
    places: places.map((text) => {
      const [partition = '', offset = ''] = text.split(':');
      return { partition: Number(partition), offset: Number(offset) };
    }),
  };
}

/** @throws PostriderError `usage` */
function howOf(
  { again, rate }: Choice,
  usual: number,
  nowMs: number,
): { readonly rate: number; readonly againMs: number | undefined } {
  const perSecond = rate === undefined ? usual : parseRate(rate);
  if (perSecond === undefined)
    throw new PostriderError('usage', `rate is ${rate}; allowed: a rate such as 100/s or 30/m`);
  return { rate: perSecond, againMs: again === true ? nowMs : undefined };
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
