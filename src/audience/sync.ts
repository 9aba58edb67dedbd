import type { DuckDBConnection } from '@duckdb/node-api';
import { asError, PostriderError } from '../errors.ts';
import {
  emittedEver,
  formerDestinations,
  toldOf,
  withTold,
  type AudienceRecord,
  type ToldTrait,
} from '../resources/audiences/record.ts';
import { readChanges, type Change, type Difference, type SyncTarget } from './changes.ts';
import {
  withAudience,
  type OpenAudience,
  type OpenOptions,
  type SyncDeps,
} from './open-audience.ts';
import { objectionTo, type SafetyLimits } from './safety.ts';
import { SyncRun } from './sync-run.ts';

export interface SyncOptions extends OpenOptions, SafetyLimits {
  /** Set if unchanged users are sent as well, with the only destination that gets them. */
  readonly full: { readonly destination: string | undefined } | undefined;
  /** Every destination that is connected to the source. */
  readonly connected: readonly string[];
  /** Called before the first calls for a trait. It rejects if nobody has agreed to that many. */
  readonly confirmFirst: (users: number) => Promise<void>;
  readonly changesPerTransaction: number;
}

export interface SyncResult extends Difference {
  /** The sync's id, as in the calls' `context.audience.sync`. */
  readonly sync: string;
  /**
   * Calls that would be larger than the pipeline accepts. They are not sent, and the next sync tries again.
   */
  readonly tooLarge: number;
  /** Why the checkpoint could not be used; undefined if it was. */
  readonly rebuilt: string | undefined;
  /** Some of the changes, as a sample. */
  readonly sample: readonly Change[];
  readonly durationMs: number;
  /** The audience's record from now on. */
  readonly record: AudienceRecord;
}

/**
 * Leaves the data as a table `current (user_id, value)`, one row for each user.
 * @param tempFolder a folder for this only; it need not exist, and is removed afterwards
 */
export type ReadCurrent = (connection: DuckDBConnection, tempFolder: string) => Promise<void>;

const sampleSize = 10;
const nobody = { members: 0, added: 0, removed: 0, changed: 0, baseline: 0, forgotten: 0 };

/**
 * One sync of one audience: compares its data with the memberships, and sends one call for each user that
 * differs.
 * @throws PostriderError `fenced` when a newer sync has begun; `input-invalid` when the data is probably
 * broken, before anything is sent; what reading the data and writing to Kafka throw. Everything that was sent
 * is recorded, so that the next sync continues after it.
 */
export async function syncAudience(
  deps: SyncDeps,
  target: SyncTarget,
  options: SyncOptions,
  readCurrent: ReadCurrent,
): Promise<SyncResult> {
  return withAudience(deps, target.id, options, async (audience) => {
    const action = options.full === undefined ? 'sync' : 'full';
    const { changesPerTransaction } = options;
    const { checkpoint } = audience.workspace;
    const run = await SyncRun.begin(
      deps,
      audience,
      target,
      { action, changesPerTransaction },
      checkpoint,
    );
    try {
      return await new Sync(deps, audience, target, options, run).carryOut(readCurrent);
    } finally {
      await run.end();
    }
  });
}

class Sync {
  readonly #deps: SyncDeps;
  readonly #audience: OpenAudience;
  readonly #target: SyncTarget;
  readonly #options: SyncOptions;
  readonly #run: SyncRun;
  readonly #before: ToldTrait | undefined;
  #record: AudienceRecord;
  #found: Difference | undefined;

  constructor(
    deps: SyncDeps,
    audience: OpenAudience,
    target: SyncTarget,
    options: SyncOptions,
    run: SyncRun,
  ) {
    this.#deps = deps;
    this.#audience = audience;
    this.#target = target;
    this.#options = options;
    this.#run = run;
    this.#record = audience.record;
    this.#before = toldOf(audience.record.told, target);
  }

  async carryOut(readCurrent: ReadCurrent): Promise<SyncResult> {
    const { dryRun } = this.#options;
    try {
      const found = await this.#find(readCurrent);
      const sample: Change[] = [];
      const { connection } = this.#audience.workspace.database;
      for await (const some of readChanges(connection, { mostRows: sampleSize }))
        sample.push(...some);
      const leftOut = dryRun ? [] : await this.#send(found);
      return {
        ...found,
        sync: this.#run.sync,
        tooLarge: leftOut.length,
        rebuilt: this.#run.rebuilt,
        sample,
        durationMs: this.#deps.clock.now() - this.#run.startedMs,
        record: this.#record,
      };
    } catch (error) {
      await this.#saveFailure(error);
      throw error;
    }
  }

  async #find(readCurrent: ReadCurrent): Promise<Difference> {
    const { dryRun, full, confirmFirst } = this.#options;
    const { workspace } = this.#audience;
    this.#deps.onProgress({ stage: 'reading', done: 0 });
    await readCurrent(workspace.database.connection, workspace.file('reading'));
    const found = await this.#run.compare({
      withBaseline: full !== undefined,
      newcomersSinceMs: this.#newcomersSinceMs,
    });
    this.#found = found;
    const expected = this.#before?.members ?? 0;
    const objection = objectionTo(this.#target, found, this.#options, expected);
    if (objection !== undefined) throw new PostriderError('input-invalid', objection);
    const isFirst = found.before === 0 && expected === 0 && found.added > 0;
    if (isFirst && !dryRun) await confirmFirst(found.added);
    return found;
  }

  /**
   * The record is written before the calls, so that an interrupted run leaves no user with an unrecorded
   * trait.
   */
  async #send(found: Difference): Promise<readonly string[]> {
    const { full, connected } = this.#options;
    await this.#save(found, 'unfinished');
    const destinations = full?.destination === undefined ? undefined : [full.destination];
    const reached = destinations ?? this.#target.destinations ?? connected;
    const leftOut = await this.#run.send({
      formerDestinations: this.#formerDestinations,
      baseline: full && { destinations, reached, isTakenBack: false },
    });
    await this.#save(found, 'done');
    await this.#run.saveCheckpoint(this.#audience.workspace.checkpoint, leftOut);
    return leftOut;
  }

  /**
   * The last sync has seen who was in the data. A user who enters it, and was deleted since then, may have
   * been added before the deletion. Records of earlier versions do not tell when the last sync was.
   */
  get #newcomersSinceMs(): number {
    return this.#before === undefined ? 0 : (this.#before.syncedMs ?? this.#audience.sinceMs);
  }

  get #formerDestinations(): readonly string[] {
    return formerDestinations(this.#before, this.#target, this.#options.connected);
  }

  async #save(found: Difference, outcome: 'unfinished' | 'done'): Promise<void> {
    const { kind, name, source, trait, destinations } = this.#target;
    const syncedBefore = this.#before === undefined ? 0 : this.#before.syncedMs;
    // If the run is cut off, users who leave may still have the trait.
    const members = outcome === 'done' ? found.members : Math.max(found.before, found.members);
    const told = withTold(this.#record.told, {
      kind,
      name,
      source,
      trait,
      destinations,
      emit: emittedEver(this.#before, this.#target),
      formerDestinations: this.#formerDestinations,
      members,
      syncedMs: outcome === 'done' ? this.#audience.sinceMs : syncedBefore,
    });
    this.#record = this.#run.recordWith(
      { told, syncs: this.#record.syncs },
      this.#run.entry(outcome, found),
    );
    const isOver = outcome === 'done' && this.#options.full !== undefined;
    await this.#audience.save(this.#record, isOver ? this.#run.over : []);
  }

  /**
   * Shows the failure in the audience's record. If a newer run has stopped this one, that run writes the
   * record.
   */
  async #saveFailure(error: unknown): Promise<void> {
    if (this.#options.dryRun) return;
    const isRefused = error instanceof PostriderError && error.code === 'input-invalid';
    const reason = asError(error).message;
    const outcome = isRefused ? 'refused' : 'failed';
    const entry = this.#run.entry(outcome, this.#found ?? nobody, reason);
    this.#record = this.#run.recordWith(this.#record, entry);
    await this.#audience.save(this.#record).catch(() => undefined);
  }
}
