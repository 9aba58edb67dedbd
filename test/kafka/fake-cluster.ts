import { setImmediate as nextTurn } from 'node:timers/promises';
import { KafkaAnswerError } from '../../src/kafka/protocol/errors.ts';
import type { FetchAnswer, FetchRequest } from '../../src/kafka/protocol/fetch.ts';
import { MemoryCluster, type Asked } from '../harness/kafka/cluster.ts';
import type { FakeBrokers } from './fake-brokers.ts';

/** Whichever node is up answers what any may. */
const whichever: readonly number[] = [-1];

/** A client's connections to fake brokers, on which happens what the test says. */
export class FakeCluster extends MemoryCluster {
  readonly #brokers: FakeBrokers;

  constructor(brokers: FakeBrokers) {
    super(brokers);
    this.#brokers = brokers;
  }

  override async fetch(nodeId: number, request: FetchRequest): Promise<FetchAnswer> {
    const answer = await super.fetch(nodeId, request);
    for (const { records } of answer.partitions) this.#brokers.fetchedBytes += records.length;
    return answer;
  }

  protected override nearestFirst(): readonly number[] {
    return whichever;
  }

  protected override inTurn(): readonly number[] {
    return whichever;
  }

  protected override async ask<T>(
    asked: Asked,
    timeoutMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    if (!this.isClosed) this.#brokers.asked.push(asked);
    return super.ask(asked, timeoutMs, answer);
  }

  protected override async travel<T>(
    asked: Asked,
    _untilMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    await nextTurn();
    await this.#reach(asked.nodeId);
    await this.#brokers.before(asked);
    const answered = await answer();
    await this.#reach(asked.nodeId);
    await this.#brokers.after(asked);
    return answered;
  }

  protected override connectionOf(asked: Asked): string | undefined {
    return asked.nodeId < 0 ? undefined : super.connectionOf(asked);
  }

  /** Rejects as a client does whose broker is gone, or hangs for too long. */
  async #reach(nodeId: number): Promise<void> {
    const { nodes, answerMs } = this.#brokers;
    const states = nodeId < 0 ? [...nodes.values()] : [nodes.get(nodeId) ?? 'down'];
    if (states.includes('up')) return;
    if (states.includes('hangs')) {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, answerMs);
      });
      throw new KafkaAnswerError('REQUEST_TIMED_OUT', `node ${nodeId} did not answer`);
    }
    throw new KafkaAnswerError('NETWORK_EXCEPTION', `node ${nodeId}: connect ECONNREFUSED`);
  }
}
