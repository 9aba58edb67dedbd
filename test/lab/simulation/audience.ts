import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import { syncAudience, type SyncOptions } from '../../../src/audience/sync.ts';
import type { SyncTarget } from '../../../src/audience/changes.ts';
import { PostriderError } from '../../../src/errors.ts';
import type { SimulatedDeployment } from './deployment.ts';
import { committedRecords } from './read-log.ts';
import { standStillForRealWork } from './real-work.ts';
import type { AudiencePlan, Scenario, SyncPlan } from './scenario.ts';
import { SimulatedProcess } from './virtual-time.ts';

/** What the audience has said about somebody. */
export interface ToldCall {
  readonly messageId: string;
  readonly user: string;
  readonly isMember: boolean;
  readonly atMs: number;
}

const trait = 'vip';
const target: SyncTarget = { kind: 'Audience', id: 'vips', name: 'VIPs', source: 'shop', trait };
const lastTryMs = 10_000;
/** By then a broker that was away is back, and a transaction of a killed sync has been aborted. */
const mostLastTries = 60;

/** The syncs of a scenario's audience, each a process of its own, as a CronJob starts them. */
export class SimulatedAudience {
  readonly #deployment: SimulatedDeployment;
  readonly #plan: AudiencePlan;
  readonly #options: Omit<SyncOptions, 'directory'>;
  readonly #running = new Set<SimulatedProcess>();
  readonly #folder: string;
  readonly #release: () => void;
  readonly #say: (who: string, what: string) => void;
  #syncs = 0;
  /** Why the sync after the last trouble did not end well. */
  failure: string | undefined = 'it has not ended';

  constructor(
    deployment: SimulatedDeployment,
    { destinations }: Scenario,
    plan: AudiencePlan,
    say: (who: string, what: string) => void,
  ) {
    this.#deployment = deployment;
    this.#plan = plan;
    this.#say = say;
    this.#folder = mkdtempSync(path.join(tmpdir(), 'postrider-simulated-audience-'));
    this.#release = standStillForRealWork(deployment.time);
    this.#options = {
      filesDir: this.#folder,
      dryRun: false,
      full: undefined,
      connected: destinations.map(({ id }) => id),
      confirmFirst: () => Promise.resolve(),
      changesPerTransaction: plan.changesPerTransaction,
      maxAdded: Infinity,
      maxRemoved: 100,
      maxChanged: 100,
      allowEmpty: true,
    };
  }

  schedule(): void {
    const { time } = this.#deployment;
    for (const sync of this.#plan.syncs)
      time.after(sync.atMs, () => {
        void this.#sync(sync);
      });
  }

  /** The last word, after all trouble: it is tried until it ends well. */
  async syncLast(): Promise<void> {
    const { time } = this.#deployment;
    const members = this.#plan.syncs.at(-1)?.members ?? [];
    for (let tries = 0; tries < mostLastTries; tries += 1) {
      let isOver = false;
      void this.#sync({ atMs: 0, members, killedAfterMs: undefined }).then((failure) => {
        this.failure = failure;
        isOver = true;
      });
      await time.passUntil(() => isOver, lastTryMs * mostLastTries);
      if (this.failure === undefined) return;
      await time.pass(lastTryMs);
    }
  }

  get isSettled(): boolean {
    return [...this.#running].every(({ isDead }) => isDead);
  }

  close(): void {
    this.#release();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Everything that it has said and committed, by partition in its order. */
  get told(): ToldCall[] {
    const { brokers, topology } = this.#deployment;
    const { partitions = [] } = brokers.topics.get(topology.topics.ingestAudience) ?? {};
    return partitions.flatMap((partition) =>
      committedRecords(partition).map(({ value, timestampMs }) => {
        const { messageId, userId, traits } = JSON.parse(String(value)) as {
          readonly messageId: string;
          readonly userId: string;
          readonly traits: Readonly<Record<string, boolean>>;
        };
        return { messageId, user: userId, isMember: traits[trait] === true, atMs: timestampMs };
      }),
    );
  }

  get lastMembers(): ReadonlySet<string> {
    return new Set(this.#plan.syncs.at(-1)?.members.map(userNamed));
  }

  /** Returns why it failed. */
  async #sync({ members, killedAfterMs }: SyncPlan): Promise<string | undefined> {
    const { time } = this.#deployment;
    this.#syncs += 1;
    const process = new SimulatedProcess(`sync-${this.#syncs}`);
    this.#running.add(process);
    time.happened();
    if (killedAfterMs !== undefined)
      time.after(killedAfterMs, () => {
        if (!this.#running.has(process)) return;
        this.#say(process.name, 'is killed');
        process.isDead = true;
      });
    const deps = { ...this.#deployment.partsFor(process), onProgress: () => undefined };
    // In a folder of its own, it finds no checkpoint.
    const directory = this.#plan.keepsCheckpoint
      ? this.#folder
      : path.join(this.#folder, process.name);
    const readCurrent = async (connection: DuckDBConnection): Promise<void> => {
      await connection.run(
        `create table current as
           select 'u' || unnest([${members.join(', ')}]::integer[]) as user_id, 'true' as value`,
      );
    };
    try {
      const { added, removed } = await time.runIn(process, () =>
        syncAudience(deps, target, { ...this.#options, directory }, readCurrent),
      );
      this.#say(process.name, `is done: ${added} came, ${removed} left`);
      return undefined;
    } catch (error) {
      this.#say(process.name, `ends: ${String(error)}`);
      if (!(error instanceof PostriderError)) throw error;
      return error.message;
    } finally {
      this.#running.delete(process);
      time.happened();
    }
  }
}

function userNamed(index: number): string {
  return `u${index}`;
}
