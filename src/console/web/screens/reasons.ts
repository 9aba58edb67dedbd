import { rejectReasons } from '../../../event/rejection.ts';

const letters: Readonly<Record<string, string>> = {
  expired: 'It was retried until its time was over.',
  'expired-late': 'Its time was over before it could be tried again.',
  'too-old': 'It was too old when it came.',
  'destination-disabled': 'Its destination is disabled.',
  'destination-deleted': 'Its destination is deleted.',
  'tls-untrusted': 'The certificate of the endpoint is not trusted.',
  'address-refused': 'The address of the endpoint is not allowed.',
  'not-http': 'The answer was not HTTP.',
  'no-url': 'It has no value for a placeholder in the URL.',
  malformed: 'The record cannot be read.',
  'record-refused': 'Kafka refused the record of its retry.',
  'http-400': 'The endpoint says that the request is bad.',
  'http-401': 'The endpoint wants other credentials.',
  'http-403': 'The endpoint forbids it.',
  'http-404': 'There is nothing at the URL.',
  'http-410': 'The endpoint says that it is gone for good.',
  'http-413': 'The event is too large for the endpoint.',
};

/** One sentence; for statuses that are rare, what they have in common. */
export function deadLetterMeaning(reason: string): string {
  const known = Object.hasOwn(letters, reason) ? letters[reason] : undefined;
  if (known !== undefined) return known;
  const status = /^http-(\d{3})$/.exec(reason)?.[1];
  return status === undefined ? '' : `The endpoint refused it with ${status}.`;
}

/** A reason in words for customers, who need not know what went wrong at the sender. */
export function customersMeaning(reason: string): string {
  const isOurs = reason === 'malformed' || reason === 'record-refused';
  return isOurs ? 'A fault at the sender.' : deadLetterMeaning(reason) || reason;
}

export function rejectMeaning(reason: string): string {
  const known: Readonly<Record<string, string>> = rejectReasons;
  const meaning = Object.hasOwn(known, reason) ? (known[reason] ?? '') : '';
  return meaning === '' ? '' : `${meaning.slice(0, 1).toUpperCase()}${meaning.slice(1)}.`;
}
