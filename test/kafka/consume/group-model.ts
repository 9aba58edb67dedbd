import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { assignIndices, cooperativeProtocol } from '../../../src/kafka/consume/assigner.ts';
import {
  decodeCommitMetadata,
  encodeCommitMetadata,
} from '../../../src/kafka/consume/commit-metadata.ts';
import { Committer } from '../../../src/kafka/consume/committer.ts';
import type { TakenRecord } from '../../../src/kafka/consume/taken-record.ts';
import type {
  Commit,
  CommitAnswer,
  CommittedOffset,
} from '../../../src/kafka/consume/coordinator.ts';
import { IntakeBudget } from '../../../src/kafka/consume/window.ts';
import { Intake } from '../../../src/kafka/consume/intake.ts';
import type { OwnedPartition } from '../../../src/kafka/consume/owned-partition.ts';
import { lookUpPositions, type Position } from '../../../src/kafka/consume/positions.ts';
import { PartitionRecords, type Cursor } from '../../../src/kafka/fetch/cursor.ts';
import { judgePart, settlePosition } from '../../../src/kafka/fetch/judge-part.ts';
import type { TopicPartition } from '../../../src/kafka/record.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { FakeBrokers } from '../fake-brokers.ts';
import type { GroupCommit } from '../../harness/kafka/group.ts';
import type { FakeLog } from '../fake-log.ts';

export const topic = 'topic';
const maxBytes = 1_000_000;
/**
 * A group's members with what decides about reading (intake, positions, committer), and around them everything
 * that takes time, each as one step: fetches, answers to questions about positions, rebalances. The logs are those of
 * brokers in memory; the group is not, because it would decide by itself what comes after what.
 */
export class GroupModel {
  readonly logs: FakeLog[];
  members: ModelMember[] = [];
  generation = 0;
  /** What was written where, as the logs have it now; a number each. */
  readonly values: Map<number, number>[];
  readonly finished: Set<number> = new Set<number>();
  /** How often a record was handed over that had been finished before. */
  repeats = 0;
  /** How often a commit said less than the one before. */
  stepsBack = 0;
  readonly brokers: FakeBrokers = new FakeBrokers(1);
  readonly #commits: (GroupCommit | undefined)[];
  readonly #windowRecords: number;
  readonly #late = Promise.withResolvers<undefined>();
  /** Commits arrive, and their answers do not; or not yet, of this member's. */
  isAnswerLost = false;
  isLate: ModelMember | undefined;
  #written = 0;
  #mustRebalance = false;

  constructor(partitions: number, windowRecords: number) {
    this.logs = this.brokers.makeTopic(topic, partitions);
    this.values = this.logs.map(() => new Map<number, number>());
    this.#commits = this.logs.map(() => undefined);
    this.#windowRecords = windowRecords;
  }

  // What is written, and what becomes of it

  append(partition: number, count: number): void {
    const log = this.#log(partition);
    const values = Array.from({ length: count }, () => this.#written++);
    for (const [i, value] of values.entries()) this.values[partition]?.set(log.end + i, value);
    log.append(...values);
  }

  /** The newest batches are lost, and others come in their place. */
  cutOff(partition: number, batches: number): void {
    const log = this.#log(partition);
    const offset = (log.batches.at(-batches) ?? log.batches[0])?.first ?? log.end;
    log.cutOff(offset);
    for (const each of [...(this.values[partition]?.keys() ?? [])])
      if (each >= offset) this.values[partition]?.delete(each);
  }

  removeBefore(partition: number, offset: number): void {
    this.#log(partition).removeBefore(offset);
    for (const each of [...(this.values[partition]?.keys() ?? [])])
      if (each < offset) this.values[partition]?.delete(each);
  }

  /** Somebody else sets the group back. */
  moveBack(partition: number, by: number): void {
    const { offset = 0, metadata = '' } = this.#commits[partition] ?? {};
    const { epoch, topicId } = decodeCommitMetadata(offset, metadata);
    const back = Math.max(0, offset - by);
    this.#commits[partition] = {
      offset: back,
      metadata: encodeCommitMetadata(back, { epoch, ahead: undefined, topicId }),
    };
  }

  // Who is in the group

  join(): void {
    this.members.push(new ModelMember(this, this.#windowRecords));
    this.rebalance();
  }

  /** It stops: what is under way ends, and is committed. */
  async leave(member: ModelMember): Promise<void> {
    const closed = member.intake.close();
    member.finish(Infinity);
    await closed;
    await member.committer.commit();
    this.#remove(member);
  }

  die(member: ModelMember): void {
    member.isDead = true;
    this.#remove(member);
  }

  /** The group goes on without it; it has not noticed yet. */
  expel(member: ModelMember): void {
    if (!member.isKnown) return;
    member.isKnown = false;
    this.rebalance();
  }

  /** Whoever was expelled notices and joins again. */
  notice(member: ModelMember): void {
    if (member.isKnown) return;
    member.intake.expelled();
    member.isKnown = true;
    this.rebalance();
  }

  requestRebalance(): void {
    this.#mustRebalance = true;
  }

  rebalance(): void {
    this.#mustRebalance = false;
    const known = this.members.filter(({ isKnown }) => isKnown);
    if (known.length === 0) return;
    this.generation += 1;
    const claims = known.map(({ intake }, i) => ({
      memberId: String(i),
      owned: intake.ownedIndices(),
    }));
    const shares = assignIndices(this.logs.length, claims, cooperativeProtocol);
    for (const [i, member] of known.entries()) {
      member.generation = this.generation;
      const indices = shares.get(String(i)) ?? [];
      member.intake.assigned(
        indices.map((partition) => ({ topic, partition })),
        true,
      );
    }
  }

  /** Lets everything happen that waits for nothing from outside. */
  async settle(): Promise<void> {
    do {
      if (this.#mustRebalance) this.rebalance();
      await turn();
    } while (this.#mustRebalance);
    for (const member of this.members) member.checkTimer();
  }

  member(place: number): ModelMember {
    const member = this.members.at(place);
    if (member === undefined) throw new RangeError(`no member ${place}`);
    return member;
  }

  /** How many partitions each member has. */
  owners(): number[] {
    return this.members.map(({ intake }) => [...intake.owned()].length);
  }

  committedAt(partition: number): number | undefined {
    return this.#commits[partition]?.offset;
  }

  // What members ask

  async commit(member: ModelMember, commits: readonly Commit[]): Promise<CommitAnswer[]> {
    const answers = this.#commit(member, commits);
    if (this.isLate === member) await this.#late.promise;
    if (this.isAnswerLost) throw new Error('the connection broke');
    return answers;
  }

  /** Those that were late arrive. */
  answerCommits(): void {
    this.isLate = undefined;
    this.#late.resolve(undefined);
  }

  #commit(member: ModelMember, commits: readonly Commit[]): CommitAnswer[] {
    const isMember = member.isKnown && !member.isDead && member.generation === this.generation;
    return commits.map(({ partition, offset, metadata }) => {
      if (!isMember) return { topic, partition, error: 'ILLEGAL_GENERATION' };
      if (offset < (this.#commits[partition]?.offset ?? 0)) this.stepsBack += 1;
      this.#commits[partition] = { offset, metadata };
      this.#checkCommit(partition);
      return { topic, partition, error: 'NONE' };
    });
  }

  committed(partitions: readonly TopicPartition[]): Promise<CommittedOffset[]> {
    return Promise.resolve(
      partitions.map(({ partition }) => ({
        topic,
        partition,
        offset: this.#commits[partition]?.offset ?? -1,
        metadata: this.#commits[partition]?.metadata ?? null,
        error: 'NONE',
      })),
    );
  }

  /** Exactly what is committed was finished by somebody. */
  #checkCommit(partition: number): void {
    const { offset = 0, metadata = '' } = this.#commits[partition] ?? {};
    const { upTo = offset, unfinished = new Set<number>() } =
      decodeCommitMetadata(offset, metadata).ahead ?? {};
    for (const [at, value] of this.values[partition] ?? []) {
      if (at >= upTo || unfinished.has(at)) continue;
      assert.ok(this.finished.has(value), `${partition}/${at} was committed and not finished`);
    }
  }

  /** All that the logs hold and nobody has finished. */
  get unfinished(): string[] {
    return this.values.flatMap((values, partition) =>
      Array.from(values).flatMap(([offset, value]) =>
        this.finished.has(value) ? [] : [`${partition}/${offset}`],
      ),
    );
  }

  /** Nobody works on what somebody else works on. */
  checkOwners(): void {
    const busy = this.members.flatMap(({ inFlight }) => inFlight.map(({ value }) => String(value)));
    assert.equal(new Set(busy).size, busy.length, 'a record is in flight twice');
  }

  #log(partition: number): FakeLog {
    return this.brokers.log(topic, partition);
  }

  #remove(member: ModelMember): void {
    this.members = this.members.filter((each) => each !== member);
    this.rebalance();
  }
}

interface Question {
  readonly partitions: readonly OwnedPartition[];
  readonly resolve: (positions: readonly Position[]) => void;
}

export class ModelMember {
  readonly intake: Intake;
  readonly committer: Committer;
  readonly cursors: Set<Cursor> = new Set<Cursor>();
  inFlight: TakenRecord[] = [];
  /** What the committer does when its time has come. */
  #timer: (() => void) | undefined;
  /** What was handed over, by offset, repeats included. */
  readonly received: number[] = [];
  /** What it was told of its partitions, and when it committed. */
  readonly told: string[] = [];
  gone = 0;
  generation = 0;
  isKnown = true;
  isDead = false;
  /** Where to go on, asked and not answered. */
  #questions: Question[] = [];
  readonly #model: GroupModel;

  constructor(model: GroupModel, windowRecords: number) {
    this.#model = model;
    this.intake = new Intake({
      fetcher: {
        add: (cursor) => this.cursors.add(cursor),
        remove: (cursor) => this.cursors.delete(cursor),
        pause: (cursor) => {
          cursor.isPaused = true;
        },
        resume: (cursor) => {
          cursor.isPaused = false;
        },
      },
      onRedelivered: () => undefined,
      log: silentLogger,
      maxBytesPerPartition: maxBytes,
      lookUp: (partitions) =>
        new Promise((resolve) => {
          this.#questions.push({ partitions, resolve });
        }),
      commit: async () => {
        this.told.push('commit');
        await this.committer.commit();
      },
      commitSoon: () => {
        this.committer.soon();
      },
      onFinished: () => {
        this.committer.finished();
      },
      rejoin: () => {
        if (this.isKnown && !this.isDead) model.requestRebalance();
      },
      limitsOf: () => ({ records: windowRecords, bytes: 1e9 }),
      budget: new IntakeBudget({ records: Infinity, bytes: Infinity }),
      onRecords: (records) => {
        this.#take(records);
      },
      onAssigned: (partitions) => {
        this.told.push(`assigned ${numbersOf(partitions)}`);
      },
      onRevoked: (partitions) => {
        this.told.push(`revoked ${numbersOf(partitions)}`);
        this.#release(partitions);
      },
      onLost: (partitions) => {
        this.told.push(`lost ${numbersOf(partitions)}`);
        this.#drop(partitions);
      },
      onRecordsGone: (_, records) => {
        this.gone += records;
      },
      onUnreadable: () => undefined,
      onRefused: () => undefined,
      onRefreshed: () => undefined,
    });
    this.committer = new Committer({
      clock: {
        now: () => 0,
        after: (_, callback) => {
          this.#timer = callback;
          return { cancel: () => (this.#timer = undefined) };
        },
      },
      log: silentLogger,
      owned: () => this.intake.owned(),
      send: (commits) => model.commit(this, commits),
    });
  }

  /** The oldest question is answered as things are now, when the function is called. */
  ask(): () => void {
    const question = this.#questions.shift();
    if (question === undefined) throw new Error('nothing is asked');
    const { partitions, resolve } = question;
    const positions = lookUpPositions(this.#model.brokers.openCluster(), this.#model, partitions);
    return () => {
      void positions.then(resolve);
    };
  }

  /** The oldest question is answered, as things are now. */
  async answer(): Promise<void> {
    const question = this.#questions.shift();
    if (question === undefined) return;
    const { partitions, resolve } = question;
    resolve(await lookUpPositions(this.#model.brokers.openCluster(), this.#model, partitions));
  }

  /** The newest question is answered first, as by another broker. */
  async answerLast(): Promise<void> {
    this.#questions.reverse();
    await this.answer();
    this.#questions.reverse();
  }

  /** As the fetcher does: one answer, of which the intake takes so many records. */
  fetch(partition: number, most: number): void {
    const cursor = [...this.cursors].find((each) => each.partition === partition);
    const log = this.#model.logs[partition];
    if (cursor === undefined || log === undefined || cursor.isPaused || this.isDead) return;
    if (cursor.brought === undefined) this.#ask(cursor, log);
    const { brought } = cursor;
    if (brought === undefined) return;
    const { records } = brought;
    this.intake.take(cursor, records, most);
    cursor.offset = records.position;
    if (records.epoch >= 0) cursor.lastEpoch = records.epoch;
    if (records.isOver) cursor.brought = undefined;
  }

  /** A fifth of a second passes. */
  async commitDue(): Promise<void> {
    const due = this.#timer;
    this.#timer = undefined;
    due?.();
    await turn();
  }

  /** What can be committed is not forgotten. */
  checkTimer(): void {
    const isDue = [...this.intake.owned()].some(({ account }) => account?.isDue === true);
    assert.ok(!isDue || this.#timer !== undefined, 'finished records wait for no commit');
  }

  finish(count: number): void {
    for (const record of this.inFlight.splice(0, count)) {
      record.finish();
      this.#model.finished.add(Number(record.value));
    }
  }

  #ask(cursor: Cursor, log: FakeLog): void {
    cursor.leaderEpoch = log.epoch;
    const part = log.fetch(cursor, maxBytes, true);
    const verdict = judgePart(part, cursor.offset);
    if (verdict.kind === 'records') {
      const records = new PartitionRecords(cursor, part.records, cursor.offset, part.aborted);
      cursor.brought = {
        nodeId: log.leader,
        records,
        askedAtMs: 0,
        end: part.lastStableOffset,
      };
    } else if (verdict.kind === 'diverged' || verdict.kind === 'out-of-range') {
      const { start, end } = log;
      const at = verdict.kind === 'diverged' ? verdict.at : log.epochEnd(cursor.lastEpoch);
      const move = settlePosition(cursor.offset, { start, end, epochEnd: at });
      cursor.lastEpoch = at.epoch;
      if (move === undefined) return;
      cursor.offset = move.to;
      this.intake.moved(cursor, move);
    }
  }

  #take(records: readonly TakenRecord[]): void {
    for (const record of records) {
      if (this.#model.finished.has(Number(record.value))) this.#model.repeats += 1;
      this.inFlight.push(record);
      this.received.push(record.offset);
    }
  }

  /** What waits is released; every second record is under way, and goes on. */
  #release(partitions: readonly TopicPartition[]): void {
    const revoked = new Set(partitions.map(({ partition }) => partition));
    this.inFlight = this.inFlight.filter((record, i) => {
      const isUnderWay = !revoked.has(record.partition) || i % 2 === 0;
      if (!isUnderWay) record.release();
      return isUnderWay;
    });
  }

  #drop(partitions: readonly TopicPartition[]): void {
    const lost = new Set(partitions.map(({ partition }) => partition));
    this.inFlight = this.inFlight.filter(({ partition }) => !lost.has(partition));
  }
}

function numbersOf(partitions: readonly TopicPartition[]): string {
  return partitions.map(({ partition }) => partition).join();
}
