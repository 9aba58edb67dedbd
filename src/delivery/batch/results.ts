import {
  deliveredWith,
  outcomeOfStatus,
  type AnswerRules,
  type Delivered,
  type Outcome,
} from '../outcome.ts';
import type { KeptAnswer } from '../kept-answer.ts';

/** The most that is read of an answer to a batch: a kilobyte for each of a thousand events. */
export const mostResultsBytes = 1_048_576;

interface Reading {
  /** Undefined where the destination has none. */
  readonly answerRules: AnswerRules | undefined;
  /** The most bytes that are kept of an error. */
  readonly keptAnswerBytes: number;
}

/**
 * The outcome of a 2xx answer to a batch: `{"results":[{"status":200},{"status":422,"error":"…"}]}`, with one result for
 * each event, says of each what a status says of one event. Any other body counts for none.
 * @param events in the batch
 * @param body undefined: it has none, or more than is read
 */
export function outcomeOfResults(
  status: number,
  events: number,
  body: Buffer | undefined,
  reading: Reading,
): Delivered {
  const results = resultsIn(body);
  if (results === undefined) return deliveredWith(status);
  const outcomes = results.map((result) => outcomeOfResult(result, reading));
  const each = outcomes.filter((outcome) => outcome !== undefined);
  if (each.length === events && outcomes.length === events)
    return { kind: 'delivered', status, each };
  const reason =
    outcomes.length === events ? 'some without a status' : `${results.length} for ${events} events`;
  return { kind: 'delivered', status, detail: `its results count for none: ${reason}` };
}

function resultsIn(body: Buffer | undefined): readonly unknown[] | undefined {
  const text = body?.toString() ?? '';
  // Most endpoints answer with something else, and an error of JSON.parse costs as much as several events.
  if (!text.trimStart().startsWith('{')) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null || !('results' in json)) return undefined;
  return Array.isArray(json.results) ? json.results : undefined;
}

/** Undefined: it has no status that an answer could have. */
function outcomeOfResult(
  result: unknown,
  { answerRules, keptAnswerBytes }: Reading,
): Outcome | undefined {
  if (typeof result !== 'object' || result === null || !('status' in result)) return undefined;
  const { status } = result;
  if (typeof status !== 'number' || !Number.isInteger(status)) return undefined;
  if (status < 200 || status > 599) return undefined;
  const error = 'error' in result ? result.error : undefined;
  return outcomeOfStatus(status, undefined, 0, answerOf(error, keptAnswerBytes), answerRules);
}

function answerOf(error: unknown, mostBytes: number): KeptAnswer | undefined {
  if (error === undefined || error === null || mostBytes === 0) return undefined;
  const text = Buffer.from(typeof error === 'string' ? error : JSON.stringify(error));
  const body = text.subarray(0, mostBytes);
  return { body, isCut: body.length < text.length, headers: {} };
}
