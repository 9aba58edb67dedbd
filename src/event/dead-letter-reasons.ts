/** Why events are given up, besides `http-<status>`. */
export const deadLetterReasons = [
  'expired',
  'expired-late',
  'too-old',
  'destination-disabled',
  'destination-deleted',
  'tls-untrusted',
  'address-refused',
  'not-http',
  'malformed',
  'record-refused',
] as const;

const known: ReadonlySet<string> = new Set(deadLetterReasons);

/** Also `http-4xx` for all answers of that class, as metrics name them. */
export function isDeadLetterReason(text: string): boolean {
  return known.has(text) || /^http-[1-9](\d\d|xx)$/.test(text);
}

/** `http-410` is one of `http-4xx`; the others are their own class. */
export function reasonClass(reason: string): string {
  return /^http-\d{3}$/.test(reason) ? `${reason.slice(0, 6)}xx` : reason;
}
