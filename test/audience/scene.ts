import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fullBatchChanges } from '../../src/audience/emit.ts';
import {
  withAudience,
  type SyncDeps,
  type SyncProgress,
} from '../../src/audience/open-audience.ts';
import { retireAudience, retireFormer, type Retired } from '../../src/audience/retire.ts';
import { syncAudience, type SyncOptions, type SyncResult } from '../../src/audience/sync.ts';
import type { SyncTarget } from '../../src/audience/changes.ts';
import { audienceDestinationsHeader, audienceSourceHeader } from '../../src/event/headers.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { AudienceRecord } from '../../src/resources/audiences/record.ts';
import { readAudienceRecords } from '../../src/resources/audiences/records.ts';
import { deletionRecord } from '../../src/resources/fence/fence.ts';
import { testDeployment, type TestDeployment } from '../resources/deployment.ts';
import { fillCurrent, type Members } from './members.ts';

/** A call that a sync emitted, as a reader of committed records sees it. */
export interface Emitted {
  readonly type: string;
  readonly userId: string;
  readonly messageId: string;
  /** Of a track call. */
  readonly event?: string;
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
    return syncAudience(this.#deps, target, { ...defaults, ...options }, async (connection) => {
      await beforeReading();
      await fillCurrent(connection, members);
    });
  }

  /** A sync that ends once it has committed its first change. */
  async cutOffSync(
    target: SyncTarget,
    members: Members,
    options: Partial<SyncOptions> = {},
  ): Promise<void> {
    const onProgress = ({ stage }: SyncProgress): void => {
      if (stage === 'sending') throw new Error('cut off');
    };
    const deps = { ...this.#deps, onProgress };
    const all = { ...defaults, ...options, changesPerTransaction: 1 };
    const cutOff = syncAudience(deps, target, all, (connection) =>
      fillCurrent(connection, members),
    );
    await assert.rejects(cutOff, /cut off/);
  }

  /** Takes back what the audience says no more. */
  async retireFormer(
    target: SyncTarget,
    isSilent = false,
    destinationsOf: (sourceId: string) => readonly string[] = () => defaults.connected,
  ): Promise<readonly Retired[]> {
    return retireFormer(this.#deps, target, destinationsOf, { ...retiring, isSilent });
  }

  async retireAudience(target: SyncTarget, isSilent = false): Promise<readonly Retired[]> {
    return retireAudience(this.#deps, target.id, undefined, { ...retiring, isSilent });
  }

  async record(target: SyncTarget): Promise<AudienceRecord | undefined> {
    const { kafka, topology } = this.deployment;
    return (await readAudienceRecords(kafka, topology)).get(target.id);
  }

  async deleteUser(userId: string, source = 'shop'): Promise<void> {
    const { producer, topology } = this.deployment;
    const time = new Date().toISOString();
    await producer.send([
      deletionRecord(topology.topics.deletions, { userId, sourceId: source, time }),
    ]);
  }

  async takeDeletionBack(userId: string): Promise<void> {
    const { producer, topology } = this.deployment;
    await producer.send([{ topic: topology.topics.deletions, key: `shop:${userId}`, value: null }]);
  }

  get #deps(): SyncDeps {
    const { kafka, topology } = this.deployment;
    return { kafka, topology, clock: systemClock, log: silentLogger, onProgress: () => undefined };
  }

  /** The same once whichever sync came before can write nothing more. */
  async settledRecord({ id }: SyncTarget): Promise<AudienceRecord> {
    const options = { directory: undefined, filesDir: process.cwd(), dryRun: false };
    return withAudience(this.#deps, id, options, ({ record }) => Promise.resolve(record));
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

  async #committed(): Promise<IncomingRecord[]> {
    const { kafka, topology } = this.deployment;
    const records: IncomingRecord[] = [];
    for await (const record of readRange(kafka, { topic: topology.topics.ingestAudience }))
      records.push(record);
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
  filesDir: process.cwd(),
  directory: undefined,
  dryRun: false,
  full: undefined,
  connected: ['crm', 'ads', 'new'],
  allowEmpty: false,
  maxRemoved: 50,
  maxChanged: 50,
  maxAdded: 100,
  confirmFirst: () => Promise.resolve(),
  changesPerTransaction: fullBatchChanges,
};

const retiring = {
  directory: undefined,
  filesDir: process.cwd(),
  changesPerTransaction: fullBatchChanges,
};

export async function syncScene(): Promise<SyncScene> {
  return new SyncScene(await testDeployment());
}

/** `u1 true`, sorted. */
export function told(calls: readonly Emitted[]): string[] {
  return calls.map(({ userId, traits }) => `${userId} ${JSON.stringify(traits)}`).sort();
}
