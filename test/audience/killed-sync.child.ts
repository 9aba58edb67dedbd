import { fullBatchChanges } from '../../src/audience/emit.ts';
import { createKafka } from '../../src/kafka/client.ts';
import type { SyncDeps, SyncProgress } from '../../src/audience/open-audience.ts';
import { retireAudience } from '../../src/audience/retire.ts';
import { syncAudience } from '../../src/audience/sync.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createTopology } from '../../src/topology.ts';
import { audience, fillCurrent, membersOf } from './members.ts';

/** One of the runs that end when the parent kills their process. */
export interface KilledRun {
  readonly audienceId: string;
  readonly members: readonly string[];
  readonly directory: string | undefined;
  readonly action: 'sync' | 'full' | 'retire';
}

export interface KilledSyncs {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly runs: readonly KilledRun[];
}

/** What the parent is told meanwhile; `done`: changes sent. */
export interface Told {
  readonly audienceId: string;
  readonly stage: SyncProgress['stage'];
  readonly done: number;
}

async function carryOut(deps: SyncDeps, run: KilledRun): Promise<void> {
  const { audienceId, members, directory, action } = run;
  const changesPerTransaction = fullBatchChanges / 250;
  const options = { directory, filesDir: process.cwd(), changesPerTransaction };
  if (action === 'retire') {
    await retireAudience(deps, audienceId, undefined, { ...options, isSilent: false });
    return;
  }
  const full = action === 'full' ? { destination: undefined } : undefined;
  await syncAudience(
    deps,
    audience(audienceId),
    {
      ...options,
      dryRun: false,
      full,
      connected: ['crm', 'ads', 'new'],
      allowEmpty: true,
      maxRemoved: 100,
      maxChanged: 100,
      maxAdded: 1_000_000,
      confirmFirst: () => Promise.resolve(),
    },
    (connection) => fillCurrent(connection, membersOf(...members)),
  );
}

process.once('message', ({ brokers, prefix, runs }: KilledSyncs) => {
  const kafka = createKafka({ brokers, clientId: 'killed' }, silentLogger);
  const topology = createTopology({
    prefix,
    partitions: 2,
    replicationFactor: 1,
    retryTiersMs: [1_000],
    extraIngestTopics: [],
  });
  const ended = runs.map((run) => {
    let last = '';
    const onProgress = ({ stage, done }: SyncProgress): void => {
      if (stage === last && stage !== 'sending') return;
      last = stage;
      process.send?.({ audienceId: run.audienceId, stage, done } satisfies Told);
    };
    return carryOut({ kafka, topology, clock: systemClock, log: silentLogger, onProgress }, run);
  });
  void Promise.all(ended).then(() => {
    process.disconnect();
  });
});
process.send?.('waiting');
