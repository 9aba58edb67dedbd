import { createHash } from 'node:crypto';
import { partitionOf } from '../../../src/kafka/produce/partitioner.ts';
import { silentLogger, type Logger } from '../../../src/ops/log.ts';
import { deletionRecord } from '../../../src/resources/fence/fence.ts';
import { seededRandom } from '../../delivery/simulated-clock.ts';
import { SimulatedAudience } from './audience.ts';
import { SimulatedDeployment } from './deployment.ts';
import { judge, uncaughtRule, type Violation } from './invariants.ts';
import { fairWeather } from './kafka/weather.ts';
import { Ledger, type Wait } from './ledger.ts';
import { SimulatedOperators } from './operators.ts';
import type { Burst, Fault, Scenario, TopicKind } from './scenario.ts';
import { sendCall } from './send-call.ts';
import { VirtualTime, type SimulatedProcess } from './virtual-time.ts';

/** What came of a scenario. */
export interface Result {
  readonly violations: readonly Violation[];
  /** Of everything that happened: the same for the same scenario, to the byte. */
  readonly fingerprint: string;
  readonly calls: number;
  readonly attempts: number;
  readonly turns: number;
  readonly virtualMs: number;
  /** What of it was not left out. */
  readonly livedMs: number;
  /** From the end of the last trouble until nothing was left. */
  readonly settledMs: number;
}

/** What came of it, and how long the events of each destination took. */
export interface Simulated extends Result {
  readonly waits: ReadonlyMap<string, readonly PlacedWait[]>;
}

export interface PlacedWait extends Wait {
  /** The brokers that have the topics' partitions which its user's events go through, if all destinations share these. */
  readonly nodes: readonly number[];
}

export interface SimulateOptions {
  /** Told what happens, for people. */
  readonly tell?: (line: string) => void;
  /** It ends when all events of these destinations have come to an end. Default: all events, and all is committed. */
  readonly onlyFor?: readonly string[];
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const lookMs = 30 * secondMs;
/** What was refused is asked for again after half a minute at most, of time that is lived through. */
const refusedMs = 31 * secondMs;
/** The retry window, what is left of the longest tier behind it, and a margin. */
export const mostSettleMs: number = 5.5 * hourMs;

/** Runs a scenario. One at a time in a Node process: time is everybody's. */
export async function simulate(
  scenario: Scenario,
  { tell, onlyFor }: SimulateOptions = {},
): Promise<Simulated> {
  const time = new VirtualTime(scenario.seed, seededRandom);
  const say = (who: string, what: string): void => {
    tell?.(`${((time.nowMs - time.startMs) / secondMs).toFixed(3)} ${who}: ${what}`);
  };
  const violations: Violation[] = [];
  time.onUncaught = (error, owner) => {
    const stack = error instanceof Error ? error.stack : String(error);
    violations.push({
      rule: uncaughtRule,
      what: `${owner?.name ?? 'outside'}: ${stack ?? ''}`,
    });
  };
  let deployment: SimulatedDeployment | undefined;
  try {
    deployment = new SimulatedDeployment(time, scenario, (process) =>
      tell === undefined ? silentLogger : talking(process, say),
    );
    const { endpoints } = deployment;
    if (scenario.audience !== undefined)
      deployment.audience = new SimulatedAudience(deployment, scenario, scenario.audience, say);
    deployment.operators = new SimulatedOperators(deployment, scenario, say);
    const ledger = new Ledger(deployment);
    if (tell !== undefined)
      endpoints.onAttempt = ({ destinationId, messageId, process }) => {
        say(process.name, `attempts ${messageId} at ${destinationId}`);
      };
    const run = new Run(scenario, deployment, ledger, say);
    await ended(time, deployment.start());
    run.schedule();
    await time.pass(scenario.troubledMs);
    endpoints.healedMs = time.nowMs;
    await run.heal();
    await deployment.operators.finish();
    await deployment.audience?.syncLast();
    const healedMs = time.nowMs;
    const ids = scenario.destinations.map(({ id }) => id);
    while (time.nowMs < healedMs + mostSettleMs) {
      await time.pass(lookMs);
      ledger.readLogs();
      const isOver =
        onlyFor === undefined
          ? ledger.open(ids).length === 0 && ledger.uncommitted().length === 0
          : ledger.open(onlyFor).length === 0;
      if (isOver) break;
    }
    const settledMs = time.nowMs - healedMs;
    violations.push(...judge({ scenario, deployment, ledger, settledMs }));
    return {
      violations,
      fingerprint: fingerprintOf(deployment, ledger),
      calls: ledger.calls.size,
      attempts: endpoints.attempts.length,
      turns: time.turns,
      virtualMs: time.nowMs - time.startMs,
      livedMs: time.livedMs,
      settledMs,
      waits: placedWaits(ids, ledger, deployment),
    };
  } finally {
    deployment?.audience?.close();
    time.close();
  }
}

/** Brings about what a scenario says. */
class Run {
  readonly #scenario: Scenario;
  readonly #deployment: SimulatedDeployment;
  readonly #ledger: Ledger;
  readonly #say: (who: string, what: string) => void;
  /** Of its own, so that runs of a scenario that are compared have the same users. */
  readonly #userChance: () => number;
  #messages = 0;
  #changes = 0;

  constructor(
    scenario: Scenario,
    deployment: SimulatedDeployment,
    ledger: Ledger,
    say: (who: string, what: string) => void,
  ) {
    this.#scenario = scenario;
    this.#deployment = deployment;
    this.#ledger = ledger;
    this.#say = say;
    this.#userChance = seededRandom(scenario.seed ^ 0xca11);
  }

  schedule(): void {
    for (const burst of this.#scenario.bursts) this.#scheduleBurst(burst);
    this.#deployment.audience?.schedule();
    const { time } = this.#deployment;
    for (const fault of this.#scenario.faults)
      time.after(fault.atMs, () => {
        this.#say('world', JSON.stringify(fault));
        this.#bringAbout(fault);
      });
  }

  /** Whatever is wrong ends. */
  async heal(): Promise<void> {
    const { brokers, time } = this.#deployment;
    this.#say('world', 'all is well');
    brokers.weather = fairWeather;
    for (const nodeId of brokers.nodes.keys()) brokers.setNode(nodeId, 'up');
    if (brokers.withheld.size > 0) time.liveThrough(refusedMs);
    brokers.withheld.clear();
    brokers.unwritable.clear();
    this.#deployment.reconnect();
    await time.pass(minuteMs);
  }

  #scheduleBurst({ atMs, calls, perSecond }: Burst): void {
    const { time } = this.#deployment;
    for (let n = 0; n < calls; n += 1)
      time.after(Math.min(atMs + (n * secondMs) / perSecond, this.#scenario.troubledMs), () => {
        void this.#call();
      });
  }

  async #call(): Promise<void> {
    const user = `u${Math.floor(this.#scenario.users * this.#userChance() ** 3)}`;
    this.#messages += 1;
    const messageId = await sendCall(this.#deployment, this.#ledger, this.#messages, user);
    this.#say('outside', `${messageId} of ${user} is accepted`);
  }

  #bringAbout(fault: Fault): void {
    const { time, brokers } = this.#deployment;
    const deployment = this.#deployment;
    switch (fault.kind) {
      case 'kill':
        deployment.kill(fault.role, fault.index, fault.backAfterMs);
        return;
      case 'restart':
        deployment.restart(fault.role, fault.index);
        return;
      case 'suspend': {
        const process = deployment.processOf(fault.role, fault.index);
        if (process !== undefined)
          process.suspendedUntilMs = Math.max(process.suspendedUntilMs, time.nowMs + fault.forMs);
        time.happened();
        return;
      }
      case 'cut off': {
        const process = deployment.processOf(fault.role, fault.index);
        if (process === undefined) return;
        const cutOff = { node: fault.node, breaks: fault.breaks };
        process.cutOff = cutOff;
        time.happened();
        time.after(fault.forMs, () => {
          if (process.cutOff === cutOff) process.cutOff = undefined;
        });
        return;
      }
      case 'take right away': {
        const topic = this.#topicOf(fault.topic);
        brokers.withheld.add(topic);
        time.happened();
        time.after(fault.forMs, () => {
          brokers.withheld.delete(topic);
          time.liveThrough(refusedMs);
        });
        return;
      }
      case 'unwritable':
        this.#makeUnwritable(fault);
        return;
      case 'set clock': {
        const process = deployment.processOf('worker', fault.index);
        if (process !== undefined) process.clockSetByMs = fault.byMs;
        return;
      }
      case 'scale up': {
        const index = this.#scenario.workers;
        if (deployment.processOf('worker', index) !== undefined) return;
        deployment.add('worker', index);
        time.after(fault.forMs, () => {
          deployment.remove('worker', index);
        });
        return;
      }
      case 'broker': {
        const others = [...brokers.nodes].filter(([id]) => id !== fault.node);
        if (others.some(([, state]) => state !== 'up')) return;
        brokers.setNode(fault.node, fault.state, fault.withRack);
        time.after(fault.forMs, () => {
          brokers.setNode(fault.node, 'up');
        });
        return;
      }
      case 'move leaders':
        for (const { partitions } of brokers.topics.values())
          for (const partition of partitions)
            if (brokers.chance(0.5)) brokers.moveLeader(partition);
        return;
      case 'weather':
        brokers.weather = fault.weather;
        time.after(fault.forMs, () => {
          brokers.weather = fairWeather;
        });
        return;
      case 'change': {
        const plan = this.#scenario.destinations[fault.destination];
        this.#changes += 1;
        if (plan !== undefined) void deployment.configure(plan, this.#changes);
        return;
      }
      case 'apply again':
        for (let afterMs = 0; afterMs < fault.forMs; afterMs += fault.eachMs)
          time.after(afterMs, () => {
            for (const plan of this.#scenario.destinations) void deployment.configure(plan, 0);
          });
        return;
      case 'pause':
      case 'redrive':
      case 'retry':
        deployment.operators?.perform(fault);
        return;
      case 'delete user':
        void this.#deleteUser(`u${fault.user}`);
    }
  }

  #makeUnwritable({ destination, how, forMs }: Extract<Fault, { kind: 'unwritable' }>): void {
    const { time, brokers, topology } = this.#deployment;
    const plan = this.#scenario.destinations[destination];
    if (plan?.dedicatedPartitions === undefined) return;
    const { name } = topology.dedicatedTopic(plan.id);
    time.happened();
    const later = (mend: () => void): void => {
      time.after(forMs, () => {
        mend();
        time.happened();
        time.liveThrough(refusedMs);
      });
    };
    switch (how) {
      case 'was deleted':
        this.#ledger.loses(name);
        brokers.deleteTopic(name);
        later(() => {
          this.#deployment.makeDedicatedTopic(plan);
        });
        return;
      case 'no right':
        brokers.unwritable.add(name);
        later(() => brokers.unwritable.delete(name));
        return;
      case 'no leader': {
        const partition = brokers.topics.get(name)?.partitions[0];
        partition?.loseLeader();
        later(() => partition?.elect(brokers.isUp));
      }
    }
  }

  #topicOf(kind: TopicKind): string {
    const { topology } = this.#deployment;
    if (kind !== 'retry') return topology.topics[kind];
    return topology.retryTopic(Math.min(...topology.retryTiersMs));
  }

  async #deleteUser(userId: string): Promise<void> {
    const { time, topology } = this.#deployment;
    const fromMs = time.nowMs;
    const deletion = { sourceId: 'shop', userId, time: new Date(fromMs).toISOString() };
    await this.#deployment.write(deletionRecord(topology.topics.deletions, deletion));
    const known = this.#ledger.deletions.get(userId) ?? [];
    this.#ledger.deletions.set(userId, [...known, { fromMs, ackMs: time.nowMs }]);
  }
}

function placedWaits(
  ids: readonly string[],
  ledger: Ledger,
  { brokers, topology, time }: SimulatedDeployment,
): Map<string, PlacedWait[]> {
  const { ingest, delivery } = topology.topics;
  const shared = [ingest, delivery].map((topic) => brokers.topics.get(topic)?.partitions ?? []);
  const place = ({ user, fromMs, forMs }: Wait): PlacedWait => ({
    user,
    fromMs: fromMs - time.startMs,
    forMs,
    nodes: shared.flatMap((of) => of[partitionOf(user, of.length)]?.replicas ?? []),
  });
  return new Map(ids.map((id) => [id, ledger.waits(id).map(place)]));
}

/** Lets time pass until the work is done. */
async function ended(time: VirtualTime, work: Promise<unknown>): Promise<void> {
  let isDone = false;
  void work.then(() => (isDone = true));
  await time.passUntil(() => isDone, hourMs);
}

function talking(process: SimulatedProcess, say: (who: string, what: string) => void): Logger {
  const line = (fields: object, message: string): void => {
    say(process.name, `${message} ${JSON.stringify(fields)}`);
  };
  const log: Logger = {
    debug: () => undefined,
    info: line,
    warn: line,
    error: line,
    child: () => log,
  };
  return log;
}

function fingerprintOf(
  { endpoints, operators, time }: SimulatedDeployment,
  { calls, letters }: Ledger,
): string {
  const hash = createHash('sha256');
  for (const { messageId, acceptedMs } of calls.values())
    hash.update(`${messageId} ${acceptedMs ?? 0}\n`);
  for (const { url, messageId, atMs, isTaken, process } of endpoints.attempts)
    hash.update(`${url} ${messageId} ${atMs} ${isTaken} ${process.name}\n`);
  for (const [name, { reason }] of letters) hash.update(`${name} ${reason}\n`);
  for (const { name, fromMs, untilMs, end } of operators?.runs ?? [])
    hash.update(`${name} ${fromMs} ${untilMs} ${end}\n`);
  return hash.update(`${time.turns} ${time.nowMs}`).digest('hex').slice(0, 16);
}
