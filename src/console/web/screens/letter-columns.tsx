import type { JSX } from 'preact';
import type { DeadLetter, SentAgain } from '../../api/answers/events.ts';
import { urlOf } from '../navigation.ts';
import { inOneLine } from '../parts/answer.tsx';
import { Data, Id, None, Time } from '../parts/data.tsx';
import type { Column } from '../parts/table.tsx';
import { rich, t } from '../texts/texts.ts';
import { customersMeaning, deadLetterMeaning } from './reasons.ts';

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
    title: t.letters.destination,
    cell: (letter) => (
      <a href={urlOf.destination(letter.destination)}>
        <Id text={letter.destination} />
      </a>
    ),
  };
  const place: Column<DeadLetter> = {
    title: t.letters.place,
    cell: (letter) => <Id text={letter.place} />,
  };
  return [
    { title: t.letters.at, kind: 'name', cell: ({ at }) => <Time at={at} /> },
    ...(hasDestination ? [destination] : []),
    {
      title: t.letters.reason,
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
              {rich(t.letters.hadBeenSent, { time: <Time at={redrivenAt} /> })}
            </span>
          )}
          <SentAgainNote again={sentAgain} />
        </>
      ),
    },
    {
      title: t.letters.event,
      cell: ({ messageId, user, type, destination: of }) =>
        messageId === undefined ? (
          <None />
        ) : (
          <>
            {isLinked ? (
              <a href={urlOf.event(messageId, user, of)}>
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
    { title: t.letters.user, cell: ({ user }) => <Id text={user} /> },
    {
      title: t.letters.attempts,
      kind: 'number',
      cell: ({ attempts }) => attempts ?? <None />,
    },
    ...(isForCustomer ? [] : [place]),
  ];
}

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
      {became === undefined
        ? rich(t.letters.sentAgain, { time: <Time at={at} /> })
        : rich(t.letters.sentAgainSo, { time: <Time at={at} />, end: t.letters.ends[became] })}
    </span>
  );
}
