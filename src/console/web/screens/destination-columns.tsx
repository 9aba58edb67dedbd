import type { DestinationRow } from '../../api/answers/destinations.ts';
import { milliseconds, percent, rate, short } from '../format.ts';
import { urlOf } from '../navigation.ts';
import { Answer } from '../parts/answer.tsx';
import { Trend } from '../parts/bars.tsx';
import { Age, Data, Id, None, Time } from '../parts/data.tsx';
import { StateBadge } from '../parts/state.tsx';
import type { Column } from '../parts/table.tsx';
import { filled, rich, t } from '../texts/texts.ts';

/**
 * A row for each destination.
 * @param title of the first column
 */
export function destinationColumns(
  title: string,
  letters: string,
): readonly Column<DestinationRow>[] {
  const words = t.list;
  return [
    {
      title,
      kind: 'name',
      cell: ({ id, name }) => (
        <>
          <a class="row-link" href={urlOf.destination(id)}>
            <Data text={name} />
          </a>
          <span class="under">
            <Id text={id} />
          </span>
        </>
      ),
    },
    {
      title: words.state,
      kind: 'lead',
      cell: ({ state, byOtherUrl, since, until, asOf }) => (
        <>
          <StateBadge state={state} />
          {byOtherUrl === true ? <span class="under">{words.otherUrl}</span> : null}
          {state !== 'unknown' || asOf === undefined ? null : (
            <span class="under">{rich(words.lastHeard, { time: <Time at={asOf} /> })}</span>
          )}
          {since === undefined ? null : (
            <span class="under">{rich(words.for, { time: <Age since={since} /> })}</span>
          )}
          {since !== undefined || until === undefined ? null : (
            <span class="under">{rich(words.until, { time: <Time at={until} /> })}</span>
          )}
        </>
      ),
    },
    {
      title: words.lastAnswer,
      kind: 'wide',
      cell: ({ lastAnswer }) =>
        lastAnswer === undefined ? <None /> : <Answer answer={lastAnswer} />,
    },
    {
      title: words.lastHour,
      kind: 'trend-cell',
      cell: ({ lastHour }) => (
        <span class="last-hour">
          <Trend lastHour={lastHour} />
          <span class={`share ${shareTone(lastHour.successRate)}`}>
            {lastHour.successRate === undefined ? (
              <span class="quiet">{t.none}</span>
            ) : (
              percent(lastHour.successRate)
            )}
          </span>
        </span>
      ),
    },
    {
      title: words.perMinute,
      kind: 'number',
      cell: ({ perMinute, p99Ms }) => (
        <>
          {rate(perMinute.delivered)}
          {p99Ms === undefined ? null : (
            <span class="under">{filled(words.p99, { time: milliseconds(p99Ms) })}</span>
          )}
        </>
      ),
    },
    {
      title: words.waiting,
      kind: 'number',
      cell: ({ waiting, kept = 0, oldest }) =>
        kept > 0 ? (
          <>
            {short(kept + waiting)}
            <span class="under">{words.kept}</span>
          </>
        ) : waiting === 0 ? (
          <span class="quiet">0</span>
        ) : (
          <>
            {short(waiting)}
            {oldest === undefined ? null : (
              <span class="under">{rich(words.oldest, { time: <Age since={oldest} /> })}</span>
            )}
          </>
        ),
    },
    {
      title: words.nextTry,
      kind: 'number',
      cell: ({ nextTry }) => (nextTry === undefined ? <None /> : <Time at={nextTry} />),
    },
    {
      title: filled(words.lettersADay, { letters }),
      kind: 'number',
      cell: ({ deadLetters }) =>
        deadLetters === 0 ? <span class="quiet">0</span> : short(deadLetters),
    },
  ];
}

function shareTone(share: number | undefined): string {
  if (share === undefined || share >= 0.99) return '';
  return share < 0.9 ? 'bad-text' : 'warn-text';
}
