import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
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
import { withAdmin } from '../../src/kafka/admin.ts';
import { openTransactions, placeName } from '../../src/kafka/produce/transactions.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { fillCurrent, type Members } from './members.ts';

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
  readonly #folders: string[] = [];

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
    return syncAudience(
      { kafka, topology, clock: systemClock, log: silentLogger, onProgress: () => undefined },
      target,
      { ...defaults, ...options },
      async (connection) => {
        await beforeReading();
        await fillCurrent(connection, members);
      },
    );
  }

  /** All calls about one audience that are committed now. */
  async emitted(target: SyncTarget): Promise<Emitted[]> {
    const calls: Emitted[] = [];
    for (const { value, headers } of await this.#committed()) {
      if (value === null) continue;
      const call = {
        ...(JSON.parse(String(value)) as Emitted),
        source: headers[audienceSourceHeader]?.toString(),
        destinations: headers[audienceDestinationsHeader]?.toString(),
      };
      if (call.context.audience.id === target.id) calls.push(call);
    }
    return calls;
  }

  /**
   * Up to records of its own: the end that Kafka tells lies before what other syncs have committed while
   * one has a transaction open.
   */
  async #committed(): Promise<IncomingRecord[]> {
    const { kafka, topology } = this.deployment;
    const topic = topology.topics.ingestAudience;
    const kept = await withAdmin(kafka, (admin) => admin.offsets(topic));
    const writer = await openTransactions(kafka, `${topology.prefix}${randomUUID()}`);
    const ends = await writer.write(
      kept.map(({ partition }) => ({ topic, partition, key: null, value: null })),
    );
    await writer.close();
    const ranges = kept.map(({ partition, start }) => ({
      ...{ partition, start },
      end: ends.get(placeName(topic, partition)) ?? 0,
    }));
    const records: IncomingRecord[] = [];
    for await (const record of readRange(kafka, { topic, ranges })) records.push(record);
    return records;
  }

  /** Where checkpoints may be kept, until the scene ends. */
  async checkpointFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'));
    this.#folders.push(folder);
    return folder;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#folders.map((folder) => rm(folder, { recursive: true })));
    await this.deployment.stop();
  }
}

const defaults: SyncOptions = {
  shard: wholeAudience,
  directory: undefined,
  dryRun: false,
  baseline: undefined,
  allowEmpty: false,
  maxRemovedPercent: 50,
  changesPerTransaction: fullBatchChanges,
};

export async function syncScene(): Promise<SyncScene> {
  return new SyncScene(await testDeployment());
}

/** `u1 true`, sorted. */
export function told(calls: readonly Emitted[]): string[] {
  return calls.map(({ userId, traits }) => `${userId} ${JSON.stringify(traits)}`).sort();
}
