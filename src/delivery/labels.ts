import { requestFailures, unanswered } from './outcome.ts';
import type { DeadLetterReason, Outcome } from './outcome.ts';

/**
 * Labels for answers and failures. Servers may invent any status, and the number of labels must stay small.
 */
const permanent = [
  ...['http-3xx', 'http-4xx', 'tls-untrusted', 'address-refused', 'not-http', 'no-url'],
];

/** Every value that `outcomeLabel` gives. */
export const outcomeLabels: readonly string[] = ['delivered', ...requestFailures, ...permanent];
/** Every value that `reasonLabel` gives. */
export const reasonLabels: readonly string[] = [...permanent, ...unanswered];

/** Why a URL does not get a request: it has as many in flight as it may, its breaker is not closed, or no token can be had. */
export const skipCauses = ['busy', 'breaker', 'token'] as const;

export type SkipCause = (typeof skipCauses)[number];

export function outcomeLabel(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'delivered':
      return 'delivered';
    case 'retryable':
      return outcome.cause;
    case 'permanent':
      return reasonLabel(outcome.reason);
  }
}

/** Statuses are grouped by class. */
export function reasonLabel(reason: DeadLetterReason): string {
  const status = /^http-(\d)/.exec(reason);
  return status === null ? reason : `http-${status[1] ?? ''}xx`;
}
