import type { DeadLetter, RejectedCall } from '../../api/answers/events.ts';
import { rejectReasons } from '../../../event/rejection.ts';
import { counted } from '../format.ts';
import { Data, Id, Lines, None, Time } from '../parts/data.tsx';
import type { Column } from '../parts/table.tsx';
import { letterColumns, SentAgainNote } from './letter-columns.tsx';
import { deadLetterMeaning } from './reasons.ts';

const callColumns: readonly Column<RejectedCall>[] = [
  { title: 'When', kind: 'name', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Source',
    cell: (call) => (call.source === undefined ? <None /> : <Id text={call.source} />),
  },
  {
    title: 'Reason',
    kind: 'wide',
    cell: (call) => (
      <>
        <strong>
          <Data text={call.reason} />
        </strong>
        <span class="said">
          <Data text={call.detail} />
        </span>
        <SentAgainNote again={call.sentAgain} />
        {call.sample === '' ? null : (
          <details>
            <summary>The call, {counted(call.bytes, 'byte')}</summary>
            <Lines value={call.sample} />
          </details>
        )}
      </>
    ),
  },
  {
    title: 'Arrived at',
    cell: ({ origin }) => <Id text={`${origin.topic} ${origin.partition}:${origin.offset}`} />,
  },
];

/** The differences between dead letters and rejected calls on their screen. */
export interface LetterKind<Letter> {
  readonly of: 'events' | 'calls';
  readonly path: '/dead-letters' | '/rejected';
  readonly title: string;
  readonly lead: string;
  readonly sendAgain: string;
  /** The field by which they are searched and, with the reason, grouped. */
  readonly whose: 'destination' | 'source';
  readonly noun: 'event' | 'call';
  readonly listTitle: string;
  readonly none: string;
  readonly noneOfAny: string;
  readonly noneOfOne: string;
  readonly meaning: (reason: string) => string;
  readonly columns: readonly Column<Letter>[];
}

export const deadLetters: LetterKind<DeadLetter> = {
  of: 'events',
  path: '/dead-letters',
  title: 'Dead letters',
  lead: 'Events that were given up, with the reason. They are kept for 30 days and can be sent again.',
  sendAgain: 'Redrive…',
  whose: 'destination',
  noun: 'event',
  listTitle: 'Samples',
  none: 'No dead letters in this time.',
  noneOfAny: 'Every event was delivered, or is still being tried.',
  noneOfOne: 'No event of this destination was given up.',
  meaning: deadLetterMeaning,
  columns: letterColumns({ isLinked: true, hasDestination: true, isForCustomer: false }),
};

export const rejectedCalls: LetterKind<RejectedCall> = {
  of: 'calls',
  path: '/rejected',
  title: 'Rejected calls',
  lead: 'Calls that could not be routed. Fix the cause, then send them again.',
  sendAgain: 'Send again…',
  whose: 'source',
  noun: 'call',
  listTitle: 'Calls',
  none: 'No call was rejected in this time.',
  noneOfAny: 'All calls that came could be routed.',
  noneOfOne: 'All calls of this source could be routed.',
  meaning: rejectMeaning,
  columns: callColumns,
};

function rejectMeaning(reason: string): string {
  const known: Readonly<Record<string, string>> = rejectReasons;
  const meaning = Object.hasOwn(known, reason) ? (known[reason] ?? '') : '';
  return meaning === '' ? '' : `${meaning.slice(0, 1).toUpperCase()}${meaning.slice(1)}.`;
}
