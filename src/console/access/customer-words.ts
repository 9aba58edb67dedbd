/*
 * Rewords what commands and pages for staff say of an event for a customer, who knows nothing of what runs here: no topics,
 * offsets, breakers or dead letters.
 */

/** Why an event was put off. */
const causes: ReadonlyMap<string, string> = new Map([
  ['breaker', 'the endpoint has failed too often'],
  ['retry-after', 'the endpoint asked to wait'],
  ['rate-limit', 'the rate limit'],
  ['slow', 'the endpoint answers too slowly'],
  ['lane', 'other events come first'],
  ['retention', 'to keep it for longer'],
  ['unreadable', 'a fault at the sender'],
  ['local', 'a fault at the sender'],
  ['cut-off', 'a fault at the sender'],
  ['newer-format', 'a fault at the sender'],
]);

/** `put off (breaker) until …`, `after 3 attempts, breaker` */
const namedCause = new RegExp(
  `(?<=\\(|attempts?, )(?:${[...causes.keys()].join('|')})(?=[),;]|$)`,
  'g',
);

export function causeInWords(cause: string): string {
  return causes.get(cause) ?? cause;
}

const phrases: readonly (readonly [RegExp, string])[] = [
  [/^routed to .*/, 'accepted'],
  [/^sent again from .*/, 'sent again'],
  [/^the router has not read it yet$|^no worker has finished with it yet$/, 'not tried yet'],
  [
    /^it neither waits nor is a dead letter: .*/,
    'delivered at the first attempt, as far as is known',
  ],
  [/^no record and no line of it is kept$/, 'nothing is known of it any more'],
  [/\bdead letter\b/, 'given up'],
  [/\bno readable .*|\b(?:malformed|record-refused)\b.*|\bKafka\b.*/, 'a fault at the sender'],
  [/\bhttp-(\d{3})\b/, 'refused with $1'],
  [/\bexpired-late\b/, 'its time was over'],
  [/\btoo-old\b/, 'too old'],
  [/\btls-untrusted\b/, 'the certificate is not trusted'],
  [/\baddress-refused\b/, 'the address is not allowed'],
  [/\bnot-http\b/, 'no HTTP came back'],
  [/\bdestination-(disabled|deleted)\b/, 'the destination was $1'],
  [/ \(retry\.(?:on|giveUpOn)\)/, ''],
  [/(?:the endpoint moved;|if the endpoint moved,) set the webhook's url to/, 'it redirects to'],
  [/ in its own topic\b/, ''],
  [/, packed with \d+ others\b/, ''],
  [/\bits breaker is open\b/, 'the endpoint has failed too often'],
];

/** The endpoint's own words, which stand in quotes, stay as they are. */
export function inCustomersWords(text: string): string {
  const quoted = text.indexOf('"');
  const [ours, theirs] = quoted < 0 ? [text, ''] : [text.slice(0, quoted), text.slice(quoted)];
  const plain = phrases.reduce((words, [found, word]) => words.replace(found, word), ours);
  return plain.replaceAll(namedCause, causeInWords) + theirs;
}
