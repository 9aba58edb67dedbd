import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AttemptRow } from '../../../api/answers/destinations.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { given, withQuery } from '../../api.ts';
import { milliseconds } from '../../format.ts';
import { setQuery, urlOf, usePlace } from '../../navigation.ts';
import { inOneLine, inWords } from '../../parts/answer.tsx';
import { Data, Id, None, Time } from '../../parts/data.tsx';
import { Nothing, Shown } from '../../parts/notes.tsx';
import { Section } from '../../parts/page.tsx';
import { Pager, usePaging } from '../../parts/pager.tsx';
import { SearchField } from '../../parts/controls.tsx';
import { Badge, OutcomeBadge } from '../../parts/state.tsx';
import { Table, type Column } from '../../parts/table.tsx';
import { usePolled } from '../../polled.ts';
import { AttemptDialog, type AttemptEnded } from './attempt-dialog.tsx';
import { folded, type FoldedRow } from './folded.ts';
import { mayOpenEvents, useSession, useWords } from '../../session.ts';
import { filled, plural, rich, t } from '../../texts/texts.ts';
import { customersMeaning } from '../reasons.ts';
import { printable } from '../../../../printable.ts';

const rowsAPage = 25;
const liveMs = 2_000;
const stillMs = 3_600_000;

export function Attempts({
  path,
  urls,
}: {
  readonly path: string;
  readonly urls: readonly string[];
}): JSX.Element {
  const { query } = usePlace();
  const isFailedOnly = query.has('failed');
  const [isLive, setLive] = useState(true);
  const url = query.get('url') ?? '';
  const message = query.get('message') ?? '';
  const user = query.get('user') ?? '';
  const [opened, setOpened] = useState<AttemptEnded>();
  const isLinked = mayOpenEvents(useSession());
  const question = withQuery(`${path}/attempts`, {
    failed: isFailedOnly ? true : undefined,
    url: given(url),
    message: given(message),
    user: given(user),
    limit: rowsAPage,
  });
  const paging = usePaging(question);
  const { cursor } = paging;
  const isFirst = cursor === undefined;
  const attempts = usePolled<Page<AttemptRow>>(
    isFirst ? question : `${question}&cursor=${encodeURIComponent(cursor)}`,
    isLive && isFirst ? liveMs : stillMs,
  );
  const isFiltered = isFailedOnly || url !== '' || message !== '' || user !== '';
  return (
    <Section
      title={t.attempts.title}
      aside={
        <label class="check">
          <input
            type="checkbox"
            checked={isLive}
            onChange={(event) => {
              setLive(event.currentTarget.checked);
            }}
          />
          {t.attempts.live}
          <span class={isLive && isFirst ? 'pulse on' : 'pulse'} aria-hidden="true" />
        </label>
      }
    >
      <div class="tools">
        <SearchField
          label={t.attempts.message}
          value={message}
          onSearch={(text) => {
            setQuery({ message: text });
          }}
        />
        <SearchField
          label={t.attempts.user}
          value={user}
          onSearch={(text) => {
            setQuery({ user: text });
          }}
        />
        {urls.length < 2 ? null : (
          <label>
            <span class="unseen">{t.attempts.url}</span>
            <select
              value={url}
              onChange={(event) => {
                setQuery({ url: event.currentTarget.value });
              }}
            >
              <option value="">{t.attempts.allUrls}</option>
              {urls.map((each) => (
                <option key={each} value={each}>
                  {printable(each)}
                </option>
              ))}
            </select>
          </label>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={isFailedOnly}
            onChange={(event) => {
              setQuery({ failed: event.currentTarget.checked ? 'true' : undefined });
            }}
          />
          {t.attempts.failedOnly}
        </label>
      </div>
      <Shown of={attempts}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title={isFiltered ? t.attempts.noMatch : t.attempts.none}>
              {isFiltered ? t.attempts.keptFor : t.attempts.soon}
            </Nothing>
          ) : (
            <>
              <Table
                caption={t.attempts.caption}
                columns={columnsOf(isLinked, setOpened)}
                rows={folded(items)}
                keyOf={({ key }) => key}
                asCards
              />
              {opened === undefined ? null : (
                <AttemptDialog
                  attempt={opened}
                  {...neighboursOf(opened, items)}
                  onOpen={setOpened}
                  onClose={() => {
                    setOpened(undefined);
                  }}
                />
              )}
              <Pager paging={paging} next={next} label={t.attempts.pages} />
            </>
          )
        }
      </Shown>
    </Section>
  );
}

function neighboursOf(
  { seq }: AttemptEnded,
  items: readonly AttemptRow[],
): { readonly newer: AttemptEnded | undefined; readonly older: AttemptEnded | undefined } {
  const ended = items.filter((line) => line.kind === 'attempt');
  const at = ended.findIndex((each) => each.seq === seq);
  return at < 0
    ? { newer: undefined, older: undefined }
    : { newer: ended[at - 1], older: ended[at + 1] };
}

const columnsOf = (
  isLinked: boolean,
  onOpen: (attempt: AttemptEnded) => void,
): readonly Column<FoldedRow>[] => [
  { title: t.attempts.when, kind: 'name', cell: ({ line }) => <Time at={line.at} /> },
  { title: t.attempts.what, cell: ({ line }) => <What line={line} onOpen={onOpen} /> },
  {
    title: t.attempts.answer,
    kind: 'wide',
    cell: ({ line }) => <Said line={line} />,
  },
  {
    title: t.attempts.event,
    cell: ({ line, lines }) => {
      if (lines > 1) return plural(lines, t.attempts.putOffTimes);
      if (line.kind === 'bundle-deferred') return plural(line.events, t.events);
      const { messageId, user, type, destination } = line;
      return (
        <>
          {isLinked ? (
            <a href={urlOf.event(messageId, user, destination)}>
              <Id text={messageId} />
            </a>
          ) : (
            <Id text={messageId} />
          )}
          <span class="under">
            <Data text={type} />
          </span>
        </>
      );
    },
  },
  {
    title: t.attempts.user,
    cell: ({ line, lines }) =>
      lines > 1 || line.kind === 'bundle-deferred' ? <None /> : <Id text={line.user} />,
  },
  {
    title: t.attempts.took,
    kind: 'number',
    cell: ({ line }) => (line.kind === 'attempt' ? milliseconds(line.tookMs) : <None />),
  },
];

function What({
  line,
  onOpen,
}: {
  readonly line: AttemptRow;
  readonly onOpen: (attempt: AttemptEnded) => void;
}): JSX.Element {
  const { letter } = useWords();
  switch (line.kind) {
    case 'attempt':
      return (
        <>
          <OutcomeBadge outcome={line.outcome} />
          <span class="under">
            <button
              type="button"
              class="plain"
              onClick={() => {
                onOpen(line);
              }}
            >
              {filled(t.attempts.attempt, { n: line.attempt })}
            </button>
          </span>
        </>
      );
    case 'retry':
      return <Badge tone="warn" shape="again" word={t.attempts.retry} />;
    case 'deferred':
    case 'bundle-deferred':
      return <Badge tone="warn" shape="wait" word={t.attempts.putOff} />;
    case 'kept':
      return <Badge tone="idle" shape="pause" word={t.attempts.kept} />;
    case 'dropped':
      return <Badge tone="idle" shape="off" word={t.attempts.dropped} />;
    case 'dead-letter':
      return <Badge tone="bad" shape="letter" word={letter} />;
  }
}

function Said({ line }: { readonly line: AttemptRow }): JSX.Element {
  const isForCustomer = useSession().role === 'customer';
  switch (line.kind) {
    case 'attempt':
      return (
        <>
          <span class="said">
            {inWords(line.status, line.detail)}
            {line.answer === undefined || line.answer === '' ? null : (
              <>
                {' '}
                <q>
                  <bdi>{inOneLine(line.answer)}</bdi>
                </q>
              </>
            )}
          </span>
          <span class="under">
            <Id text={line.url} />
          </span>
        </>
      );
    case 'retry':
      return line.until === undefined ? (
        <>{isForCustomer ? t.attempts.later : t.attempts.inTopic}</>
      ) : (
        <>
          {rich(t.attempts.again, { time: <Time at={line.until} /> })}
          {line.line === undefined ? null : t.attempts.inLine[line.line]}
        </>
      );
    case 'deferred':
    case 'bundle-deferred':
      return (
        <>
          <Data text={line.cause ?? t.attempts.notTried} />
          {line.until === undefined
            ? null
            : rich(t.attempts.andAgain, { time: <Time at={line.until} /> })}
        </>
      );
    case 'kept':
      return <>{t.attempts.isPaused}</>;
    case 'dropped':
      return <>{t.attempts.isDeleted}</>;
    case 'dead-letter':
      return (
        <span class="said">
          <strong>
            <Data text={isForCustomer ? customersMeaning(line.reason) : line.reason} />
          </strong>{' '}
          <Data text={line.detail} />
        </span>
      );
  }
}
