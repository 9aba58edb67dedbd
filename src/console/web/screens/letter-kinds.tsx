import type { JSX } from 'preact';
import type { DeadLetter, RejectedCall, SentAgain } from '../../api/answers/events.ts';
import { counted } from '../format.ts';
import { urlOf } from '../navigation.ts';
import { inOneLine } from '../parts/answer.tsx';
import { Data, Id, Lines, None, Time } from '../parts/data.tsx';
import type { Column } from '../parts/table.tsx';
import { customersMeaning, deadLetterMeaning, rejectMeaning } from './reasons.ts';

export function letterColumns({
  isLinked,
  hasDestination,
  isForCustomer,
}: {
  readonly isLinked: boolean;
  readonly hasDestination: boolean;
  /** A customer is shown neither places nor codes. */
  readonly isForCustomer: boolean;
}): readonly Column<DeadLetter>[] {
  const destination: Column<DeadLetter> = {
    title: 'Destination',
    cell: (letter) => (
      <a href={urlOf.destination(letter.destination)}>
        <Id text={letter.destination} />
      </a>
    ),
  };
  const place: Column<DeadLetter> = {
    title: 'Place',
    cell: (letter) => <Id text={letter.place} />,
  };
  return [
    { title: 'Given up', kind: 'name', cell: ({ at }) => <Time at={at} /> },
    ...(hasDestination ? [destination] : []),
    {
      title: 'Reason',
      kind: 'wide',
      cell: ({ reason, detail, answer, redrivenAt, sentAgain }) => (
        <>
          <strong title={isForCustomer ? undefined : deadLetterMeaning(reason)}>
            <Data text={isForCustomer ? customersMeaning(reason) : reason} />
          </strong>
          <span class="said">
            <bdi>{inOneLine(detail)}</bdi>
            {answer === undefined || answer === '' || detail.includes(answer) ? null : (
              <>
                {' '}
                <q>
                  <bdi>{inOneLine(answer)}</bdi>
                </q>
              </>
            )}
          </span>
          {redrivenAt === undefined ? null : (
            <span class="under">
              it had been sent again <Time at={redrivenAt} />
            </span>
          )}
          <SentAgainNote again={sentAgain} />
        </>
      ),
    },
    {
      title: 'Event',
      cell: ({ messageId, user, type }) =>
        messageId === undefined ? (
          <None />
        ) : (
          <>
            {isLinked ? (
              <a href={urlOf.event(messageId, user)}>
                <Id text={messageId} />
              </a>
            ) : (
              <Id text={messageId} />
            )}
            {type === undefined ? null : (
              <span class="under">
                <Data text={type} />
              </span>
            )}
          </>
        ),
    },
    { title: 'User', cell: ({ user }) => <Id text={user} /> },
    {
      title: 'Attempts',
      kind: 'number',
      cell: ({ attempts }) => attempts ?? <None />,
    },
    ...(isForCustomer ? [] : [place]),
  ];
}

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

const becameTexts: Readonly<Record<NonNullable<SentAgain['became']>, string>> = {
  delivered: 'delivered',
  'dead-letter': 'given up again',
  dropped: 'not sent: its user was deleted',
  waiting: 'not delivered yet',
  unknown: 'what became of it is not known',
};

/** Says that a letter was sent again, and how that ended. */
function SentAgainNote({ again }: { readonly again: SentAgain | undefined }): JSX.Element | null {
  if (again === undefined) return null;
  const { at, became } = again;
  return (
    <span class="under">
      sent again <Time at={at} />
      {became === undefined ? null : `: ${becameTexts[became]}`}
    </span>
  );
}

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
