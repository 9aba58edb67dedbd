import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fullBatchChanges } from '../../src/audience/change-batch.ts';
import { wholeAudience } from '../../src/audience/shard.ts';
import { syncAudience, type SyncOptions, type SyncResult } from '../../src/audience/sync.ts';
import type { SyncTarget } from '../../src/audience/sync-target.ts';
import {
  audienceDestinationsHeader,
  audienceSourceHeader,
} from '../../src/event/audience-headers.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { readAll } from '../kafka/topics.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { fillCurrent, type Members } from './members.ts';

/** Where checkpoints may be kept. */
export async function checkpointFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'postrider-test-'));
}

/** A call that a sync emitted, as a reader of committed records sees it. */
export interface Emitted {
  readonly userId: string;
  readonly messageId: string;
  readonly traits: Readonly<Record<string, unknown>>;
  readonly context: { readonly audience: { id: string; name: string; sync: string } };
  readonly timestamp: string;
  readonly source: string | undefined;
  readonly destinations: string | undefined;
}

/** Topics of its own, and syncs with them. */
export class SyncScene {
  readonly deployment: TestDeployment;
  readonly stages: string[] = [];

  constructor(deployment: TestDeployment) {
    this.deployment = deployment;
  }

  async sync(
    target: SyncTarget,
    members: Members,
    options: Partial<SyncOptions> = {},
    beforeReading: () => Promise<void> = () => Promise.resolve(),
  ): Promise<SyncResult> {
    const { kafka, topology } = this.deployment;
    const onProgress = ({ stage }: { readonly stage: string }): void => {
      if (this.stages.at(-1) !== stage) this.stages.push(stage);
    };
    return syncAudience(
      { kafka, topology, clock: systemClock, log: silentLogger, onProgress },
      target,
      { ...defaults, ...options },
      async (connection) => {
        await beforeReading();
        await fillCurrent(connection, members);
      },
    );
  }

  /** All of a topic, committed, of one audience. */
  async emitted(target: SyncTarget): Promise<Emitted[]> {
    const { kafka, topology } = this.deployment;
    const records = await readAll(kafka, topology.topics.ingestAudience);
    return records
      .map(({ value, headers }) => ({
        ...(JSON.parse(String(value)) as Emitted),
        source: headers[audienceSourceHeader]?.toString(),
        destinations: headers[audienceDestinationsHeader]?.toString(),
      }))
      .filter(({ context }) => context.audience.id === target.id);
  }

  async stop(): Promise<void> {
    await this.deployment.stop();
  }
}

const defaults: SyncOptions = {
  shard: wholeAudience,
  directory: undefined,
  dryRun: false,
  baseline: undefined,
  allowEmpty: false,
  maxRemovedShare: 0.5,
  changesPerTransaction: fullBatchChanges,
};

export async function syncScene(): Promise<SyncScene> {
  return new SyncScene(await testDeployment());
}

/** `u1 true`, sorted. */
export function told(calls: readonly Emitted[]): string[] {
  return calls.map(({ userId, traits }) => `${userId} ${JSON.stringify(traits)}`).sort();
}
