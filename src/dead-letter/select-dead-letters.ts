import { reasonClass } from '../event/dead-letter-reasons.ts';
import { isSought } from '../event/sought.ts';
import type { DeadLetter } from './dead-letter.ts';

/** Which dead letters an operator selects. A condition that is not given holds for all. */
export interface DeadLetterSelection {
  readonly destinations?: ReadonlySet<string> | undefined;
  /** Also classes such as `http-4xx`. */
  readonly reasons?: ReadonlySet<string> | undefined;
  readonly user?: string | undefined;
  readonly messageId?: string | undefined;
}

export function isSelectedDeadLetter(
  letter: DeadLetter,
  { destinations, reasons, user, messageId }: DeadLetterSelection,
): boolean {
  if (destinations !== undefined && !destinations.has(letter.destinationId)) return false;
  if (user !== undefined && !isSought(user)(letter.user)) return false;
  if (messageId !== undefined && !isSought(messageId)(letter.envelope?.messageId)) return false;
  if (reasons === undefined) return true;
  return reasons.has(letter.reason) || reasons.has(reasonClass(letter.reason));
}
