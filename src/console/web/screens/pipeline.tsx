import type { JSX } from 'preact';
import type { WorkerStatus } from '../../../event/destination-status.ts';
import type { Pipeline } from '../../api/answers/deployment.ts';
import type { Stage } from '../../api/choices.ts';
import { count, counted, duration } from '../format.ts';
import { Id, None, Time } from '../parts/data.tsx';
import { Glyph } from '../parts/glyph.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead, Section } from '../parts/page.tsx';
import { Badge } from '../parts/state.tsx';
import { Table } from '../parts/table.tsx';
import { usePolled } from '../polled.ts';
import { Flow } from './flow.tsx';

export function PipelinePage(): JSX.Element {
  const pipeline = usePolled<Pipeline>('/pipeline');
  return (
    <>
      <PageHead
        title="Pipeline"
        lead={pipeline.answer === undefined ? undefined : <Headline pipeline={pipeline.answer} />}
      />
      <Shown of={pipeline}>
        {(answer) => (
          <>
            <Flow pipeline={answer} />
            <Section title="Workers">
              <Workers workers={answer.workers} />
            </Section>
            <Section title="Topics">
              <Topics pipeline={answer} />
            </Section>
          </>
        )}
      </Shown>
    </>
  );
}

const remedies: Readonly<Record<Stage, string>> = {
  ingest: 'Calls arrive faster than they are written.',
  router: 'The router reads slower than calls arrive. Start more routers, up to one a partition.',
  delivery: 'Workers deliver slower than events are routed. Start more workers.',
  retry: 'Retries that are due wait for a worker. Start more workers.',
  delivered: 'Endpoints take events slower than they come.',
  'dead-letter': 'Dead letters cannot be written.',
  rejected: 'Rejected calls cannot be written.',
};

function Headline({ pipeline }: { readonly pipeline: Pipeline }): JSX.Element {
  const { behind, workers } = pipeline;
  if (workers.length === 0)
    return (
      <p class="headline bad">
        <Glyph shape="cross" />
        <span>No worker is running. Nothing is delivered.</span>
      </p>
    );
  return behind === undefined ? (
    <p class="headline good">
      <Glyph shape="check" />
      <span>Everything flows.</span>
    </p>
  ) : (
    <p class="headline bad">
      <Glyph shape="cross" />
      <span>
        {stageTitles[behind]} holds the flow back.{' '}
        <span class="headline-more">{remedies[behind]}</span>
      </span>
    </p>
  );
}

const stageTitles: Readonly<Record<Stage, string>> = {
  ingest: 'Ingest',
  router: 'The router',
  delivery: 'Delivery',
  retry: 'Retry',
  delivered: 'The endpoints',
  'dead-letter': 'The dead-letter topic',
  rejected: 'The topic of rejected calls',
};

function Workers({ workers }: { readonly workers: readonly WorkerStatus[] }): JSX.Element {
  if (workers.length === 0)
    return (
      <Nothing title="No worker is running.">
        Start one with <code>postrider delivery</code>. Events wait in Kafka until then.
      </Nothing>
    );
  return (
    <Table
      caption="Workers"
      rows={workers}
      keyOf={({ worker }) => worker}
      asCards
      columns={[
        { title: 'Worker', kind: 'name', cell: ({ worker }) => <Id text={worker} /> },
        {
          title: 'State',
          cell: ({ isCutOff }) =>
            isCutOff ? (
              <Badge tone="bad" shape="cross" word="Cut off" />
            ) : (
              <Badge tone="good" shape="check" word="Running" />
            ),
        },
        { title: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
        { title: 'In flight', kind: 'number', cell: ({ inFlight }) => count(inFlight) },
        { title: 'Queued', kind: 'number', cell: ({ queued }) => count(queued) },
        {
          title: 'Records behind',
          kind: 'number',
          cell: ({ topics }) => count(Object.values(topics).reduce((sum, { lag }) => sum + lag, 0)),
        },
        {
          title: 'Longest in flight',
          kind: 'number',
          cell: ({ topics }) => {
            const oldest = Math.max(0, ...Object.values(topics).map(({ oldestMs }) => oldestMs));
            return oldest === 0 ? <None /> : duration(oldest);
          },
        },
      ]}
    />
  );
}

function Topics({ pipeline }: { readonly pipeline: Pipeline }): JSX.Element {
  return (
    <Table
      caption="Topics and what waits in them"
      rows={pipeline.backlog}
      keyOf={({ topic }) => topic}
      asCards
      columns={[
        { title: 'Topic', kind: 'name', cell: ({ topic }) => <Id text={topic} /> },
        { title: 'Read by', cell: ({ stage }) => (stage === 'router' ? 'router' : 'workers') },
        {
          title: 'Not finished',
          kind: 'number',
          cell: ({ records, stage }) =>
            stage === 'retry' && records > 0
              ? `${counted(records, 'record')}, also those not due`
              : counted(records, 'record'),
        },
        {
          title: 'Oldest',
          kind: 'number',
          cell: ({ oldest }) => (oldest === undefined ? <None /> : <Time at={oldest} />),
        },
      ]}
    />
  );
}
