import type { CallType } from '../event/call.ts';
import { normalizeTimestamp } from '../event/timestamp.ts';
import { AnalyticsError } from './error.ts';

/** A call as the caller gave it. TypeScript's types do not hold for callers in JavaScript. */
export type GivenCall = Readonly<Record<string, unknown>>;

export interface ValidationRules {
  /** Page calls may lack a `userId`. */
  readonly anonymousPages: boolean;
}

/**
 * The order of the checks and their texts are those of the Go library, version 2.1.1: first the fields of the
 * type, then the user. `page` needs a `userId`, as that library's documentation says.
 * @throws AnalyticsError `invalid-call`
 */
export function validateCall(type: CallType, call: GivenCall, rules: ValidationRules): void {
  switch (type) {
    case 'track':
      needText(call, 'event', "You must pass 'event'.");
      needIdentity(call);
      break;
    case 'group':
      needText(call, 'groupId', "You must pass a 'groupId'.");
      needIdentity(call);
      break;
    case 'alias':
      needText(call, 'userId', "You must pass a 'userId'.");
      needText(call, 'previousId', "You must pass a 'previousId'.");
      break;
    case 'page':
      if (!rules.anonymousPages) needText(call, 'userId', "You must pass a 'userId'.");
      needIdentity(call);
      break;
    case 'identify':
    case 'screen':
      needIdentity(call);
      break;
  }
  allowText(call, 'messageId');
  checkTimestamp(call['timestamp']);
}

/** Null and an empty string count as absent, as in the pipeline. */
export function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function needIdentity(call: GivenCall): void {
  if (isAbsent(call['anonymousId']) && isAbsent(call['userId'])) {
    throw invalid("You must pass either an 'anonymousId' or 'userId'.");
  }
  allowText(call, 'userId');
  allowText(call, 'anonymousId');
}

function needText(call: GivenCall, name: string, missing: string): void {
  if (isAbsent(call[name])) throw invalid(missing);
  allowText(call, name);
}

function allowText(call: GivenCall, name: string): void {
  const value = call[name];
  if (typeof value !== 'string' && !isAbsent(value)) throw invalid(`'${name}' must be a string.`);
}

function checkTimestamp(timestamp: unknown): void {
  if (isAbsent(timestamp)) return;
  const text = timestamp instanceof Date ? isoOf(timestamp) : timestamp;
  if (typeof text !== 'string' || normalizeTimestamp(text) === undefined) {
    throw invalid("'timestamp' must be a Date or an ISO 8601 time in the years 0 to 9999.");
  }
}

/** Undefined for an invalid date, for which toISOString throws. */
function isoOf(date: Date): string | undefined {
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function invalid(message: string): AnalyticsError {
  return new AnalyticsError('invalid-call', message);
}
