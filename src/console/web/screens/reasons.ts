import { filled, t } from '../texts/texts.ts';

/** One sentence; for statuses that are rare, what they have in common. */
export function deadLetterMeaning(reason: string): string {
  const letters: Readonly<Record<string, string>> = t.reasons;
  const known = Object.hasOwn(letters, reason) ? letters[reason] : undefined;
  if (known !== undefined) return known;
  const status = /^http-(\d{3})$/.exec(reason)?.[1];
  return status === undefined ? '' : filled(t.refusedWith, { status });
}

/** A reason in words for customers, who need not know what went wrong at the sender. */
export function customersMeaning(reason: string): string {
  const isOurs = reason === 'malformed' || reason === 'record-refused';
  return isOurs ? t.senderFault : deadLetterMeaning(reason) || reason;
}
