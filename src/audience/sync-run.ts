import { randomBytes } from 'node:crypto';
import type { DuckDBConnection } from '@duckdb/node-api';
import {
  withEntry,
  type AudienceRecord,
  type SyncCounts,
  type SyncEntry,
} from '../resources/audiences/record.ts';
import { TraitCalls } from './calls.ts';
import { applyChanges, findChanges, type Difference, type SyncTarget } from './changes.ts';
import { loadState, noneYet, saveState, type CheckpointSubject } from './checkpoint.ts';
import { Deletions } from './deletions.ts';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { cutOffRun, everyoneRecord, type WantedBaseline } from './everyone.ts';

import { Memberships } from './membership.ts';
import type { OpenAudience, SyncDeps } from './open-audience.ts';
import { replay } from './replay.ts';
import { adoptFormer, sendChanges, type SendOptions } from './send-changes.ts';

export interface RunOptions {
  readonly action: SyncEntry['action'];
  readonly changesPerTransaction: number;
}

export interface SendWhat {
  /** Nothing is sent, and only the memberships change. */
  readonly isSilent?: boolean;
  readonly formerDestinations: readonly string[];
  /** Users that did not change are sent as well. */
  readonly baseline?: WantedBaseline | undefined;
}

/** One run for one trait of an audience: the memberships, the differences, and the calls for them. */
export class SyncRun {
  readonly sync: string;
  readonly startedMs: number;
  readonly #deps: SyncDeps;
  readonly #audience: OpenAudience;
  readonly #target: SyncTarget;
  readonly #options: RunOptions;
  readonly #memberships: Memberships;
  readonly #deletions: Deletions;
  readonly #stateFile: string;

  /** Why the checkpoint could not be used; undefined if it was. */
  rebuilt: string | undefined;

  private constructor(
    deps: SyncDeps,
    audience: OpenAudience,
    target: SyncTarget,
    options: RunOptions,
    deletions: Deletions,
  ) {
    this.#deps = deps;
    this.#audience = audience;
    this.#target = target;
    this.#options = options;
    this.#deletions = deletions;
    this.startedMs = deps.clock.now();
    this.sync = `${new Date(this.startedMs).toISOString()}-${randomBytes(4).toString('hex')}`;
    const { audienceMembers } = deps.topology.topics;
    this.#memberships = new Memberships(audienceMembers, target, audience.sinceMs);
    this.#stateFile = audience.workspace.file(`${this.sync}.duckdb`);
  }

  /** Leaves the memberships as `state.members`. */
  static async begin(
    deps: SyncDeps,
    audience: OpenAudience,
    target: SyncTarget,
    options: RunOptions,
    checkpoint: string | undefined,
  ): Promise<SyncRun> {
    const { kafka, topology, log } = deps;
    const deletions = await Deletions.follow(kafka, topology, target.source, log);
    const run = new SyncRun(deps, audience, target, options, deletions);
    try {
      await run.#remember(checkpoint);
    } catch (error) {
      await run.end();
      throw error;
    }
    return run;
  }

  get #connection(): DuckDBConnection {
    return this.#audience.workspace.database.connection;
  }

  async #remember(checkpoint: string | undefined): Promise<void> {
    const { kafka, topology, log, onProgress } = this.#deps;
    const { ends, id } = this.#audience;
    const { positions, rebuilt } = await loadState(
      this.#connection,
      checkpoint,
      this.#stateFile,
      this.#subject(),
    );
    this.rebuilt = rebuilt;
    if (checkpoint !== undefined && rebuilt !== undefined && rebuilt !== noneYet)
      log.warn(
        { audience: id, checkpoint },
        `${rebuilt}: Kafka is read from its beginning instead`,
      );
    let done = 0;
    await replay({
      kafka,
      connection: this.#connection,
      topic: topology.topics.audienceMembers,
      memberships: this.#memberships,
      id,
      positions,
      ends,
      onRecord: () => {
        done += 1;
        onProgress({ stage: 'remembering', done });
      },
    });
  }

  /**
   * Compares `current` with the memberships.
   * @param options.newcomersSinceMs users without a membership get no call if they were deleted later
   */
  async compare({
    withBaseline,
    newcomersSinceMs = this.#audience.sinceMs,
  }: {
    readonly withBaseline: boolean;
    readonly newcomersSinceMs?: number;
  }): Promise<Difference> {
    this.#deps.onProgress({ stage: 'comparing', done: 0 });
    await this.#deletions.fill(this.#connection);
    const keptMs = this.#deps.topology.deletionRetentionMs;
    return findChanges(this.#connection, {
      withBaseline,
      newcomersSinceMs,
      deletionsKnownFromMs: this.#audience.sinceMs - keptMs,
    });
  }

  /** Sends the differences. Returns users that were left out because their calls would be too large. */
  async send(what: SendWhat): Promise<readonly string[]> {
    const { topology, onProgress } = this.#deps;
    const { ingestAudience: callTopic, audienceMembers: membersTopic } = topology.topics;
    const everyone = what.baseline && (await this.#everyone(what.baseline));
    const { callPartitions } = this.#audience.facts;
    const calls = new TraitCalls({
      target: this.#target,
      sync: this.sync,
      timeMs: this.startedMs,
      callTopic,
      callPartitions,
      formerDestinations: what.formerDestinations,
      baseline: everyone?.baseline,
    });
    let done = 0;
    const options: SendOptions = {
      audience: this.#audience,
      memberships: this.#memberships,
      calls: what.isSilent === true ? undefined : calls,
      deletions: this.#deletions,
      everyone,
      membersTopic,
      changesPerTransaction: this.#options.changesPerTransaction,
      onSent: (changes) => {
        done += changes;
        onProgress({ stage: 'sending', done });
      },
    };
    await this.#deletions.caughtUp();
    await adoptFormer(options, this.#connection);
    return sendChanges(options);
  }

  async #everyone(wanted: WantedBaseline): Promise<NonNullable<SendOptions['everyone']>> {
    const rows = await this.#connection.runAndReadAll('select part, value from state.everyone');
    const progress = new Map(
      rows.getRows().map(([part, value]) => [Number(part), String(value)] as const),
    );
    const { source, trait } = this.#target;
    const told = { ...wanted, source, trait };
    const fresh = { ...told, sync: this.sync, timeMs: this.startedMs };
    return cutOffRun(progress, told, this.startedMs) ?? { baseline: fresh, after: new Map() };
  }

  /**
   * Everything is sent and recorded in the topic. Without the checkpoint, the next sync only takes longer.
   */
  async saveCheckpoint(checkpoint: string | undefined, leftOut: readonly string[]): Promise<void> {
    if (checkpoint === undefined) return;
    try {
      await applyChanges(this.#connection, leftOut, this.#audience.sinceMs);
      if (this.#options.action === 'full') await this.#connection.run('delete from state.everyone');
      const { sinceMs } = this.#audience;
      await saveState(this.#connection, checkpoint, this.#stateFile, this.#subject(), sinceMs);
    } catch (error) {
      this.#deps.log.warn({ err: error, checkpoint }, 'the checkpoint could not be written');
    }
  }

  /** Ends the record of a full run's progress. Written together with the run's entry. */
  get over(): readonly PlacedRecord[] {
    const { audienceMembers } = this.#deps.topology.topics;
    return [everyoneRecord(audienceMembers, 0, this.#audience.id, undefined)];
  }

  /** The entry of this run in the audience's history. */
  entry(
    outcome: SyncEntry['outcome'],
    { members, added, removed, changed, baseline, forgotten }: SyncCounts,
    reason?: string,
  ): SyncEntry {
    return {
      sync: this.sync,
      action: this.#options.action,
      source: this.#target.source,
      trait: this.#target.trait,
      startedAt: new Date(this.startedMs).toISOString(),
      durationMs: this.#deps.clock.now() - this.startedMs,
      outcome,
      reason,
      members,
      added,
      removed,
      changed,
      baseline,
      forgotten,
    };
  }

  /** The record with this run's entry. */
  recordWith({ told, syncs }: AudienceRecord, entry: SyncEntry): AudienceRecord {
    return { told, syncs: withEntry(syncs, entry) };
  }

  /** Detaches `state`. */
  async end(): Promise<void> {
    await this.#deletions.stop();
    await this.#connection.run('detach database if exists state').catch(() => undefined);
  }

  #subject(): CheckpointSubject {
    const { topology } = this.#deps;
    const { facts, ends } = this.#audience;
    const { id, kind, source, trait } = this.#target;
    const topic = topology.topics.audienceMembers;
    return {
      name: `${topic} of ${facts.memberPartitions}, ${kind} ${id}/${source}/${trait}`,
      topicId: facts.membersTopicId,
      ends,
      nowMs: this.startedMs,
      maxAgeMs: facts.tombstonesKeptMs / 2,
    };
  }
}
