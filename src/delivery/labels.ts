import { requestFailures, unanswered } from './outcome.ts';
import type { DeadLetterReason, Outcome } from './outcome.ts';

/** Of answers and failures as metrics tell them: servers may make up any status, labels must be few. */
const permanent = ['http-3xx', 'http-4xx', 'tls-untrusted', 'address-refused', 'not-http'];

/** Every value that `outcomeLabel` gives. */
export const outcomeLabels: readonly string[] = ['delivered', ...requestFailures, ...permanent];
/** Every value that `reasonLabel` gives. */
export const reasonLabels: readonly string[] = [...permanent, ...unanswered];

/** Why a URL does not get a request: so many are on their way to it as may be, or its breaker is not closed. */
export const skipCauses = ['busy', 'breaker'] as const;

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

/** Statuses by their class. */
export function reasonLabel(reason: DeadLetterReason): string {
  const status = /^http-(\d)/.exec(reason);
  return status === null ? reason : `http-${status[1] ?? ''}xx`;
}
