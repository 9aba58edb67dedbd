import { customersMeaning, deadLetterMeaning } from './reasons.ts';
import type { DeadLetter } from '../../api/model.ts';
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
  /** Who knows nothing of places and codes. */
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
      cell: ({ reason, detail, answer, redrivenAt }) => (
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
