import { deadLetterReasons } from '../../../src/event/dead-letter-reasons.ts';
import { isMendable, rejectReasons } from '../../../src/event/rejection.ts';
import { code, generated, sentence } from './text.ts';

export function reasonsPage(): string {
  const list = (reasons: Readonly<Record<string, string>>): string =>
    Object.entries(reasons)
      .map(([reason, text]) => `- ${code(reason)}: ${sentence(text)}`)
      .join('\n');
  const rejected = Object.entries(rejectReasons);
  const only = (wanted: boolean): Record<string, string> =>
    Object.fromEntries(rejected.filter(([reason]) => isMendable(reason) === wanted));
  return [
    generated,
    '# Reasons',
    '## Dead letters',
    'Why an event was given up. [Dead letters](../dead-letters.md) says how to send it again.',
    list({
      ...deadLetterReasons,
      'http-<status>':
        'the endpoint answered with this status, and a retry would not change the answer',
    }),
    'Wherever you name a reason, `http-4xx` names a class of them.',
    '## Rejected calls',
    'Why a call was not routed. Each goes to `postrider.ingest.rejected`, unchanged.',
    'You can fix the cause of these, for example by adding a source, and then send the calls again:',
    list(only(true)),
    'These calls themselves are wrong, and would be rejected again:',
    list(only(false)),
  ].join('\n\n');
}
