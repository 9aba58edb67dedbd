import { formatDuration } from '../../../src/duration.ts';
import type { KafkaClient } from '../../../src/kafka/client.ts';
import { createProducer, type Producer } from '../../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import type { Logger } from '../../../src/ops/log.ts';
import { encodeResource, recordKey } from '../../../src/resources/config/stored.ts';
import type { Destination, Source } from '../../../src/resources/resource.ts';
import { createTopology, type Topology } from '../../../src/topology.ts';
import type { SimulatedAudience } from './audience.ts';
import { SimulatedEndpoints } from './endpoints.ts';
import { SimulatedBrokers } from './kafka/brokers.ts';
import { simulatedClient } from './kafka/client.ts';
import type { SimulatedOperators } from './operators.ts';
import {
  startSimulatedRouter,
  startSimulatedWorker,
  type RoleParts,
  type RunningRole,
} from './roles.ts';
import { deletionDelayMsOf, type DestinationPlan, type Scenario } from './scenario.ts';
import { SimulatedProcess, type VirtualTime } from './virtual-time.ts';

export const writeKey = 'wk_shop';
const secondMs = 1_000;
/** Until groups have settled, and everybody knows of configuration and deletions. */
const startedMs = 10 * secondMs;
const minuteMs = 60 * secondMs;
/** How long a supervisor waits before it starts a process again that ended by itself. */
const restartMs = 2 * secondMs;

export type RoleKind = 'worker' | 'router';

/** A place where a supervisor keeps a process running. */
interface Slot {
  readonly kind: RoleKind;
  readonly index: number;
  readonly name: string;
  starts: number;
  process: SimulatedProcess;
  running: RunningRole | undefined;
  isWanted: boolean;
}

/** Brokers, endpoints, and the processes of all roles, each kept running. */
export class SimulatedDeployment {
  readonly time: VirtualTime;
  readonly topology: Topology;
  readonly brokers: SimulatedBrokers;
  readonly endpoints: SimulatedEndpoints;
  /** Besides the roles. */
  audience: SimulatedAudience | undefined;
  operators: SimulatedOperators | undefined;
  /** How often processes ended without being told to. */
  crashes: string[] = [];
  readonly #scenario: Scenario;
  readonly #log: (process: SimulatedProcess) => Logger;
  readonly #slots = new Map<string, Slot>();
  /** Of those who write calls, and those who operate: they go on whatever happens. */
  readonly #outside = new SimulatedProcess('outside');
  #producer: Producer | undefined;

  constructor(time: VirtualTime, scenario: Scenario, log: (process: SimulatedProcess) => Logger) {
    this.time = time;
    this.#scenario = scenario;
    this.#log = log;
    this.topology = createTopology({
      prefix: '',
      partitions: scenario.partitions,
      replicationFactor: 3,
      retryTiersMs: [
        10 * secondMs,
        minuteMs,
        5 * minuteMs,
        15 * minuteMs,
        30 * minuteMs,
        60 * minuteMs,
      ],
      extraIngestTopics: [],
    });
    this.brokers = new SimulatedBrokers(time, scenario.nodes, scenario.hasRacks === true);
    this.endpoints = new SimulatedEndpoints(time, scenario);
    for (const { name, partitions, config } of this.topology.all)
      this.brokers.makeTopic(name, partitions, config);
    for (const plan of scenario.destinations) this.makeDedicatedTopic(plan);
    const { destinationStatus, attempts } = this.topology.topics;
    this.brokers.chatter.add(destinationStatus).add(attempts);
    time.isSettled = () => this.brokers.isSettled && this.#isSettled();
  }

  /** Writes the configuration, then starts all processes. */
  async start(): Promise<void> {
    const { workers, routers, destinations } = this.#scenario;
    this.time.liveThrough(startedMs);
    await this.#asOutside(async (kafka) => {
      this.#producer = await createProducer(kafka, {
        clock: this.time.clock,
        log: this.#log(this.#outside),
      });
    });
    const source: Source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: [writeKey] };
    void this.write(this.#configRecord(source));
    for (const plan of destinations) void this.configure(plan, 0);
    for (let index = 0; index < routers; index += 1) this.add('router', index);
    for (let index = 0; index < workers; index += 1) this.add('worker', index);
  }

  /** Resolves when Kafka has it on all in-sync replicas. */
  async write(record: OutgoingRecord): Promise<void> {
    await this.#asOutside(async () => {
      await this.#producer?.send([record]);
    });
  }

  /** @param version of the destination, which its name tells */
  async configure(plan: DestinationPlan, version: number): Promise<void> {
    const { id, urls, maxInFlight, rateLimit, dedicatedPartitions, orderForMs, retry } = plan;
    // A change may take the batches away, and another one bring them back.
    const batch = version % 3 === 1 ? undefined : plan.batch;
    const destination: Destination = {
      kind: 'Destination',
      id,
      name: `${id} ${version}`,
      sources: ['shop'],
      enabled: true,
      webhooks: urls.map(({ url }) => ({ url, headers: {} })),
      payload: 'standard',
      topic: dedicatedPartitions === undefined ? 'shared' : 'dedicated',
      ...(dedicatedPartitions === undefined ? {} : { partitions: dedicatedPartitions }),
      ...(orderForMs === undefined ? {} : { order: 'user', orderFor: formatDuration(orderForMs) }),
      ...(maxInFlight === undefined ? {} : { maxInFlight }),
      ...(rateLimit === undefined ? {} : { rateLimit }),
      ...(retry === undefined ? {} : { retry }),
      ...(batch === undefined ? {} : { batch }),
    };
    await this.write(this.#configRecord(destination));
  }

  /** If its destination has one. */
  makeDedicatedTopic({ id, dedicatedPartitions }: DestinationPlan): void {
    if (dedicatedPartitions === undefined) return;
    const { name, partitions, config } = this.topology.dedicatedTopic(id, dedicatedPartitions);
    this.brokers.makeTopic(name, partitions, config);
  }

  partsFor(process: SimulatedProcess, index: number = 0): RoleParts {
    return {
      kafka: simulatedClient(this.brokers, process, this.brokers.racks.nearTo(index)),
      topology: this.topology,
      clock: this.time.clock,
      log: this.#log(process),
    };
  }

  add(kind: RoleKind, index: number): void {
    const name = `${kind}-${index}`;
    const slot: Slot = {
      kind,
      index,
      name,
      starts: 0,
      process: new SimulatedProcess(name),
      running: undefined,
      isWanted: true,
    };
    this.#slots.set(name, slot);
    this.#launch(slot);
  }

  /** As a scale-down does it: the process is told to end, and not started again. */
  remove(kind: RoleKind, index: number): void {
    const slot = this.#slots.get(`${kind}-${index}`);
    if (slot === undefined) return;
    slot.isWanted = false;
    this.#end(slot);
  }

  kill(kind: RoleKind, index: number, backAfterMs: number): void {
    const slot = this.#slots.get(`${kind}-${index}`);
    if (slot === undefined) return;
    slot.process.isDead = true;
    slot.running = undefined;
    this.time.happened();
    this.#launchLater(slot, backAfterMs);
  }

  /** As an upgrade does it: the process ends what it does, and a new one follows. */
  restart(kind: RoleKind, index: number): void {
    const slot = this.#slots.get(`${kind}-${index}`);
    if (slot !== undefined) this.#end(slot);
  }

  processOf(kind: RoleKind, index: number): SimulatedProcess | undefined {
    return this.#slots.get(`${kind}-${index}`)?.process;
  }

  /** All processes reach all brokers again. */
  reconnect(): void {
    for (const { process } of this.#slots.values()) process.cutOff = undefined;
  }

  /** Of the kind, those that run and say that they are ready. */
  ready(kind: RoleKind): number {
    return [...this.#slots.values()].filter(
      (slot) => slot.kind === kind && slot.running?.role.ready() === true,
    ).length;
  }

  /** Every process that is there is ready, and goes on. */
  #isSettled(): boolean {
    if (this.audience?.isSettled === false || this.operators?.isSettled === false) return false;
    for (const { process, running } of this.#slots.values()) {
      if (process.isDead) continue;
      if (process.cutOff !== undefined) return false;
      if (process.suspendedUntilMs > this.time.nowMs || running?.role.ready() !== true)
        return false;
    }
    return true;
  }

  #end(slot: Slot): void {
    const { process, running } = slot;
    this.time.happened();
    slot.running = undefined;
    const ended = (): void => {
      if (process.isDead) return;
      process.isDead = true;
      this.time.happened();
      if (slot.isWanted) this.#launchLater(slot, secondMs);
    };
    if (running === undefined) {
      ended();
      return;
    }
    this.time.runIn(process, () => {
      running.stop().then(ended, (error: unknown) => {
        this.#crashed(slot, process, error);
      });
    });
  }

  #launchLater(slot: Slot, afterMs: number): void {
    const former = slot.process;
    this.time.after(afterMs, () => {
      if (slot.isWanted && slot.process === former) this.#launch(slot);
    });
  }

  #launch(slot: Slot): void {
    slot.starts += 1;
    const process = new SimulatedProcess(`${slot.name}.${slot.starts}`);
    slot.process = process;
    process.onExit = (code) => {
      this.#crashed(slot, process, new Error(`ended with code ${code}`));
    };
    this.time.happened();
    this.time.runIn(process, () => {
      this.#start(slot, process).then(
        (running) => {
          if (slot.process === process && !process.isDead) slot.running = running;
        },
        (error: unknown) => {
          this.#crashed(slot, process, error);
        },
      );
    });
  }

  #start({ kind, index }: Slot, process: SimulatedProcess): Promise<RunningRole> {
    const parts = this.partsFor(process, index);
    if (kind === 'router') return startSimulatedRouter(parts);
    const { maxInFlight, budget } = this.#scenario;
    return startSimulatedWorker(parts, {
      sender: this.endpoints.senderFor(process),
      maxInFlight,
      deletionDelayMs: deletionDelayMsOf(this.#scenario),
      budget,
    });
  }

  #crashed(slot: Slot, process: SimulatedProcess, error: unknown): void {
    process.isDead = true;
    if (slot.process !== process) return;
    slot.running = undefined;
    this.crashes.push(`${process.name}: ${String(error)}`);
    this.#launchLater(slot, restartMs);
  }

  #configRecord(resource: Source | Destination): OutgoingRecord {
    return {
      topic: this.topology.topics.config,
      key: recordKey(resource),
      value: encodeResource(resource, {}),
    };
  }

  #asOutside<T>(work: (kafka: KafkaClient) => Promise<T>): Promise<T> {
    return this.time.runIn(this.#outside, () => work(simulatedClient(this.brokers, this.#outside)));
  }
}
