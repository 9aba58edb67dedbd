import { fullBatchChanges } from '../../src/audience/change-batch.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { wholeAudience } from '../../src/audience/shard.ts';
import { syncAudience } from '../../src/audience/sync.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { createTopology } from '../../src/topology.ts';
import { audience, fillCurrent, membersOf } from './members.ts';

/** What the parent tells a sync that it is going to kill. */
export interface KilledSync {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly audienceId: string;
  readonly members: readonly string[];
  readonly directory: string | undefined;
}

process.once('message', (task: KilledSync) => {
  const { brokers, prefix, audienceId, members, directory } = task;
  const kafka = createKafka({ brokers, clientId: 'killed' }, silentLogger);
  const topology = createTopology({
    ...{ prefix, partitions: 2, replicationFactor: 1, retryTiersMs: [1_000] },
    extraIngestTopics: [],
  });
  let stage = '';
  const onProgress = (progress: { readonly stage: string }): void => {
    if (progress.stage !== stage) process.send?.((stage = progress.stage));
  };
  void syncAudience(
    { kafka, topology, clock: systemClock, log: silentLogger, onProgress },
    audience(audienceId),
    {
      ...{ shard: wholeAudience, directory, dryRun: false, baseline: undefined },
      ...{
        allowEmpty: true,
        maxRemovedPercent: 100,
        changesPerTransaction: fullBatchChanges / 100,
      },
    },
    (connection) => fillCurrent(connection, membersOf(...members)),
  ).then(() => {
    process.send?.('ended');
    process.disconnect();
  });
});
process.send?.('waiting');
