import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Cursor, type PartitionRecords } from '../../../src/kafka/fetch/cursor.ts';
import {
  Fetcher,
  type CursorOwner,
  type FetcherOptions,
} from '../../../src/kafka/fetch/fetcher.ts';
import type { Move } from '../../../src/kafka/fetch/judge-part.ts';
import type { FetchRequest } from '../../../src/kafka/protocol/fetch.ts';
import { eventually } from '../../harness/eventually.ts';
import { FakeBrokers } from '../fake-brokers.ts';
import type { FakeLog } from '../fake-log.ts';
import { FakeLogger } from '../fake-logger.ts';

export const topic = 'topic';
export const maxBytes = 1_000_000;

/** Takes what comes, by partition. */
export class Owner implements CursorOwner {
  readonly values: Map<number, string[]> = new Map<number, string[]>();
  readonly stretches: number[] = [];
  readonly reachedAtMs: Map<number, number> = new Map<number, number>();
  /** How long after each question an end was told. */
  readonly reachedAfterMs: number[] = [];
  readonly told: string[] = [];
  readonly problems: string[] = [];
  refusal: Error | undefined;
  /** After each record. */
  onTaken: (cursor: Cursor) => void = () => undefined;

  take(cursor: Cursor, records: PartitionRecords, most: number): number {
    let taken = 0;
    const values = this.values.get(cursor.partition) ?? [];
    this.values.set(cursor.partition, values);
    while (taken < most && records.next()) {
      taken += 1;
      values.push(String(records.value));
    }
    this.stretches.push(taken);
    if (taken > 0) this.onTaken(cursor);
    return taken;
  }

  of(partition: number): string {
    return (this.values.get(partition) ?? []).join(' ');
  }

  reached({ partition }: Cursor, askedAtMs: number): void {
    this.reachedAtMs.set(partition, askedAtMs);
    this.reachedAfterMs.push(performance.now() - askedAtMs);
  }

  moved({ partition }: Cursor, { kind, from, to }: Move): void {
    this.told.push(`${partition} ${kind} ${from}→${to}`);
  }

  stuck({ partition, offset }: Cursor, problem: Error): void {
    this.told.push(`${partition} stuck at ${offset}`);
    this.problems.push(problem.message);
  }

  remade({ partition }: Cursor): void {
    this.told.push(`${partition} remade`);
  }

  refused(error: Error): void {
    this.refusal = error;
  }
}

export interface FetchScene {
  readonly brokers: FakeBrokers;
  readonly logs: readonly FakeLog[];
  readonly owner: Owner;
  readonly log: FakeLogger;
  readonly fetcher: Fetcher;
  readonly cursors: readonly Cursor[];
}

/** A topic on three nodes, partition i led by node i + 1, and somebody who reads all of it from offset 0. */
export function reading(
  t: TestContext,
  partitions: number,
  {
    write = () => undefined,
    ...options
  }: Partial<FetcherOptions> & {
    readonly write?: (brokers: FakeBrokers) => void;
  } = {},
): FetchScene {
  const brokers = new FakeBrokers(3);
  const logs = brokers.makeTopic(topic, partitions);
  write(brokers);
  const owner = new Owner();
  const log = new FakeLogger();
  const cluster = brokers.openCluster();
  const fetcher = new Fetcher({
    cluster,
    rack: brokers.rack,
    log,
    owner,
    maxWaitMs: () => 20,
    refreshMs: 10_000,
    ...options,
  });
  t.after(() => {
    fetcher.close();
    cluster.close();
  });
  const cursors = logs.map((_, partition) => new Cursor({ topic, partition }, 0, maxBytes));
  for (const cursor of cursors) fetcher.add(cursor);
  return { brokers, logs, owner, log, fetcher, cursors };
}

/** What each fetch asked for: the node, and the partitions. */
export function fetches(brokers: FakeBrokers): string[] {
  return brokers.asked
    .filter(({ api }) => api === 'Fetch')
    .map(({ nodeId, request }) => {
      const { topics } = request as FetchRequest;
      const asked = topics.flatMap((each) => each.partitions.map(({ partition }) => partition));
      return `${nodeId}: ${asked.toSorted((a, b) => a - b).join()}`;
    });
}

export async function until(
  owner: Owner,
  expected: Readonly<Record<number, string>>,
): Promise<void> {
  await eventually(() => {
    for (const [partition, values] of Object.entries(expected))
      assert.equal(owner.of(Number(partition)), values);
  }, 5_000);
}
