import { asError } from '../../errors.ts';
import type { Logger } from '../../ops/log.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { isRefusal, reasonOf, refusedRight } from '../failure.ts';
import { refusalPauseMs } from '../retrying.ts';
import { Sleeper } from '../../ops/wait.ts';
import { KafkaAnswerError, type KafkaErrorName } from '../protocol/errors.ts';
import type { TopicPartition } from '../record.ts';
import {
  assignIndices,
  assignParts,
  cooperativeProtocol,
  decodeAssignment,
  decodeWishes,
  eagerProtocol,
  encodeAssignment,
  encodeWishes,
} from './assigner.ts';
import {
  Coordinator,
  type Commit,
  type CommitAnswer,
  type GroupMemberMetadata,
  type MemberIdentity,
} from './coordinator.ts';

export interface MembershipOptions {
  /** For joining alone, which may wait for other members: nothing else waits behind it. */
  readonly joinCluster: Cluster;
  /** For heartbeats and commits. */
  readonly cluster: Cluster;
  readonly groupId: string;
  readonly topics: readonly string[];
  /** See `assignParts`. */
  readonly parts?: readonly string[] | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The indices that this member owns, and may therefore be kept by it. */
  ownedIndices(): readonly number[];
  /** Called with what this member may read from now on. Cooperative: nobody reads what it has not let go of. */
  assigned(partitions: readonly TopicPartition[], isCooperative: boolean): void;
  /** The group has gone on without this member: others may read what it had. */
  expelled(): void;
  /**
   * True: the coordinator has not answered for as long as a session lasts, so the group may have gone on without
   * this member. False: it has answered that it had not, or this member has joined again.
   */
  unheard(isUnheard: boolean): void;
  /** It joins again, or looks for its coordinator. */
  troubled(error: Error): void;
  /**
   * Kafka's ACLs refuse the group, or a topic, to one who was never a member. Whoever was one tries again, with
   * growing pauses.
   */
  refused(error: Error): void;
}

/** The partitions of a killed process have a new owner when its session is over. */
const sessionTimeoutMs = 10_000;
const heartbeatMs = 1_000;
/** The time for which others wait for a member that takes part in no rebalance; each does within a heartbeat. */
const rebalanceTimeoutMs = 15_000;
/** After something has gone wrong. */
const againMs = 500;
const silentTroubles = 3;
/** A line every ten seconds. */
const troublesPerLine = 20;
/** The time after which the one who assigns looks again for topics that do not exist, or have grown. */
const lookMs = 2_000;

const stale: ReadonlySet<KafkaErrorName> = new Set<KafkaErrorName>([
  'UNKNOWN_MEMBER_ID',
  'ILLEGAL_GENERATION',
]);

/**
 * This process's place in a group: joins, tells that it is alive, assigns if it is the one to do so, and
 * leaves. While it joins again it goes on with what it has.
 */
export class Membership {
  readonly #options: MembershipOptions;
  readonly #joining: Coordinator;
  readonly #coordinator: Coordinator;
  readonly #sleeper: Sleeper;
  /** In a row. */
  #troubles = 0;
  #memberId = '';
  #generation = -1;
  #mustJoin = true;
  #heardMs = -Infinity;
  /** The time at which the session must be over, unless the coordinator answers before. */
  #sessionEndMs = Infinity;
  #session: NodeJS.Timeout | undefined;
  #isUnheard = false;
  /** For the one who assigns: how many partitions each topic had then. */
  #assignedCounts: ReadonlyMap<string, number> | undefined;
  #lookedAtMs = 0;
  #isWarned = false;
  #wasMember = false;
  /** In a row, by Kafka's ACLs. */
  #refusals = 0;
  #refusedTopic: string | undefined;
  #work: Promise<void> | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#joining = new Coordinator(options.joinCluster, options.groupId);
    this.#coordinator = new Coordinator(options.cluster, options.groupId);
    this.#sleeper = new Sleeper(options.signal);
  }

  get coordinator(): Coordinator {
    return this.#coordinator;
  }

  start(): void {
    this.#work = this.#run();
  }

  /** Joins again, to be assigned something else. */
  rejoin(): void {
    this.#mustJoin = true;
    this.#sleeper.wake();
  }

  /**
   * To be called before anything is taken in: a process that was suspended may be given the answers of brokers
   * before its own timers, and with them what another member has read meanwhile.
   */
  checkSession(): void {
    if (performance.now() >= this.#sessionEndMs) this.#tell(true);
  }

  async commit(commits: readonly Commit[]): Promise<readonly CommitAnswer[]> {
    const answers = await this.#coordinator.commit(this.#identity, commits);
    // A heartbeat tells what to do.
    if (answers.some(({ error }) => stale.has(error))) this.#sleeper.wake();
    return answers;
  }

  /** After `signal` is aborted. */
  async leave(): Promise<void> {
    clearTimeout(this.#session);
    if (this.#memberId !== '') await this.#coordinator.leave(this.#identity).catch(() => undefined);
    await this.#work;
  }

  get #identity(): MemberIdentity {
    return { memberId: this.#memberId, generation: this.#generation };
  }

  #isStopped(): boolean {
    return this.#options.signal.aborted;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        if (this.#mustJoin) await this.#join();
        else await this.#stay();
        this.#troubles = 0;
        this.#refusals = 0;
      } catch (error) {
        if (this.#isStopped()) return;
        if (isRefusal(error)) await this.#refused(error);
        else {
          this.#troubled(asError(error));
          await this.#sleeper.rest(againMs);
        }
      }
    }
  }

  async #join(): Promise<void> {
    const { topics, parts } = this.#options;
    this.#mustJoin = false;
    this.#waitForOthers();
    try {
      const owned = this.#options.ownedIndices();
      const metadata = encodeWishes({ topics, owned, parts });
      const answer = await this.#joining.join({
        memberId: this.#memberId,
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        protocols: [cooperativeProtocol, eagerProtocol].map((name) => ({ name, metadata })),
      });
      if (answer.error === 'MEMBER_ID_REQUIRED') {
        this.#memberId = answer.memberId;
        this.#mustJoin = true;
        return;
      }
      if (!this.#isWell(answer.error)) return;
      this.#memberId = answer.memberId;
      const { generation, protocol } = answer;
      const assignments = answer.isLeader ? await this.#assign(answer.members, protocol) : [];
      if (!answer.isLeader) this.#assignedCounts = undefined;
      const member = { ...this.#identity, generation };
      this.#waitForOthers();
      const { error, assignment } = await this.#joining.sync(
        member,
        assignments,
        rebalanceTimeoutMs,
      );
      if (!this.#isWell(error)) return;
      this.#generation = generation;
      this.#wasMember = true;
      this.#coordinator.follow(this.#joining);
      if (this.#isStopped()) return;
      this.#heard(performance.now());
      this.#options.assigned(decodeAssignment(assignment), protocol === cooperativeProtocol);
    } catch (error) {
      this.#mustJoin = true;
      this.#sessionEnds(this.#heardMs + sessionTimeoutMs);
      throw error;
    }
  }

  async #stay(): Promise<void> {
    await this.#sleeper.sleep(heartbeatMs);
    if (this.#isStopped() || this.#mustJoin) return;
    const sentMs = performance.now();
    if (!this.#isWell(await this.#coordinator.heartbeat(this.#identity))) return;
    this.#heard(sentMs);
    if (this.#assignedCounts !== undefined) await this.#look(this.#assignedCounts);
  }

  /**
   * The session goes on from here. It ends by this process's own clock too, because a member that is cut off
   * hears nothing of its end: when the network is back, a fetch may be answered before a heartbeat is, and bring
   * what another member has read meanwhile.
   */
  #heard(atMs: number): void {
    this.#heardMs = atMs;
    this.#sessionEnds(atMs + sessionTimeoutMs);
    this.#tell(false);
  }

  /** A coordinator that lets a member wait for others begins its session when they are there. */
  #waitForOthers(): void {
    this.#sessionEnds(performance.now() + rebalanceTimeoutMs + sessionTimeoutMs);
  }

  #sessionEnds(atMs: number): void {
    clearTimeout(this.#session);
    this.#sessionEndMs = atMs;
    this.#session = setTimeout(
      () => {
        this.#tell(true);
      },
      Math.max(0, atMs - performance.now()),
    );
    this.#session.unref();
  }

  #tell(isUnheard: boolean): void {
    if (this.#isStopped() || this.#isUnheard === isUnheard) return;
    this.#isUnheard = isUnheard;
    this.#options.unheard(isUnheard);
  }

  /** False: others have come or gone, and this member has to join again. Throws where it is not that. */
  #isWell(error: KafkaErrorName): boolean {
    if (error === 'NONE') return true;
    if (error === 'REBALANCE_IN_PROGRESS') {
      this.#mustJoin = true;
      return false;
    }
    if (stale.has(error)) {
      if (error === 'UNKNOWN_MEMBER_ID') this.#memberId = '';
      this.#mustJoin = true;
      this.#options.expelled();
    }
    throw new KafkaAnswerError(error, `group ${this.#options.groupId}`);
  }

  // Assigning

  async #assign(
    members: readonly GroupMemberMetadata[],
    protocol: string,
  ): Promise<{ memberId: string; memberAssignment: Buffer }[]> {
    const wishes = members.map(({ memberId, metadata }) => ({
      memberId,
      ...decodeWishes(metadata),
    }));
    const counts = await this.#countPartitions(new Set(wishes.flatMap(({ topics }) => topics)));
    this.#assignedCounts = counts;
    const indices = wishes.some(({ parts }) => parts !== undefined)
      ? assignParts(wishes)
      : assignIndices(Math.max(0, ...counts.values()), wishes, protocol);
    return members.map(({ memberId }) => ({
      memberId,
      memberAssignment: encodeAssignment(indices.get(memberId) ?? [], counts),
    }));
  }

  /** 0 for topics that do not exist. */
  async #countPartitions(topics: ReadonlySet<string>): Promise<Map<string, number>> {
    const { cluster, log } = this.#options;
    const isHidden = (topic: string): boolean =>
      cluster.topicError(topic) === 'TOPIC_AUTHORIZATION_FAILED';
    const ask = async (): Promise<Map<string, number>> => {
      await cluster.refresh([...topics]);
      return new Map(
        Array.from(topics, (topic) => {
          // A right that is taken away moves nothing: whoever has the partitions goes on when it is back.
          const before = isHidden(topic) ? this.#assignedCounts?.get(topic) : undefined;
          return [topic, before ?? cluster.topic(topic)?.partitions.length ?? 0];
        }),
      );
    };
    let counts = await ask();
    // A broker that has just started may not know them all: nothing is taken away on its word alone.
    if ([...counts].some(([topic, count]) => count < (this.#assignedCounts?.get(topic) ?? 0)))
      counts = await ask();
    const hidden = this.#options.topics.find(isHidden);
    if (hidden !== undefined && !this.#wasMember)
      throw new KafkaAnswerError('TOPIC_AUTHORIZATION_FAILED', `topic ${hidden}`);
    if (hidden !== undefined && hidden !== this.#refusedTopic)
      log.error(
        { topic: hidden },
        "Kafka's ACLs hide this topic; it is read again when they don't",
      );
    this.#refusedTopic = hidden;
    const missing = [...topics].filter((topic) => counts.get(topic) === 0 && !isHidden(topic));
    if (missing.length > 0 && !this.#isWarned)
      log.warn({ topics: missing }, 'these topics do not exist; they are read as soon as they do');
    this.#isWarned = missing.length > 0;
    return counts;
  }

  async #look(assigned: ReadonlyMap<string, number>): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lookedAtMs < lookMs) return;
    this.#lookedAtMs = nowMs;
    const counts = await this.#countPartitions(new Set(assigned.keys()));
    if ([...counts].some(([topic, count]) => assigned.get(topic) !== count)) this.#mustJoin = true;
  }

  async #refused(error: KafkaAnswerError): Promise<void> {
    const { groupId, log } = this.#options;
    this.#options.troubled(error);
    this.#refusals += 1;
    const pauseMs = refusalPauseMs(this.#refusals);
    if (this.#wasMember)
      log.error(
        { groupId },
        `${refusedRight(error, groupId) ?? reasonOf(error)}; asking again in ${pauseMs / 1_000} s`,
      );
    else this.#options.refused(error);
    await this.#sleeper.rest(pauseMs);
  }

  #troubled(error: Error): void {
    const { groupId, log } = this.#options;
    this.#troubles += 1;
    // A coordinator that has just started, or moved, is ready after one or two.
    if (this.#troubles % troublesPerLine === silentTroubles)
      log.warn({ groupId, reason: reasonOf(error) }, 'the group cannot be reached; trying again');
    this.#options.troubled(error);
  }
}
