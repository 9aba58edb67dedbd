import type { Clock, Timer } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import type { ClusterClient, Cluster } from '../cluster/cluster.ts';
import { reasonOf } from '../keep-trying.ts';
import { KafkaAnswerError } from '../protocol/errors.ts';
import { isRefusal } from '../refusal.ts';
import { decodeWishes, oldestLevel } from './assigner.ts';
import { Coordinator, type GroupDescription } from './coordinator.ts';

const lookMs = 2_000;
/** What is known longer than this may not be so any more. */
const believedMs = 30_000;

/**
 * The level of formats that all readers in a group know, from what was seen of it. It falls at once and rises
 * after two looks in a row, so that a member that is only just joining is counted. Without members it is the
 * oldest: those who come next may be of any release.
 */
export class CommonLevel {
  #level = oldestLevel;
  #before = oldestLevel;
  #knownAtMs = -Infinity;

  /** @param levels of the members; undefined: they cannot be told now, as while the group rebalances */
  seen(levels: readonly number[] | undefined, nowMs: number): void {
    if (levels === undefined) {
      if (nowMs - this.#knownAtMs > believedMs) this.#level = this.#before = oldestLevel;
      return;
    }
    const now = levels.length === 0 ? oldestLevel : Math.min(...levels);
    this.#level = Math.min(now, this.#before);
    this.#before = now;
    this.#knownAtMs = nowMs;
  }

  get level(): number {
    return this.#level;
  }
}

/** What the members of a stable group read; undefined where that is not told. */
export function levelsOf({ state, members }: GroupDescription): readonly number[] | undefined {
  if (state === 'Empty' || state === 'Dead') return [];
  if (state !== 'Stable') return undefined;
  return members.map(({ metadata }) => decodeWishes(metadata).readLevel);
}

export interface GroupLevelOptions {
  readonly groupId: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Looks at a group every two seconds, for whoever writes what its members read. Needs the right to describe it. */
export class GroupLevel {
  readonly #options: GroupLevelOptions;
  readonly #cluster: Cluster;
  readonly #coordinator: Coordinator;
  readonly #common = new CommonLevel();
  #timer: Timer | undefined;
  #isStopped = false;
  #isRefused = false;

  constructor(kafka: ClusterClient, options: GroupLevelOptions) {
    this.#options = options;
    this.#cluster = kafka.openCluster('read');
    this.#coordinator = new Coordinator(this.#cluster, options.groupId);
    void this.#look();
  }

  /** That all readers know, as far as is known here. */
  get level(): number {
    return this.#common.level;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#cluster.close();
  }

  async #look(): Promise<void> {
    const { groupId, clock, log } = this.#options;
    const before = this.level;
    try {
      const description = await this.#coordinator.describe();
      if (description.error !== 'NONE')
        throw new KafkaAnswerError(description.error, `group ${groupId}`);
      this.#isRefused = false;
      this.#common.seen(levelsOf(description), clock.now());
    } catch (error) {
      if (this.#isStopped) return;
      this.#refused(error);
      this.#common.seen(undefined, clock.now());
    }
    if (this.#isStopped) return;
    if (this.level !== before)
      log.info(
        { groupId, level: this.level },
        'the readers of the group know another level of formats',
      );
    this.#timer = clock.after(lookMs, () => void this.#look());
  }

  /** Nothing breaks without the right: the oldest format stays in use. */
  #refused(error: unknown): void {
    const { groupId, log } = this.#options;
    const isRefused = isRefusal(error);
    if (isRefused && !this.#isRefused)
      log.warn(
        { groupId },
        'this principal may not describe the group, so the oldest format is written; allow Describe',
      );
    else log.debug({ groupId, reason: reasonOf(error) }, 'the group cannot be described now');
    this.#isRefused = isRefused;
  }
}
