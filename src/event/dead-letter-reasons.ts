/** Why events are given up, besides `http-<status>`, each explained for an operator. */
export const deadLetterReasons = {
  expired: 'the endpoint failed until the retry window was over',
  'expired-late': 'no worker came to the event before the retry window was over',
  'too-old': 'the event could not even be tried within MAX_AGE',
  'destination-disabled': 'the destination was disabled while the event was on its way',
  'destination-deleted': 'the destination was deleted while the event was on its way',
  'tls-untrusted': 'the certificate of the endpoint is self-signed or of an unknown authority',
  'address-refused': 'the address of the endpoint is not public',
  'not-http': 'the endpoint answered with something that is not HTTP, or with too many headers',
  'no-url': "the event has no value for a placeholder in the destination's URL",
  malformed: 'the record cannot be read: another program or another version wrote it',
  'record-refused': 'Kafka refuses the copy of the event in a retry topic, usually for its size',
} as const;

/** Also `http-4xx` for all answers of that class, as metrics name them. */
export function isDeadLetterReason(text: string): boolean {
  return Object.hasOwn(deadLetterReasons, text) || /^http-[1-9](\d\d|xx)$/.test(text);
}

/** `http-410` is one of `http-4xx`; the others are their own class. */
export function reasonClass(reason: string): string {
  return /^http-\d{3}$/.test(reason) ? `${reason.slice(0, 6)}xx` : reason;
}
