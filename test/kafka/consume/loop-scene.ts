import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ConsumeLoopOptions } from '../../../src/kafka/consume/consume-loop.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers } from '../fake-brokers.ts';
import type { MemoryGroup } from '../../harness/kafka/group.ts';
import type { FakeLog } from '../fake-log.ts';
import { FakeLogger } from '../fake-logger.ts';
import { Member } from './member.ts';

export const topic = 'calls';
const groupId = 'group';

/** Fake brokers with a topic, and loops that read it as members of one group. */
export class LoopScene {
  readonly brokers: FakeBrokers = new FakeBrokers(3);
  readonly log: FakeLogger = new FakeLogger();
  readonly logs: readonly FakeLog[];
  /** What happened, in order, for whoever counts it. */
  readonly observed: string[] = [];
  readonly #t: TestContext;

  constructor(t: TestContext, partitions: number) {
    this.#t = t;
    this.logs = this.brokers.makeTopic(topic, partitions);
  }

  get group(): MemoryGroup {
    return this.brokers.group(groupId);
  }

  logOf(partition: number): FakeLog {
    return this.brokers.log(topic, partition);
  }

  /** By partition; -1 where nothing is committed. */
  committed(): number[] {
    return this.logs.map((_, i) => this.group.commits.get(`${topic}/${i}`)?.offset ?? -1);
  }

  member(options: Partial<ConsumeLoopOptions> = {}): Member {
    const member = new Member(this.brokers, {
      groupId,
      topics: [topic],
      windowRecords: 1_000,
      windowBytes: 1_000_000,
      clock: systemClock,
      log: this.log,
      onCrash: ({ message }) => this.observed.push(`crash: ${message}`),
      observer: {
        recordsGone: ({ partition }, records) =>
          this.observed.push(`${partition}: ${records} gone`),
        unreadable: ({ partition }) => this.observed.push(`${partition} unreadable`),
        commitFailed: ({ message }) => this.observed.push(`commit failed: ${message}`),
      },
      ...options,
    });
    member.start();
    this.#t.after(async () => {
      member.releaseAll();
      await member.loop.stop(0);
    });
    return member;
  }

  /** A member that has joined alone. */
  async joined(options: Partial<ConsumeLoopOptions> = {}): Promise<Member> {
    const member = this.member(options);
    await until(() => {
      assert.ok(member.loop.joined);
    });
    return member;
  }
}

export async function until(check: () => void | Promise<void>): Promise<void> {
  await eventually(check, 15_000);
}

/** What of a partition was received, in order. */
export function valuesOf(member: Member, partition: number): string {
  return member.received
    .filter((record) => record.partition === partition)
    .map(({ value }) => String(value))
    .join(' ');
}

/** Those of a partition that have this value. */
export function finish(member: Member, partition: number, ...values: readonly string[]): void {
  for (const record of member.received)
    if (record.partition === partition && values.includes(String(record.value))) record.finish();
}
