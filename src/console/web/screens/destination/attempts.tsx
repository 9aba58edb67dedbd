import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { AttemptRow } from '../../../api/answers/destinations.ts';
import type { Page } from '../../../api/answers/shapes.ts';
import { given, withQuery } from '../../api.ts';
import { count, milliseconds } from '../../format.ts';
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
      title="Attempts"
      aside={
        <label class="check">
          <input
            type="checkbox"
            checked={isLive}
            onChange={(event) => {
              setLive(event.currentTarget.checked);
            }}
          />
          Live
          <span class={isLive && isFirst ? 'pulse on' : 'pulse'} aria-hidden="true" />
        </label>
      }
    >
      <div class="tools">
        <SearchField
          label="Message id"
          value={message}
          onSearch={(text) => {
            setQuery({ message: text });
          }}
        />
        <SearchField
          label="User"
          value={user}
          onSearch={(text) => {
            setQuery({ user: text });
          }}
        />
        {urls.length < 2 ? null : (
          <label>
            <span class="unseen">URL</span>
            <select
              value={url}
              onChange={(event) => {
                setQuery({ url: event.currentTarget.value });
              }}
            >
              <option value="">All URLs</option>
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
          Failures only
        </label>
      </div>
      <Shown of={attempts}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title={isFiltered ? 'No attempt matches.' : 'No attempts yet.'}>
              {isFiltered
                ? 'Attempts are kept for three days.'
                : 'The first one appears here within seconds.'}
            </Nothing>
          ) : (
            <>
              <Table
                caption="Attempts, the newest first"
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
              <Pager paging={paging} next={next} label="Pages of attempts" />
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
  { title: 'When', kind: 'name', cell: ({ line }) => <Time at={line.at} /> },
  { title: 'What', cell: ({ line }) => <What line={line} onOpen={onOpen} /> },
  {
    title: 'Answer',
    kind: 'wide',
    cell: ({ line }) => <Said line={line} />,
  },
  {
    title: 'Event',
    cell: ({ line, lines }) => {
      if (lines > 1) return `put off ${count(lines)} times`;
      if (line.kind === 'bundle-deferred') return `${count(line.events)} events`;
      const { messageId, user, type } = line;
      return (
        <>
          {isLinked ? (
            <a href={urlOf.event(messageId, user)}>
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
    title: 'User',
    cell: ({ line, lines }) =>
      lines > 1 || line.kind === 'bundle-deferred' ? <None /> : <Id text={line.user} />,
  },
  {
    title: 'Took',
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
              attempt {line.attempt}
            </button>
          </span>
        </>
      );
    case 'retry':
      return <Badge tone="warn" shape="again" word="To be retried" />;
    case 'deferred':
    case 'bundle-deferred':
      return <Badge tone="warn" shape="wait" word="Put off" />;
    case 'kept':
      return <Badge tone="idle" shape="pause" word="Kept" />;
    case 'dropped':
      return <Badge tone="idle" shape="off" word="Dropped" />;
    case 'dead-letter':
      return <Badge tone="bad" shape="letter" word={letter} />;
  }
}

const inLine = {
  stays: '; later events of the user wait behind it',
  left: '; later events of the user go on without it',
} as const;

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
        <>{isForCustomer ? 'later' : 'in its own topic'}</>
      ) : (
        <>
          again <Time at={line.until} />
          {line.line === undefined ? null : inLine[line.line]}
        </>
      );
    case 'deferred':
    case 'bundle-deferred':
      return (
        <>
          <Data text={line.cause ?? 'not tried'} />
          {line.until === undefined ? null : (
            <>
              , again <Time at={line.until} />
            </>
          )}
        </>
      );
    case 'kept':
      return <>The destination is paused.</>;
    case 'dropped':
      return <>The user was deleted.</>;
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
