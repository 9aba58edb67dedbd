import { envelopeHeader, isFromNewerRelease } from '../event/envelope.ts';
import { isOf } from '../event/uid.ts';
import type { SteadyClock, Timer } from '../ops/clock.ts';
import type { Fence } from '../resources/fence/fence.ts';
import type { FollowedPauses } from '../resources/pauses/pauses.ts';
import { partitionKeyOf } from '../resources/resource.ts';
import { bucketMs } from './lane/breaker.ts';
import { Bundle } from './bundle/bundle.ts';
import { Disposal, type DisposalDeps, type DisposalTopics } from './disposal.ts';
import { Reachability } from './reachability.ts';
import { AwaitingConfig } from './awaiting-config.ts';
import { DueGate } from './due-gate.ts';
import type { DeliveryEvents } from './events.ts';
import { Fencing } from './fencing.ts';
import { Job, releaseRevoked, type Claim } from './job.ts';
import type { TakenRecord } from '../kafka/consume/taken-record.ts';
import { KnownDestinations, ofEarlier, type Destinations } from './known-destinations.ts';
import { Lane } from './lane/lane.ts';
import { Lanes } from './lane/lanes.ts';
import type { LaneContext } from './lane/lane-context.ts';
import { waitInLine } from './lane/user-line.ts';
import { notCompared, usualTurns, type Idle } from './lane/pace.ts';
import type { EngineState } from './metrics.ts';
import { circumstances, type RetryPolicy } from './retry-policy.ts';
import type { Sender } from './sender.ts';
import { dueTimeMs, isRecalled, readTaken, waitingOf } from './taken.ts';
import { Tokens } from './token/tokens.ts';
import { DestinationReports } from './status/destination-reports.ts';
import { DestinationWatch, isPlain } from './status/destination-watch.ts';
import { Spells } from './status/objective.ts';
import { WaitingByDestination } from './status/waiting-later.ts';
import { SlotPool } from './lane/slot-pool.ts';
import { decide, decideOnBundle, isEnding, unreadableDeferral } from './verdict.ts';
import type { Happened, Over } from './verdict.ts';
import { WorkShares } from './lane/work-shares.ts';
import type { OwnedIndexes } from './lane/work-shares.ts';

export interface EngineDeps {
  readonly clock: SteadyClock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The share of the time since the last call in which this process had something to do. */
  readonly busyShare: () => number;
  readonly sender: Sender;
  readonly sink: DisposalDeps['sink'];
  readonly destinations: Destinations;
  readonly fence: Fence;
  /** The destinations to which nothing is sent for now, and whose waiting events are recalled. */
  readonly paused: Pick<FollowedPauses, 'has' | 'isFresh' | 'recalls'>;
  readonly topics: DisposalTopics;
  readonly policy: RetryPolicy;
  /** See `fenceMs`. */
  readonly fenceMs: number;
  readonly events: DeliveryEvents;
  readonly maxInFlight: number;
  readonly maxInFlightPerDestination: number;
}

const tickMs = bucketMs;
/** A process that is busy for more than this is as fast as it can be. */
const fullyBusy = 0.95;
const configResetMs = 10_000;
const unpackAgainMs = 100;

/**
 * Delivers records: from being taken to being finished, in whatever way. It contains no Kafka, no HTTP and no
 * real time. Those are its parameters, and simulations bring their own.
 */
export class DeliveryEngine {
  readonly #deps: EngineDeps;
  readonly #known: KnownDestinations;
  readonly #laneContext: LaneContext;
  readonly #disposal: Disposal;
  readonly #gate: DueGate;
  readonly #fencing: Fencing;
  readonly #pool: SlotPool;
  readonly #shares = new WorkShares();
  readonly #reachability: Reachability;
  readonly #lanes: Lanes;
  readonly #awaitingConfig: AwaitingConfig;
  readonly #waitingLater: WaitingByDestination;
  readonly #watch: DestinationWatch;
  /** This worker's reports on each destination. */
  readonly reports: DestinationReports;
  readonly spells: Spells = new Spells();
  /** Records that came after `stop`. */
  #tooLate: Pick<Job, 'claim' | 'record'>[] = [];
  #tickTimer: Timer;
  #stopped = false;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#known = new KnownDestinations(deps.destinations, deps.paused);
    this.#lanes = new Lanes(deps.clock.steadyNow());
    this.#disposal = new Disposal({
      ...deps,
      spells: this.spells,
      partitionKeyOf: (id) => {
        const destination = deps.destinations.destination(id);
        return destination === undefined ? undefined : partitionKeyOf(destination);
      },
      onForgotten: (job) => {
        if (job.claim.revoked || this.#stopped) job.record.release();
        else this.#admitInOrder(job);
      },
      onHomeless: (job) => void this.#end(job, { kind: 'homeless' }),
    });
    this.#fencing = new Fencing(deps.fence, deps.events);
    this.#pool = new SlotPool(deps.maxInFlight, () => this.#fencing.isFresh());
    this.#reachability = new Reachability({
      clock: deps.clock,
      onCutOff: (providers, detail) => {
        deps.events.cutOff(providers, detail);
      },
      onReached: (afterMs) => {
        deps.events.reached(afterMs);
        this.#pool.rampUp();
      },
    });
    this.#gate = new DueGate({
      clock: deps.clock,
      onDue: (record, claim, dueMs) => {
        const taken = this.#takeBack(record, claim, dueMs);
        if (taken !== undefined) this.#place(taken);
      },
      onRecalled: (record, claim, dueMs) => {
        const taken = this.#takeBack(record, claim, dueMs);
        if (taken === undefined) return;
        deps.events.recalled(waitingOf(taken).events);
        this.#admitAny(taken);
      },
      mayGo: (id, claim) =>
        (this.#lanes.use(id) ?? this.#openLane(id))?.takesRecalled(claim) === true,
      recalledBefore: (claim) => deps.paused.recalls.furthest(claim),
    });
    this.#waitingLater = new WaitingByDestination((topic) => deps.topics.retryTierMs(topic) ?? 0);
    this.#watch = new DestinationWatch({
      clock: deps.clock,
      spells: this.spells,
      waitingLater: (id) => this.#waitingLater.eventsOf(this.#known.identityOf(id)),
      isUnreadable: (id) => deps.destinations.isUnreadable(id),
      onChange: (change) => {
        deps.events.destinationChanged(change);
      },
    });
    this.reports = new DestinationReports({
      clock: deps.clock,
      lanes: this.#lanes.all,
      watch: this.#watch,
      waitingLater: this.#waitingLater,
      uidOf: (id) => deps.destinations.uidOf(id),
    });
    this.#awaitingConfig = new AwaitingConfig(deps.clock, (job) => this.#admit(job));
    this.#laneContext = {
      ...deps,
      disposal: this.#disposal,
      pool: this.#pool,
      fencing: this.#fencing,
      shares: this.#shares,
      reachability: this.#reachability,
      tokens: new Tokens(deps),
      awaiting: this.#awaitingConfig,
    };
    this.#tickTimer = deps.clock.after(tickMs, this.#tick);
  }

  /**
   * Takes new records of one partition, in offset order. Each is finished later, or released after the claim
   * was revoked; neither happens if the claim is lost meanwhile.
   */
  take(claim: Claim, records: readonly TakenRecord[]): void {
    if (claim.revoked) for (const record of records) record.release();
    else if (this.#stopped) for (const record of records) this.#tooLate.push({ claim, record });
    else for (const record of records) this.#take(claim, record);
  }

  /**
   * These partitions move to another worker. Records that only wait are released at once. Attempts and copies
   * that are under way are carried out to their end, including a retry or a dead letter.
   */
  revoke(claims: readonly Claim[]): void {
    if (claims.length === 0) return;
    for (const claim of claims) {
      claim.revoked = true;
      this.#gate.release(claim);
      this.#waitingLater.released(claim);
    }
    this.#awaitingConfig.releaseRevoked();
    this.#tooLate = releaseRevoked(this.#tooLate);
    for (const lane of this.#lanes.all.values()) lane.releaseRevoked();
  }

  /** Other workers own these partitions now. What is still under way is not written anywhere. */
  lose(claims: readonly Claim[]): void {
    this.revoke(claims.filter(({ revoked }) => !revoked));
    for (const claim of claims) claim.lost = true;
  }

  /** This worker owns other partitions now: of one dedicated topic, or of the shared topics. */
  sharesChanged(indexes: OwnedIndexes, destinationId?: string): void {
    this.#shares.set(indexes, this.#deps.clock.steadyNow(), destinationId);
    for (const id of this.#lanes.all.keys()) this.#lanes.use(id)?.sharesChanged();
  }

  /** The destination has a new version, or was paused or resumed. */
  destinationChanged(id: string): void {
    if (this.#stopped) return;
    let lane = this.#lanes.use(id);
    if (lane !== undefined && this.#known.isAnother(id, lane.destination)) {
      // This worker has missed the deletion in between.
      this.#lanes.end(id, lane, ofEarlier);
      this.#watch.forget(id);
      lane = undefined;
    }
    const over = this.#known.whyNothingIsSent(id);
    if (over === undefined) {
      const destination = this.#deps.destinations.destination(id);
      if (destination?.enabled === true) this.#lanes.update(destination);
      this.#watch.switchedOn(id);
      return;
    }
    if (lane !== undefined) {
      this.#lanes.end(id, lane, over);
      this.#watch.forget(id);
    }
    if (lane !== undefined || this.#waitingLater.eventsOf(this.#known.identityOf(id)) > 0)
      this.#sayItIsOff(id, over);
  }

  /** An operator has mended the endpoint, so what waits for the destination is due before its time. */
  recalled(id: string): void {
    if (this.#stopped) return;
    const claims = this.#waitingLater.claimsOf(this.#known.identityOf(id));
    this.#gate.recall(id, claims, (record, claim) => {
      const taken = readTaken(record, claim);
      return typeof taken === 'object' && isRecalled(taken, this.#deps);
    });
    this.#lanes.use(id)?.tryNow();
  }

  /**
   * From now on nothing starts. Waiting records are released, and later ones are released when their
   * partition is revoked.
   */
  stop(): void {
    this.#stopped = true;
    this.#tickTimer.cancel();
    this.#pool.close();
    this.#gate.close();
    this.#awaitingConfig.releaseAll();
    for (const lane of this.#lanes.all.values()) lane.releaseAll();
  }

  /** After `stop`: what is still in flight leaves no trace anymore. */
  close(): void {
    this.#disposal.close();
    this.#lanes.close();
  }

  /** Nothing is in flight, and every copy is acknowledged. */
  get isIdle(): boolean {
    return this.#pool.taken === 0 && this.#disposal.writing === 0;
  }

  state(): EngineState {
    const tiers = [...this.#gate.waiting()].map(([topic, records]) => ({
      tierMs: this.#deps.topics.retryTierMs(topic) ?? 0,
      records,
    }));
    const { isCutOff } = this.#reachability;
    return { ...this.#lanes.count(), inFlight: this.#pool.taken, tiers, isCutOff };
  }

  /** All jobs that wait for their turn, in no order. */
  *waiting(): Generator<Job, void, undefined> {
    yield* this.#awaitingConfig.all();
    for (const lane of this.#lanes.all.values()) yield* lane.waiting.all();
  }

  #take(claim: Claim, record: TakenRecord): void {
    const taken = this.#read(record, claim);
    if (taken !== undefined) this.#place(taken);
  }

  /** Reads a record again that the gate has held. */
  #takeBack(record: TakenRecord, claim: Claim, heldUntilMs: number): Job | Bundle | undefined {
    const taken = this.#read(record, claim);
    if (taken !== undefined) this.#waitingLater.left(claim, waitingOf(taken), heldUntilMs);
    return taken;
  }

  #place(taken: Job | Bundle): void {
    const dueMs = this.#dueMs(taken);
    if (dueMs !== undefined && dueMs > this.#deps.clock.now()) this.#hold(taken, dueMs);
    else this.#admitAny(taken);
  }

  #admitAny(taken: Job | Bundle): void {
    if (taken instanceof Bundle) this.#admitBundle(taken);
    else this.#admitInOrder(taken);
  }

  /** Undefined: it is neither, and a dead letter now, or waits for a worker that can read it. */
  #read(record: TakenRecord, claim: Claim): Job | Bundle | undefined {
    const taken = readTaken(record, claim);
    if (taken instanceof Job || taken instanceof Bundle) return taken;
    if (taken === 'unreadable') this.#unreadable(record, claim);
    else this.#disposal.malformed(record, claim, taken);
    return undefined;
  }

  /** A record of a newer release stays for its tier's whole delay, because nobody can tell when it is due. */
  #unreadable(record: TakenRecord, claim: Claim): void {
    const dueMs = isFromNewerRelease(record.headers[envelopeHeader])
      ? dueTimeMs({ dueMs: Infinity }, record, this.#deps)
      : undefined;
    if (dueMs !== undefined && dueMs > this.#deps.clock.now())
      this.#gate.hold(record, claim, dueMs);
    else this.#disposal.unreadable(record, claim, 'no readable envelope');
  }

  #hold(taken: Job | Bundle, dueMs: number): void {
    const { record, claim } = taken;
    const waiting = waitingOf(taken);
    this.#waitingLater.held(claim, waiting, dueMs);
    const id = waiting.destinationId;
    if (this.#known.isPaused(id)) this.#sayItIsOff(id, { kind: 'paused' });
    if (isRecalled(taken, this.#deps)) this.#gate.holdRecalled(record, claim, dueMs, id);
    else this.#gate.hold(record, claim, dueMs);
  }

  #dueMs(taken: Job | Bundle): number | undefined {
    const said = taken instanceof Bundle ? taken.header : taken.envelope;
    return dueTimeMs(said, taken.record, this.#deps);
  }

  /** A bundle whose events would all be put off again is put off as it is. */
  #admitBundle(bundle: Bundle): void {
    const { destinationId, oldestMs } = bundle.header;
    const lane = this.#lanes.use(destinationId);
    if (lane !== undefined && isOf(lane.destination, bundle.header) && lane.putOff(bundle)) return;
    if (lane === undefined && this.#isKnownUnreadable(destinationId)) {
      const now = circumstances(this.#laneContext);
      const deferral = unreadableDeferral(oldestMs, true, now.nowMs);
      const verdict = decideOnBundle(bundle.header, deferral, now);
      if (verdict !== undefined) {
        this.#disposal.deferBundle(bundle, verdict);
        return;
      }
    }
    if (bundle.claim.unpackedBytes.areTooMany)
      this.#hold(bundle, this.#deps.clock.now() + unpackAgainMs);
    else for (const job of this.#disposal.unpack(bundle)) this.#admitInOrder(job);
  }

  /** The job is due. */
  #admitInOrder(job: Job): void {
    if (this.#awaitingConfig.has(job.envelope.destinationId) || !this.#admit(job))
      this.#awaitingConfig.add(job);
  }

  /** False: this worker has not read the configuration yet that the job waits for, or does not hear of pauses. */
  #admit(job: Job): boolean {
    const fencedBy = this.#fencing.covers(job);
    if (fencedBy !== undefined) {
      this.#disposal.carryOut(job, { kind: 'drop', fencedBy });
      return true;
    }
    const { destinationId, configOffset } = job.envelope;
    const { destinations } = this.#deps;
    if (configOffset > destinations.offset && !this.#isConfigReset(job)) return false;
    if (this.#known.isAnother(destinationId, job.envelope)) return this.#end(job, ofEarlier);
    const lane = this.#lanes.use(destinationId) ?? this.#openLane(destinationId);
    if (lane !== undefined) {
      lane.offer(job);
      return true;
    }
    const over = this.#known.whyNothingIsSent(destinationId);
    if (over?.kind === 'paused') waitInLine(job, destinations.destination(destinationId));
    // It may be resumed by now, and nobody looks for what is kept for a destination that is not paused.
    if (over?.kind === 'paused' && !this.#deps.paused.isFresh()) return false;
    if (over !== undefined) return this.#end(job, over);
    return this.#isKnownUnreadable(destinationId) && this.#end(job, { kind: 'unreadable' });
  }

  #sayItIsOff(id: string, over: Over): void {
    if (over.kind === 'paused') this.#watch.switchedOff(id, 'paused');
    else if (over.reason === 'destination-disabled') this.#watch.switchedOff(id, 'disabled');
  }

  #openLane(id: string): Lane | undefined {
    const destination = this.#deps.destinations.destination(id);
    if (destination?.enabled !== true || this.#known.isPaused(id)) return undefined;
    const former = this.#lanes.again(destination);
    return former ?? this.#lanes.add(id, new Lane(destination, this.#laneContext));
  }

  /** False: the job has to wait. */
  #end(job: Job, happened: Happened): boolean {
    const verdict = decide(job, happened, circumstances(this.#laneContext));
    if (!isEnding(verdict)) return false;
    this.#disposal.carryOut(job, verdict);
    return true;
  }

  #isKnownUnreadable(destinationId: string): boolean {
    const isKnown = this.#known.isSurelyUnreadable(destinationId);
    if (isKnown) this.#watch.unreadable(destinationId);
    return isKnown;
  }

  /**
   * The whole config topic was read and ends before the offset that the router saw: then the topic
   * was created again. Freshness may be two seconds old, so only a job that has waited for longer shows that.
   */
  #isConfigReset(job: Job): boolean {
    const { awaitsConfigSinceMs } = job;
    if (awaitsConfigSinceMs === undefined || !this.#deps.destinations.isFresh()) return false;
    return this.#deps.clock.steadyNow() - awaitsConfigSinceMs > configResetMs;
  }

  readonly #tick = (): void => {
    this.#tickTimer = this.#deps.clock.after(tickMs, this.#tick);
    const active = [...this.#lanes.awake].filter(({ isActive }) => isActive);
    this.#pool.tick(active.length);
    this.#reachability.tick(this.#lanes);
    const usual = this.#areLanesCompared() ? usualTurns(active, this.#idle) : notCompared;
    this.#watch.tick();
    for (const lane of this.#lanes.awake) {
      const { id } = lane.destination;
      lane.tick(usual);
      // While this worker is cut off from endpoints, failures say nothing about them.
      if (!lane.endpoints.areUnreached) this.#watch.look(id, lane);
      if (this.#watch.standing(id) === undefined && isPlain(lane)) this.#lanes.letRest(lane);
    }
    for (const id of this.#lanes.sweep(this.#deps.clock.steadyNow())) this.#watch.forget(id);
  };

  /** A lane that is behind may be so by itself. If this worker is behind, putting off would add to its work. */
  #areLanesCompared(): boolean {
    const hasTimeLeft = this.#deps.busyShare() < fullyBusy;
    return hasTimeLeft && !this.#pool.isRampingUp && this.#known.areSeveral;
  }

  get #idle(): Idle {
    return { areSlots: this.#pool.hasRoom, isSomeLane: this.#lanes.isSomeIdle };
  }
}
