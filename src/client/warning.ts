import process from 'node:process';
import type { AcceptedCall } from './calls.ts';
import type { AnalyticsError } from './error.ts';

/** What nobody listens for is printed by Node, as it prints its own warnings. */
export function warnOf(error: AnalyticsError, { type, messageId }: AcceptedCall): void {
  warn(`${type} ${messageId} was not delivered: ${error.message}`, error.code);
}

export function warn(message: string, code: string): void {
  process.emitWarning(message, { type: 'PostriderClientWarning', code });
}
