import type { JSX } from 'preact';
import type { DeadLetter, SentAgain } from '../../api/answers/events.ts';
import { customersMeaning, deadLetterMeaning } from './reasons.ts';
import { urlOf } from '../navigation.ts';
import { inOneLine } from '../parts/answer.tsx';
import { Data, Id, None, Time } from '../parts/data.tsx';
import type { Column } from '../parts/table.tsx';

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

const becameTexts: Readonly<Record<NonNullable<SentAgain['became']>, string>> = {
  delivered: 'delivered',
  'dead-letter': 'given up again',
  dropped: 'not sent: its user was deleted',
  waiting: 'not delivered yet',
  unknown: 'what became of it is not known',
};

/** Says that a letter was sent again, and how that ended. */
export function SentAgainNote({
  again,
}: {
  readonly again: SentAgain | undefined;
}): JSX.Element | null {
  if (again === undefined) return null;
  const { at, became } = again;
  return (
    <span class="under">
      sent again <Time at={at} />
      {became === undefined ? null : `: ${becameTexts[became]}`}
    </span>
  );
}
