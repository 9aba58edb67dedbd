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
import { Reachability } from './reachability.ts';
import { HeldForConfig } from './held-for-config.ts';
import { DueGate } from './due-gate.ts';
import { dueTimeMs } from './due-time.ts';
import type { DeliveryEvents } from './events.ts';
import { Fencing } from './fencing.ts';
import { Job, releaseRevoked } from './job.ts';
import type { Claim, TakenRecord } from './job.ts';
import { Lane } from './lane/lane.ts';
import type { LaneContext } from './lane/lane-context.ts';
import type { EngineState } from './metrics.ts';
import { circumstances } from './retry-policy.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { Sender } from './sender.ts';
import { DestinationReports } from './status/destination-reports.ts';
import { DestinationWatch } from './status/destination-watch.ts';
import { laneState } from './status/lane-facts.ts';
import { WaitingByDestination, type Waiting } from './status/waiting-later.ts';
import { SlotPool } from './lane/slot-pool.ts';
import { decide, decideOnBundle, isEnding, unreadableDeferral } from './verdict.ts';
import type { Happened, Over } from './verdict.ts';
import { WorkShares } from './lane/work-shares.ts';
import type { OwnedIndexes } from './lane/work-shares.ts';

/** The part of the configuration that deliveries need. */
export interface Destinations {
  /** How far it has been read. */
  readonly offset: number;
  destination(id: string): Destination | undefined;
  destinations(): Iterable<Destination>;
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
  /** The ids of destinations to which nothing is sent for now. */
  readonly paused: Pick<ReadonlySet<string>, 'has'>;
  readonly topics: EngineTopics;
  readonly policy: RetryPolicy;
  /** See `fenceMs`. */
  readonly fenceMs: number;
  readonly events: DeliveryEvents;
  readonly maxInFlight: number;
  readonly maxInFlightPerDestination: number;
}

const tickMs = bucketMs;
const configResetMs = 10_000;
/** Of a partition: as much as its window holds of what is not packed. */
const mostUnpackedBytes = 4 * 1024 * 1024;
const unpackAgainMs = 100;
/** It is not known whether others wait to be read: only a lane that takes half a minute is in their way. */
const usualTurnWhenAloneMs = 4_000;
/** What is put off behind a breaker stays away for up to 16 minutes. */
const laneUnusedMs = 20 * 60_000;

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
  readonly #reachability: Reachability;
  readonly #lanes = new Map<string, Lane>();
  /** Turns the counting windows of all breakers. */
  readonly #rotation = new EventEmitter();
  readonly #held: HeldForConfig;
  readonly #waitingLater: WaitingByDestination;
  readonly #watch: DestinationWatch;
  /** What this worker knows of each destination. */
  readonly reports: DestinationReports;
  /** What came after `stop`. */
  #tooLate: Pick<Job, 'claim' | 'record'>[] = [];
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
    this.#reachability = new Reachability({
      clock: deps.clock,
      onCutOff: (providers, detail) => {
        deps.events.cutOff(providers, detail);
        this.#pool.cutOff(true);
      },
      onReached: (afterMs) => {
        deps.events.reached(afterMs);
        this.#pool.cutOff(false);
      },
    });
    this.#gate = new DueGate(deps.clock, (record, claim, dueMs) => {
      this.#take(claim, record, dueMs);
    });
    this.#waitingLater = new WaitingByDestination((topic) => deps.topics.retryTierMs(topic) ?? 0);
    this.#watch = new DestinationWatch({
      clock: deps.clock,
      waitingLater: (id) => this.#waitingLater.eventsOf(id),
      isUnreadable: (id) => deps.destinations.isUnreadable(id),
      onChange: (change) => {
        deps.events.destinationChanged(change);
      },
    });
    this.reports = new DestinationReports({
      clock: deps.clock,
      lanes: this.#lanes,
      watch: this.#watch,
      waitingLater: this.#waitingLater,
    });
    this.#held = new HeldForConfig(deps.clock, (job) => this.#admit(job));
    this.#laneContext = {
      ...deps,
      disposal: this.#disposal,
      pool: this.#pool,
      fencing: this.#fencing,
      shares: this.#shares,
      reachability: this.#reachability,
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
      this.#waitingLater.released(claim);
    }
    this.#held.releaseRevoked();
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

  /** Another version of it, or it is paused or resumed. */
  destinationChanged(id: string): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined || this.#stopped) return;
    const over = this.#whyNothingIsSent(id);
    if (over === undefined) {
      const destination = this.#deps.destinations.destination(id);
      if (destination !== undefined) lane.update(destination);
      return;
    }
    lane.end(over);
    this.#closeLane(id, lane);
    if (over.kind === 'paused') this.#watch.switchedOff(id, 'paused');
    else if (over.reason === 'destination-disabled') this.#watch.switchedOff(id, 'disabled');
  }

  /** Nothing new starts from here on: what waits is released, and what comes later is when it is revoked. */
  stop(): void {
    this.#stopped = true;
    this.#tickTimer.cancel();
    this.#pool.close();
    this.#gate.close();
    this.#held.releaseAll();
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
      lanesByState[laneState(lane)] += 1;
      lane.endpoints.count(breakers);
    }
    const tiers = [...this.#gate.waiting()].map(([topic, records]) => ({
      tierMs: this.#deps.topics.retryTierMs(topic) ?? 0,
      records,
    }));
    const inFlight = this.#pool.taken;
    const { isCutOff } = this.#reachability;
    return { inFlight, queued, mostQueued, lanesByState, breakers, tiers, isCutOff };
  }

  /** When it comes, and again when it is due: `heldUntilMs`. */
  #take(claim: Claim, record: TakenRecord, heldUntilMs?: number): void {
    const taken = this.#read(record, claim);
    if (taken === undefined) return;
    if (heldUntilMs !== undefined) this.#waitingLater.left(claim, waitingOf(taken), heldUntilMs);
    const dueMs = this.#dueMs(taken);
    if (dueMs !== undefined && dueMs > this.#deps.clock.now()) this.#hold(taken, dueMs);
    else if (taken instanceof Bundle) this.#admitBundle(taken);
    else this.#admitInOrder(taken);
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

  #hold(taken: Job | Bundle, dueMs: number): void {
    const { record, claim } = taken;
    this.#waitingLater.held(claim, waitingOf(taken), dueMs);
    this.#gate.hold(record, claim, dueMs);
  }

  #dueMs(taken: Job | Bundle): number | undefined {
    const said = taken instanceof Bundle ? taken.header : taken.envelope;
    return dueTimeMs(said, taken.record, this.#deps);
  }

  /** What would be put off again to the last event is put off as it is. */
  #admitBundle(bundle: Bundle): void {
    if (bundle.claim.unpackedBytes > mostUnpackedBytes) {
      this.#hold(bundle, this.#deps.clock.now() + unpackAgainMs);
      return;
    }
    const { destinationId, oldestMs } = bundle.header;
    const lane = this.#lanes.get(destinationId);
    if (lane?.putOff(bundle) === true) return;
    if (lane === undefined && this.#isKnownUnreadable(destinationId)) {
      const now = circumstances(this.#deps);
      const deferral = unreadableDeferral(oldestMs, true, now.nowMs);
      const verdict = decideOnBundle(bundle.header, deferral, now);
      if (verdict !== undefined) {
        this.#disposal.deferBundle(bundle, verdict);
        return;
      }
    }
    for (const job of this.#disposal.unpack(bundle)) this.#admitInOrder(job);
  }

  /** Its time has come. */
  #admitInOrder(job: Job): void {
    if (this.#held.holds(job.envelope.destinationId) || !this.#admit(job)) this.#held.hold(job);
  }

  /** False: the configuration that it waits for is not known here yet. */
  #admit(job: Job): boolean {
    const fencedBy = this.#fencing.covers(job);
    if (fencedBy !== undefined) {
      this.#disposal.carryOut(job, { kind: 'drop', fencedBy });
      return true;
    }
    const { destinationId, configOffset } = job.envelope;
    const { destinations } = this.#deps;
    if (configOffset > destinations.offset && !this.#isConfigReset(job)) return false;
    const lane = this.#lanes.get(destinationId) ?? this.#openLane(destinationId);
    if (lane !== undefined) {
      lane.offer(job);
      return true;
    }
    const over = this.#whyNothingIsSent(destinationId);
    if (over !== undefined) return this.#end(job, over);
    return this.#isKnownUnreadable(destinationId) && this.#end(job, { kind: 'unreadable' });
  }

  /** Undefined: something is, or its present version cannot be read here. */
  #whyNothingIsSent(id: string): Over | undefined {
    const { destinations, paused } = this.#deps;
    const destination = destinations.destination(id);
    const isUnreadable = destinations.isUnreadable(id);
    if (destination === undefined && !isUnreadable)
      return { kind: 'unwanted', reason: 'destination-deleted' };
    if (paused.has(id)) return { kind: 'paused' };
    if (destination?.enabled !== false || isUnreadable) return undefined;
    return { kind: 'unwanted', reason: 'destination-disabled' };
  }

  #openLane(id: string): Lane | undefined {
    const destination = this.#deps.destinations.destination(id);
    if (destination?.enabled !== true || this.#deps.paused.has(id)) return undefined;
    const lane = new Lane(destination, this.#laneContext);
    this.#lanes.set(id, lane);
    return lane;
  }

  #closeLane(id: string, lane: Lane): void {
    lane.close();
    this.#lanes.delete(id);
    this.#watch.forget(id);
  }

  /** False: it has to wait. */
  #end(job: Job, happened: Happened): boolean {
    const verdict = decide(job, happened, circumstances(this.#deps));
    if (!isEnding(verdict)) return false;
    this.#disposal.carryOut(job, verdict);
    return true;
  }

  /** There is no newer version of it that this worker merely has not seen yet. */
  #isKnownUnreadable(destinationId: string): boolean {
    const { destinations } = this.#deps;
    const isKnown = destinations.isFresh() && destinations.isUnreadable(destinationId);
    if (isKnown) this.#watch.unreadable(destinationId);
    return isKnown;
  }

  /**
   * All that the topic holds has been read, and that is less than the router saw: it was made anew. What
   * counts as fresh may be two seconds old, so only a job that has waited for longer shows it.
   */
  #isConfigReset(job: Job): boolean {
    const { heldSinceMs } = job;
    if (heldSinceMs === undefined || !this.#deps.destinations.isFresh()) return false;
    return this.#deps.clock.now() - heldSinceMs > configResetMs;
  }

  readonly #tick = (): void => {
    this.#tickTimer = this.#deps.clock.after(tickMs, this.#tick);
    this.#rotation.emit('rotate');
    const nowMs = this.#deps.clock.now();
    const turnsMs: number[] = [];
    for (const lane of this.#lanes.values()) if (lane.isActive) turnsMs.push(lane.longestTurnMs);
    this.#pool.tick(turnsMs.length);
    this.#reachability.tick(() => this.#waitingFor());
    const usualTurnMs = this.#usualTurnMs(turnsMs);
    this.#watch.tick();
    for (const [id, lane] of this.#lanes) {
      lane.tick(nowMs, usualTurnMs);
      // Nothing that fails now says anything of an endpoint.
      if (!this.#reachability.isCutOff) this.#watch.look(id, lane);
      if (lane.isUnusedSince(nowMs - laneUnusedMs)) this.#closeLane(id, lane);
    }
  };

  /**
   * In the lanes that are least behind, a quarter of the active ones; Infinity: no lane is to be measured by it.
   * Where all are behind alike, this worker is what they wait for, and the backlog belongs in Kafka; so it
   * does where there is but one destination. A lane that is alone in being active may keep all others from
   * being read.
   */
  #usualTurnMs(turnsMs: readonly number[]): number {
    if (this.#pool.isRestricted || !this.#hasSeveralDestinations()) return Infinity;
    if (turnsMs.length < 2) return usualTurnWhenAloneMs;
    return turnsMs.toSorted((a, b) => a - b)[Math.floor(turnsMs.length / 4)] ?? 0;
  }

  /** The providers for which something waits. */
  #waitingFor(): Set<string> {
    const waiting = new Set<string>();
    for (const { queued, endpoints } of this.#lanes.values())
      if (queued > 0 && endpoints.provider !== undefined) waiting.add(endpoints.provider);
    return waiting;
  }

  #hasSeveralDestinations(): boolean {
    const destinations = this.#deps.destinations.destinations()[Symbol.iterator]();
    return destinations.next().done !== true && destinations.next().done !== true;
  }
}

function waitingOf(taken: Job | Bundle): Waiting {
  if (taken instanceof Bundle) return taken.header;
  const { destinationId, deadlineMs } = taken.envelope;
  return { destinationId, events: 1, oldestMs: ageFromMs(taken.envelope), deadlineMs };
}
