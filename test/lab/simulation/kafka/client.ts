import type { KafkaClient } from '../../../../src/kafka/client.ts';
import { KafkaAnswerError } from '../../../../src/kafka/protocol/errors.ts';
import type { ProducedPartition, ProduceRequest } from '../../../../src/kafka/protocol/produce.ts';
import { isConnectionError, MemoryCluster, type Asked } from '../../../harness/kafka/cluster.ts';
import { uncompressed } from '../../../kafka/uncompressed.ts';
import type { SimulatedProcess, VirtualTime } from '../virtual-time.ts';
import { SimulatedAdmin } from './admin.ts';
import type { NodeState, SimulatedBrokers } from './brokers.ts';
import {
  SimulatedTransactionalProducer,
  type TransactionalOptions,
} from './transactional-producer.ts';
import { fairWeather } from './weather.ts';

/** As of the real cluster's connections. */
const answerMs = 5_000;
const lookAgainMs = 250;
/** What failed is asked for again within so long: a producer waits for 6 s at most. */
const retryMs = 7_000;
/** What is asked again and again; in fair weather, it makes no difference how long the answer is on its way. */
const unhurried: ReadonlySet<string> = new Set(['Fetch', 'Metadata', 'Heartbeat']);

/** What a process has of Kafka; `as` the client that roles are given. */
export function simulatedClient(
  brokers: SimulatedBrokers,
  owner: SimulatedProcess,
  rack: string = '',
): KafkaClient {
  return {
    rack,
    compressor: uncompressed,
    openCluster: () => new SimulatedCluster(brokers, owner, rack),
    admin: () => new SimulatedAdmin(brokers, owner),
    producer: (options: TransactionalOptions) =>
      new SimulatedTransactionalProducer(
        brokers,
        new SimulatedCluster(brokers, owner, rack),
        options,
      ),
  } as unknown as KafkaClient;
}

/**
 * A client's connections: what is asked takes time both ways, may get lost before or after a broker has done it,
 * and is given up when no answer comes.
 */
export class SimulatedCluster extends MemoryCluster {
  readonly #brokers: SimulatedBrokers;
  readonly #owner: SimulatedProcess;
  readonly #rack: string;

  constructor(brokers: SimulatedBrokers, owner: SimulatedProcess, rack: string) {
    super(brokers);
    this.#brokers = brokers;
    this.#owner = owner;
    this.#rack = rack;
  }

  override async produce(
    nodeId: number,
    request: ProduceRequest,
  ): Promise<readonly ProducedPartition[]> {
    let answers: readonly ProducedPartition[] = [];
    try {
      answers = await super.produce(nodeId, request);
      return answers;
    } finally {
      const isWritten = answers.length > 0 && answers.every(({ error }) => error === 'NONE');
      if (!isWritten) this.#time.liveThrough(retryMs);
    }
  }

  /** The first broker that is up coordinates all transactions. */
  async askCoordinatorOfTransactions<T>(api: string, answer: () => T): Promise<T> {
    const { nodeIds, isUp } = this.#brokers;
    return this.ask({ api, nodeId: nodeIds.find(isUp) ?? 1, request: {} }, answerMs, answer);
  }

  protected override async askAny<T>(
    api: string,
    request: object,
    nodeIds: readonly number[],
    answer: (nodeId: number) => T | Promise<T>,
  ): Promise<T> {
    try {
      return await super.askAny(api, request, nodeIds, answer);
    } catch (error) {
      if (!this.isClosed && isConnectionError(error)) this.#time.liveThrough(retryMs);
      throw error;
    }
  }

  protected override async travel<T>(
    { api, nodeId }: Asked,
    untilMs: number,
    answer: () => T | Promise<T>,
  ): Promise<T> {
    const brokers = this.#brokers;
    const { weather } = brokers;
    // In fair weather, it makes no difference on which way it takes its time.
    const isFair = weather === fairWeather && !brokers.areDivided;
    if (!isFair && this.#takesTime) await this.#wait(brokers.between(weather.latencyMs));
    if (this.#stateOf(nodeId) !== 'up') await this.#reach(api, nodeId, untilMs);
    if (brokers.chance(weather.lostRequests)) throw broken(nodeId);
    const answered = await answer();
    const throttled = brokers.chance(0.2) ? weather.throttleMs : 0;
    // An answer waits for who is suspended.
    if (this.#owner.suspendedUntilMs > this.#time.nowMs) await this.#wait(0);
    else if ((!isFair || !unhurried.has(api)) && this.#takesTime)
      await this.#wait(brokers.between(weather.latencyMs) + throttled);
    if (this.#stateOf(nodeId) !== 'up') await this.#reach(api, nodeId, untilMs);
    if (brokers.chance(weather.lostAnswers)) throw broken(nodeId);
    return answered;
  }

  /** Nothing of what is asked in a quiet matters, and each turn costs the simulation time. */
  get #takesTime(): boolean {
    return !this.#time.isQuiet || this.#brokers.areDivided;
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#time.after(ms, resolve, this.#owner);
    });
  }

  /** A broker that is gone refuses; one that is suspended says nothing until it goes on, or is given up. */
  async #reach(api: string, nodeId: number, untilMs: number): Promise<void> {
    while (this.#stateOf(nodeId) === 'suspended') {
      if (this.#time.livedMs >= untilMs)
        throw new KafkaAnswerError('REQUEST_TIMED_OUT', `node ${nodeId} did not answer ${api}`);
      await this.#wait(lookAgainMs);
    }
    if (this.#stateOf(nodeId) === 'down') throw broken(nodeId);
  }

  /** As the process sees it, through its own network. */
  #stateOf(nodeId: number): NodeState {
    const { cutOff } = this.#owner;
    if (cutOff !== undefined && (cutOff.node ?? nodeId) === nodeId)
      return cutOff.breaks ? 'down' : 'suspended';
    const state = this.#brokers.nodes.get(nodeId) ?? 'down';
    if (state === 'suspended') return state;
    return this.#brokers.isReachable(nodeId, this.#rack) ? 'up' : 'down';
  }

  get #time(): VirtualTime {
    return this.#brokers.time;
  }
}

function broken(nodeId: number): Error {
  return new KafkaAnswerError('NETWORK_EXCEPTION', `the connection to node ${nodeId} broke`);
}
