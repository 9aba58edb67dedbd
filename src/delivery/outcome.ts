import type { AnswerRule } from '../event/attempt-line.ts';
import { shortened } from '../event/last-answer.ts';
import { longestRetryAfterMs } from './http/retry-after.ts';
import { redirectHint, type KeptAnswer } from './kept-answer.ts';

/** The result of one try at one URL. */
export type Outcome = Delivered | Failed;
export type Failed = Retryable | Permanent;

export interface Delivered {
  readonly kind: 'delivered';
  /** Status of the endpoint's answer, as everywhere here. */
  readonly status?: number;
  /** The fault of the answer, if it had one. */
  readonly detail?: string;
  /** The outcome of each event of a batch, where the answer tells them apart. */
  readonly each?: readonly Outcome[];
}

export interface Retryable {
  readonly kind: 'retryable';
  readonly cause: RetryCause;
  /** The failure in words, for people. */
  readonly detail: string;
  /** The time for which the endpoint asked to be left alone. */
  readonly retryAfterMs?: number;
  readonly status?: number;
  readonly answer?: KeptAnswer;
  /** The rule of the destination that the answer met, in the place of the default. */
  readonly rule?: AnswerRule;
  /** The try failed before there was a connection: nobody answered, or there was no route. */
  readonly unreached?: true;
  /** Nothing came back by a connection that was kept, so whether anybody can be reached is not known. */
  readonly silent?: true;
}

export interface Permanent {
  readonly kind: 'permanent';
  readonly reason: PermanentReason;
  readonly detail: string;
  readonly status?: number;
  readonly answer?: KeptAnswer;
  readonly rule?: AnswerRule;
}

/** The rule for each status for which the destination has one. */
export type AnswerRules = ReadonlyMap<number, AnswerRule>;

/** The words for a try in messages and in the topic `attempts`. */
export const outcomeNames: Readonly<Record<Outcome['kind'], 'delivered' | 'failed' | 'refused'>> = {
  delivered: 'delivered',
  retryable: 'failed',
  permanent: 'refused',
};

/** Causes of a failed request. */
export const requestFailures = [
  'timeout',
  'status-5xx',
  'status-4xx',
  'status-408',
  'status-410',
  'status-425',
  'status-429',
  'status-retry-on',
  'connection',
  'dns',
  'tls',
  'local',
  'cut-off',
  'proxy',
  'token',
  'other',
] as const;

export type EndpointCondition = 'up' | 'down' | 'unknown';

export type RetryCause = (typeof requestFailures)[number] | 'skipped';

/** Failures that no later attempt with the same configuration would fix. */
export type PermanentReason =
  `http-${number}` | 'tls-untrusted' | 'address-refused' | 'not-http' | 'no-url';

export const unanswered = [
  'expired',
  'expired-late',
  'too-old',
  'destination-disabled',
  'destination-deleted',
  'malformed',
  'record-refused',
] as const;

/** Why an event is given up. */
export type DeadLetterReason = PermanentReason | (typeof unanswered)[number];

export const delivered: Delivered = Object.freeze({ kind: 'delivered' });

const byStatus = new Map<number, Delivered>();

/** One object for each status, because millions of answers share a few statuses. */
export function deliveredWith(status: number): Delivered {
  const known = byStatus.get(status);
  if (known !== undefined) return known;
  const made: Delivered = Object.freeze({ kind: 'delivered', status });
  byStatus.set(status, made);
  return made;
}

/** The head of an answer says that the endpoint has taken the event, and this came of the rest. */
export function deliveredDespite(status: number, { detail }: Failed): Delivered {
  return { kind: 'delivered', status, detail };
}

/** A URL that was not tried because its breaker is open. */
export const skipped: Retryable = Object.freeze({
  kind: 'retryable',
  cause: 'skipped',
  detail: 'not sent, because its breaker is open',
});

export const timedOut: Retryable = Object.freeze({
  kind: 'retryable',
  cause: 'timeout',
  detail: 'no complete answer in time',
});

export const unreachedInTime: Retryable = Object.freeze({
  kind: 'retryable',
  cause: 'timeout',
  detail: 'no connection in time',
  unreached: true,
});

/** The proxy's own connection was not made in time, so nothing is known of the endpoint. */
export const proxySilent: Retryable = Object.freeze({
  kind: 'retryable',
  cause: 'proxy',
  detail: 'no connection to the proxy in time',
  unreached: true,
});

export const silentOnKeptConnection: Retryable = Object.freeze({ ...timedOut, silent: true });

/** An answer that is delayed without end by 1xx answers: more header than is read. */
export const endlessInterim: Permanent = Object.freeze({
  kind: 'permanent',
  reason: 'not-http',
  detail: 'too many interim answers (1xx)',
});

/**
 * The outcome of a complete answer.
 * @param retryAfter the header's value, or its values, if any
 * @param answer what is kept of it, if it is no success
 * @param rules those of the destination, if it has any
 */
export function outcomeOfStatus(
  status: number,
  retryAfter: string | readonly string[] | undefined,
  nowMs: number,
  answer?: KeptAnswer,
  rules?: AnswerRules,
): Outcome {
  if (status >= 200 && status < 300) return deliveredWith(status);
  const rule = rules?.get(status);
  const cause = rule === 'retry.giveUpOn' ? undefined : retryCauseOfStatus(status, rule);
  const detail = `answered ${status}${meaningOf(status, rule, answer)}`;
  const said = answer === undefined ? { status } : { status, answer };
  const by = rule === undefined ? said : { ...said, rule };
  if (cause === undefined) return { kind: 'permanent', reason: `http-${status}`, detail, ...by };
  const retryAfterMs = longestRetryAfterMs(retryAfter, nowMs);
  return retryAfterMs === undefined
    ? { kind: 'retryable', cause, detail, ...by }
    : { kind: 'retryable', cause, detail, retryAfterMs, ...by };
}

/** The rest of the sentence, where there is more to say than the status. */
function meaningOf(
  status: number,
  rule: AnswerRule | undefined,
  answer: KeptAnswer | undefined,
): string {
  if (rule !== undefined) return ` (${rule})`;
  const location = status >= 300 && status < 400 ? answer?.headers['location'] : undefined;
  return location === undefined ? '' : redirectHint(status, location);
}

/**
 * Answers that speak of the endpoint, as during a deployment or after a change of its credentials, and not of the
 * event. Others of that class are final, as is a redirect.
 */
const aboutEndpoint: ReadonlySet<number> = new Set([401, 403, 404, 405, 407]);

function retryCauseOfStatus(status: number, rule: 'retry.on' | undefined): RetryCause | undefined {
  if (status === 408 || status === 410 || status === 425 || status === 429)
    return `status-${status}`;
  if (aboutEndpoint.has(status)) return 'status-4xx';
  if (status >= 500 && status < 600) return 'status-5xx';
  if (status < 300 || status >= 500) return 'other';
  return rule === undefined ? undefined : 'status-retry-on';
}

/** A path of a resource file, in a detail. */
const mostPathCharacters = 200;

/** @param path of the value that the event lacks */
export function lackText(path: string): string {
  return `it has no ${shortened(path, mostPathCharacters)} for the URL`;
}

/** The outcome for a URL that cannot be made, while another one can. */
export function withoutUrl(path: string): Permanent {
  return { kind: 'permanent', reason: 'no-url', detail: lackText(path) };
}

/**
 * Combines the outcomes of a destination's URLs into one. Any success wins. Otherwise, any retryable failure
 * makes the result retryable, after the shortest `Retry-After` if each of these URLs sent one, because what
 * one URL asks for says nothing about another. Otherwise the first permanent failure counts. So the result is
 * `local` or unreached only if that holds for each retryable failure.
 */
export function worse(a: Outcome | undefined, b: Outcome): Outcome {
  if (a === undefined || b.kind === 'delivered') return b;
  if (a.kind === 'delivered' || b.kind === 'permanent') return a;
  if (a.kind === 'permanent') return b;
  // What happened to a request tells more than a URL that was skipped.
  if (a.cause === 'skipped') return b;
  if (b.cause === 'skipped') return a;
  const [more, less] = tellsMore(b, a) ? [b, a] : [a, b];
  const retryAfterMs = Math.min(more.retryAfterMs ?? 0, less.retryAfterMs ?? 0);
  if ((more.retryAfterMs ?? 0) === retryAfterMs) return more;
  const { kind, cause, detail, status, answer, rule } = more;
  return {
    kind,
    cause,
    detail,
    ...(status === undefined ? {} : { status }),
    ...(answer === undefined ? {} : { answer }),
    ...(rule === undefined ? {} : { rule }),
  };
}

/** An answer tells more than an unreachable endpoint, and either tells more than a local shortage. */
function tellsMore(a: Retryable, b: Retryable): boolean {
  const [weightOfA, weightOfB] = [weight(a), weight(b)];
  if (weightOfA !== weightOfB) return weightOfA > weightOfB;
  return (a.retryAfterMs ?? 0) < (b.retryAfterMs ?? 0);
}

/** Causes that say nothing about the endpoint. */
const saysNothing: ReadonlySet<RetryCause> = new Set(['local', 'cut-off', 'proxy', 'token']);

function weight({ cause, unreached }: Retryable): number {
  if (saysNothing.has(cause)) return 0;
  return unreached ? 1 : 2;
}

/**
 * The answer to a batch is about some of its events, and nobody knows which: it would be final for an event alone, or the
 * destination has it tried again where it would be.
 */
export function isAboutSome(outcome: Outcome): boolean {
  if (outcome.kind === 'permanent') return (outcome.status ?? 0) >= 400;
  return outcome.kind === 'retryable' && outcome.cause === 'status-retry-on';
}

/**
 * The condition of the endpoint that an outcome shows: a refusal of the event shows that it is alive, also where the
 * destination wants it tried again; a local shortage shows nothing.
 */
export function conditionShownBy(outcome: Outcome): EndpointCondition {
  if (outcome.kind !== 'retryable') return 'up';
  switch (outcome.cause) {
    case 'timeout':
    case 'status-5xx':
    case 'status-4xx':
    case 'status-410':
    case 'connection':
    case 'dns':
    case 'tls':
    case 'other':
      return 'down';
    case 'status-408':
    case 'status-425':
    case 'status-429':
    case 'status-retry-on':
      return 'up';
    case 'local':
    case 'cut-off':
    case 'proxy':
    case 'token':
    case 'skipped':
      return 'unknown';
  }
}
