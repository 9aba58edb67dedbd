import { EventEmitter } from 'node:events';
import { ageFromMs, decodeEnvelope, envelopeHeader } from '../event/envelope.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';
import type { Fence } from '../resources/fence/fence.ts';
import { partitionKeyOf } from '../resources/partition-key.ts';
import type { Destination } from '../resources/resource.ts';
import { bucketMs } from './lane/breaker.ts';
import type { BreakerState } from './lane/breaker.ts';
import { Bundle } from './bundle/bundle.ts';
import { Disposal } from './disposal.ts';
import type { DisposalTopics, RecordSink } from './disposal.ts';
import { DueGate } from './due-gate.ts';
import { dueTimeMs } from './due-time.ts';
import type { DeliveryEvents } from './events.ts';
import { Fencing } from './fencing.ts';
import { Job, releaseRevoked } from './job.ts';
import type { Claim, TakenRecord } from './job.ts';
import { Lane } from './lane/lane.ts';
import type { LaneContext } from './lane/lane.ts';
import type { Deferral } from './lane/deferral.ts';
import { putOff, putOffBundle } from './lane/job-fate.ts';
import type { EngineState } from './metrics.ts';
import { wantedBreakerDelayMs } from './retry-policy.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { Sender } from './sender.ts';
import { SlotPool } from './lane/slot-pool.ts';
import { WorkShares } from './lane/work-shares.ts';
import type { OwnedIndexes } from './lane/work-shares.ts';

/** The part of the configuration that deliveries need. */
export interface Destinations {
  /** How far it has been read. */
  readonly offset: number;
  destination(id: string): Destination | undefined;
  isUnreadable(destinationId: string): boolean;
  isFresh(): boolean;
}

export interface EngineTopics extends DisposalTopics {
  retryTierMs(topic: string): number | undefined;
}

export interface EngineDeps {
  readonly clock: SteadyClock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly sender: Sender;
  readonly sink: RecordSink;
  readonly destinations: Destinations;
  readonly fence: Fence;
  readonly topics: EngineTopics;
  readonly policy: RetryPolicy;
  /** See `fenceMs`. */
  readonly fenceMs: number;
  readonly events: DeliveryEvents;
  readonly maxInFlight: number;
  readonly maxInFlightPerDestination: number;
}

const tickMs = bucketMs;
/** How soon records that are ahead of the configuration are looked at again. */
const configPollMs = 50;
const configResetMs = 10_000;
const laneUnusedMs = 600_000;

/**
 * Delivers records: from being taken to being finished, by whatever way that is. Knows no Kafka, no HTTP
 * and no real time; those are its parameters, and simulations bring their own.
 */
export class DeliveryEngine {
  readonly #deps: EngineDeps;
  readonly #laneContext: LaneContext;
  readonly #disposal: Disposal;
  readonly #gate: DueGate;
  readonly #fencing: Fencing;
  readonly #pool: SlotPool;
  readonly #shares = new WorkShares();
  readonly #lanes = new Map<string, Lane>();
  /** Turns the counting windows of all breakers. */
  readonly #rotation = new EventEmitter();
  #aheadOfConfig: Job[] = [];
  /** What came after `stop`. */
  #tooLate: Pick<Job, 'claim' | 'record'>[] = [];
  #configTimer: Timer | undefined;
  #tickTimer: Timer;
  #stopped = false;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#rotation.setMaxListeners(0);
    this.#disposal = new Disposal({
      ...deps,
      partitionKeyOf: (id) => {
        const destination = deps.destinations.destination(id);
        return destination === undefined ? undefined : partitionKeyOf(destination);
      },
    });
    this.#fencing = new Fencing(deps.fence, deps.events);
    this.#pool = new SlotPool(deps.maxInFlight, () => this.#fencing.isFresh());
    this.#gate = new DueGate(deps.clock, (record, claim) => {
      this.#take(claim, record);
    });
    this.#laneContext = {
      ...deps,
      disposal: this.#disposal,
      pool: this.#pool,
      fencing: this.#fencing,
      shares: this.#shares,
      rotation: this.#rotation,
    };
    this.#tickTimer = deps.clock.after(tickMs, this.#tick);
  }

  /**
   * Newly taken records of one partition, in offset order. Each will be finished, or released after the
   * claim was revoked; neither if it was lost meanwhile.
   */
  take(claim: Claim, records: readonly TakenRecord[]): void {
    if (claim.revoked) for (const record of records) record.release();
    else if (this.#stopped) for (const record of records) this.#tooLate.push({ claim, record });
    else for (const record of records) this.#take(claim, record);
  }

  /**
   * These partitions go to somebody else: what only waits is released at once. Attempts and copies that are
   * under way are carried out to their end, a retry or a dead letter included.
   */
  revoke(claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    for (const claim of claims) {
      claim.revoked = true;
      this.#gate.release(claim);
    }
    this.#aheadOfConfig = releaseRevoked(this.#aheadOfConfig);
    this.#tooLate = releaseRevoked(this.#tooLate);
    for (const lane of this.#lanes.values()) lane.releaseRevoked();
  }

  /** Somebody else owns these partitions now: what is still under way is not written anywhere. */
  lose(claims: readonly Claim[]): void {
    this.revoke(claims.filter(({ revoked }) => !revoked));
    for (const claim of claims) claim.lost = true;
  }

  /** This worker's part of the partitions is another one: of one dedicated topic, or of the shared topics. */
  sharesChanged(indexes: OwnedIndexes, destinationId?: string): void {
    this.#shares.set(indexes, this.#deps.clock.steadyNow(), destinationId);
    for (const lane of this.#lanes.values()) lane.sharesChanged();
  }

  destinationChanged(id: string): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined || this.#stopped) return;
    const destination = this.#deps.destinations.destination(id);
    if (destination?.enabled === true) {
      lane.update(destination);
      return;
    }
    if (destination === undefined && this.#deps.destinations.isUnreadable(id)) return;
    lane.giveUp(destination === undefined ? 'destination-deleted' : 'destination-disabled');
    this.#closeLane(id, lane);
  }

  /** Nothing new starts from here on: what waits is released, and what comes later is when it is revoked. */
  stop(): void {
    this.#stopped = true;
    this.#configTimer?.cancel();
    this.#tickTimer.cancel();
    this.#pool.close();
    this.#gate.close();
    for (const { record } of this.#aheadOfConfig.splice(0)) record.release();
    for (const lane of this.#lanes.values()) lane.releaseAll();
  }

  /** After `stop`: what is still in flight leaves no trace any more. */
  close(): void {
    this.#disposal.close();
    for (const [id, lane] of this.#lanes) this.#closeLane(id, lane);
  }

  /** Nothing is in flight, and every copy is acknowledged. */
  get isIdle(): boolean {
    return this.#pool.taken === 0 && this.#disposal.writing === 0;
  }

  state(): EngineState {
    const breakers: Record<BreakerState, number> = { closed: 0, open: 0, 'half-open': 0 };
    const lanesByState = { held: 0, open: 0, slow: 0, limited: 0, waiting: 0, free: 0 };
    let queued = 0;
    let mostQueued = 0;
    for (const lane of this.#lanes.values()) {
      queued += lane.queued;
      mostQueued = Math.max(mostQueued, lane.queued);
      lanesByState[lane.state] += 1;
      lane.endpoints.count(breakers);
    }
    const tiers = [...this.#gate.waiting()].map(([topic, records]) => ({
      tierMs: this.#deps.topics.retryTierMs(topic) ?? 0,
      records,
    }));
    const inFlight = this.#pool.taken;
    return { inFlight, queued, mostQueued, lanesByState, breakers, tiers };
  }

  /** When it comes, and again when it is due. */
  #take(claim: Claim, record: TakenRecord): void {
    const taken = this.#read(record, claim);
    if (taken === undefined) return;
    const dueMs = this.#dueMs(taken);
    if (dueMs !== undefined && dueMs > this.#deps.clock.now())
      this.#gate.hold(record, claim, dueMs);
    else if (taken instanceof Bundle) this.#admitBundle(taken);
    else this.#admit(taken);
  }

  /** Undefined: it is neither, and a dead letter now. */
  #read(record: TakenRecord, claim: Claim): Job | Bundle | undefined {
    const header = record.headers[envelopeHeader];
    const envelope = header === undefined ? undefined : decodeEnvelope(header);
    const bundle = envelope === undefined ? Bundle.of(record, claim) : undefined;
    if (envelope === undefined && bundle === undefined)
      this.#disposal.malformed(record, claim, 'no readable envelope');
    else if (record.value === null) this.#disposal.malformed(record, claim, 'no body');
    else return envelope === undefined ? bundle : new Job(record, claim, envelope, record.value);
    return undefined;
  }

  #dueMs(taken: Job | Bundle): number | undefined {
    const said = taken instanceof Bundle ? taken.header : taken.envelope;
    return dueTimeMs(said, taken.record, this.#deps);
  }

  /** What would be put off again to the last event is put off as it is. */
  #admitBundle(bundle: Bundle): void {
    const { destinationId, oldestMs } = bundle.header;
    const lane = this.#lanes.get(destinationId);
    if (lane?.putOff(bundle) === true) return;
    if (lane === undefined && this.#isKnownUnreadable(destinationId)) {
      const deferral = this.#unreadableDeferral(oldestMs, true);
      if (putOffBundle(bundle, deferral, this.#laneContext)) return;
    }
    for (const job of this.#disposal.unpack(bundle)) this.#admit(job);
  }

  /** Its time has come. */
  #admit(job: Job): void {
    if (this.#fencing.drop(job)) return;
    const { destinationId, configOffset } = job.envelope;
    const { destinations } = this.#deps;
    if (configOffset > destinations.offset && !this.#isConfigReset(job)) {
      this.#awaitConfig(job);
      return;
    }
    const lane = this.#lanes.get(destinationId) ?? this.#openLane(destinationId);
    if (lane !== undefined) lane.offer(job);
    else if (destinations.isUnreadable(destinationId)) this.#awaitReadable(job);
    else {
      const known = destinations.destination(destinationId) !== undefined;
      const reason = known ? 'destination-disabled' : 'destination-deleted';
      this.#disposal.deadLetter(job, reason, '', job.envelope.attempts);
    }
  }

  #openLane(id: string): Lane | undefined {
    const destination = this.#deps.destinations.destination(id);
    if (destination?.enabled !== true) return undefined;
    const lane = new Lane(destination, this.#laneContext);
    this.#lanes.set(id, lane);
    return lane;
  }

  #closeLane(id: string, lane: Lane): void {
    lane.close();
    this.#lanes.delete(id);
  }

  #awaitReadable(job: Job): void {
    const deferral = this.#deferralWhileUnreadable(job);
    if (deferral === undefined) {
      this.#awaitConfig(job);
      return;
    }
    if (putOff(job, deferral, this.#laneContext)) return;
    this.#disposal.deadLetter(job, 'expired-late', deferral.cause, job.envelope.attempts);
  }

  /**
   * Undefined: it waits here. In a dedicated topic no other destination's events stand behind it, but before
   * Kafka removes it, it is written elsewhere.
   */
  #deferralWhileUnreadable({ claim, envelope, record, hasReturned }: Job): Deferral | undefined {
    if (!this.#isKnownUnreadable(envelope.destinationId)) return undefined;
    if (!claim.dedicated) return this.#unreadableDeferral(ageFromMs(envelope), hasReturned);
    const keptMs = this.#deps.clock.now() - record.timestampMs;
    if (keptMs < this.#deps.policy.spillAfterMs) return undefined;
    return { cause: 'retention', wantedMs: 0 };
  }

  /** There is no newer version of it that this worker merely has not seen yet. */
  #isKnownUnreadable(destinationId: string): boolean {
    const { destinations } = this.#deps;
    return destinations.isFresh() && destinations.isUnreadable(destinationId);
  }

  /** As behind an open breaker: somebody has to mend it, which may take a minute or a day. */
  #unreadableDeferral(fromMs: number, hasReturned: boolean): Deferral {
    const ageMs = this.#deps.clock.now() - fromMs;
    return { cause: 'unreadable', wantedMs: wantedBreakerDelayMs(ageMs, hasReturned) };
  }

  /** The router had seen more of the configuration than this worker has. */
  #awaitConfig(job: Job): void {
    job.aheadSinceMs ??= this.#deps.clock.now();
    this.#aheadOfConfig.push(job);
    this.#configTimer ??= this.#deps.clock.after(configPollMs, () => {
      this.#configTimer = undefined;
      const jobs = this.#aheadOfConfig;
      this.#aheadOfConfig = [];
      for (const waiting of jobs) this.#admit(waiting);
    });
  }

  /**
   * All that the topic holds has been read, and that is less than the router saw: it was made anew. What
   * counts as fresh may be two seconds old, so only a job that has waited for longer shows it.
   */
  #isConfigReset(job: Job): boolean {
    const { aheadSinceMs } = job;
    if (aheadSinceMs === undefined || !this.#deps.destinations.isFresh()) return false;
    return this.#deps.clock.now() - aheadSinceMs > configResetMs;
  }

  readonly #tick = (): void => {
    this.#tickTimer = this.#deps.clock.after(tickMs, this.#tick);
    this.#rotation.emit('rotate');
    const nowMs = this.#deps.clock.now();
    this.#pool.tick();
    const othersHaveRoom = this.#mostLanesHaveRoom() && !this.#pool.wasShort();
    for (const [id, lane] of this.#lanes) {
      lane.tick(nowMs, othersHaveRoom);
      if (lane.isUnusedSince(nowMs - laneUnusedMs)) this.#closeLane(id, lane);
    }
  };

  /** Behind are then only a few; where most are, everything is busy, and the backlog belongs in Kafka. */
  #mostLanesHaveRoom(): boolean {
    let active = 0;
    let roomy = 0;
    for (const lane of this.#lanes.values()) {
      if (lane.isActive) active += 1;
      if (lane.hasRoom) roomy += 1;
    }
    return roomy > 0 && roomy * 2 >= active;
  }
}
