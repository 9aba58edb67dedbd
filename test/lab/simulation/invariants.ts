import type { SimulatedDeployment } from './deployment.ts';
import { parseDuration } from '../../../src/duration.ts';
import { fenceMs } from '../../../src/resources/fence/fence.ts';
import { timeoutMs, type Attempt } from './endpoints.ts';
import type { Ledger } from './ledger.ts';
import { batchRules } from './batches.ts';
import { orderRules } from './strict-order.ts';
import { operatorRules } from './operator-rules.ts';
import { mayBeRefused } from './retry-rules.ts';
import { retryWindowMs } from './roles.ts';
import {
  deletionDelayMsOf,
  hidesKafka,
  type DestinationPlan,
  type EndpointPlan,
  type Fault,
  type Scenario,
} from './scenario.ts';

/** A promise that was broken. */
export interface Violation {
  readonly rule: string;
  readonly what: string;
}

export interface Aftermath {
  readonly scenario: Scenario;
  readonly deployment: SimulatedDeployment;
  readonly ledger: Ledger;
  /** From when all was well until nothing was left, or nobody waited any more. */
  readonly settledMs: number;
}

export type Rule = (aftermath: Aftermath) => Iterable<string>;

const mostNamed = 5;
/** An event is tried at least this often: the longest tier, its spread, and a deferral behind a breaker. */
const chanceMs = 90 * 60_000;
/** Several destinations with limits may share the window of a partition with others' retries. */
const mostLateMs = 90_000;
const expired: ReadonlySet<string> = new Set(['expired', 'expired-late']);

/** Everything that was promised, and is not so. */
export function judge(aftermath: Aftermath): Violation[] {
  return Object.entries(rules).flatMap(([rule, broken]) =>
    [...broken(aftermath)].slice(0, mostNamed).map((what) => ({ rule, what })),
  );
}

/** Not judged here: `simulate` sees it when it happens, and `neighboursHurt` compares. */
export const uncaughtRule = 'nothing is thrown that nobody catches';
export const neighbourRule = 'no destination waits longer because another is in trouble';

export const rules: Readonly<Record<string, Rule>> = {
  'every accepted event comes to an end': function* ({ scenario, ledger }) {
    ledger.readLogs();
    yield* ledger.open(scenario.destinations.map(({ id }) => id));
  },

  'everything that was read is finished and committed': function* ({ ledger }) {
    yield* ledger.uncommitted();
  },

  'nothing is sent that nobody has produced': function* ({ deployment, ledger }) {
    for (const { messageId } of deployment.endpoints.attempts)
      if (!ledger.calls.has(messageId)) yield messageId;
  },

  'nothing is sent after the deletion of its user': function* ({ scenario, deployment, ledger }) {
    // When `deleted` is told: no older event of the user may be in flight then.
    const deletionMs = fenceMs({
      deletionDelayMs: deletionDelayMsOf(scenario),
      deliveryTimeoutMs: timeoutMs,
    });
    for (const attempt of deployment.endpoints.attempts) {
      const call = ledger.calls.get(attempt.messageId);
      if (call?.acceptedMs === undefined) continue;
      const { acceptedMs } = call;
      const late = ledger.deletions
        .get(call.user)
        ?.find(({ fromMs, ackMs }) => acceptedMs < fromMs && attempt.atMs > ackMs + deletionMs);
      if (late !== undefined)
        yield `${named(attempt)} ${attempt.atMs - late.ackMs} ms after the deletion of ${call.user}`;
    }
  },

  'nothing is sent after its retry window': function* ({ scenario, deployment, ledger }) {
    // The window begins with the first attempt that somebody remembers, or when an event is first put off. What died
    // with its process, or was done by one that has lost its partition meanwhile, nobody does. A set clock moves its end.
    const laterMs = scenario.faults.reduce((sum, fault) => sum + beginsAnewAfterMs(fault), 0);
    const setBy = scenario.faults.some(({ kind }) => kind === 'set clock') ? 600_000 : 0;
    // A worker that has met only dead endpoints since its start takes its own network for the cause: no clock runs then.
    const unmetMs = scenario.day === undefined ? 0 : 300_000;
    for (const [, attempts] of byEvent(deployment.endpoints.attempts)) {
      const last = attempts.at(-1);
      // What is tried again after an endpoint has taken it is a copy, with a window of its own.
      const first = attempts[attempts.slice(0, -1).findLastIndex(({ isTaken }) => isTaken) + 1];
      if (first === undefined || last === undefined) continue;
      // What an operator sends again has a new one, which begins when that is first tried: its turn may come late.
      const again = ledger.sentAgain.copiesMs.get(`${last.destinationId} ${last.messageId}`) ?? [];
      const plan = scenario.destinations.find(({ id }) => id === last.destinationId);
      // With strict order, an event waits in its place, where nothing is written: who takes it next begins anew.
      const began =
        plan?.orderForMs === undefined
          ? first
          : (attempts.find(({ process }) => process === last.process) ?? first);
      const sentMs = Math.max(began.atMs, ...again.filter((atMs) => atMs <= last.atMs));
      const fromMs = attempts.find(({ atMs }) => atMs >= sentMs)?.atMs ?? sentMs;
      if (last.atMs - fromMs > windowMsOf(plan) + laterMs + setBy + unmetMs + 60_000)
        yield `${named(last)} ${last.atMs - fromMs} ms after its window began`;
    }
  },

  'no more of a destination is in flight than its limit': function* ({ scenario, deployment }) {
    const most = new Map(
      scenario.destinations.map(({ id, maxInFlight = 64, urls }) => [
        id,
        Math.min(maxInFlight, Math.max(1, scenario.maxInFlight / 4)) * urls.length,
      ]),
    );
    for (const attempt of deployment.endpoints.attempts)
      if (attempt.inFlight > Math.ceil(most.get(attempt.destinationId) ?? 0))
        yield `${named(attempt)} is one of ${attempt.inFlight}`;
  },

  'only what its endpoint refused, or failed for the whole window, is a dead letter': function* ({
    scenario,
    deployment: { time, endpoints },
    ledger,
  }) {
    for (const [name, { reason, redrivenMs }] of ledger.letters) {
      const [destinationId = '', messageId = ''] = name.split(' ');
      const beganMs = redrivenMs ?? ledger.calls.get(messageId)?.producedMs ?? time.startMs;
      const fromMs = beganMs - time.startMs;
      const destination = scenario.destinations.find(({ id }) => id === destinationId);
      const healedMs = endpoints.healedMs - time.startMs;
      const [, status] = /^http-(\d+)$/.exec(reason) ?? [];
      const isExplained =
        destination !== undefined &&
        (status === undefined
          ? expired.has(reason) && hadNoChance(destination, fromMs, healedMs)
          : mayBeRefused(destination, Number(status)));
      if (!isExplained) yield `${name} (${reason})`;
    }
  },

  'without faults, what was taken is not sent again': function* ({ scenario, deployment }) {
    if (scenario.faults.length > 0) return;
    const { destinations } = scenario;
    const batched = new Set(destinations.filter(({ batch }) => batch).map(({ id }) => id));
    const mayRepeat = new Set(
      destinations
        .filter(
          ({ urls }) =>
            urls.length > 1 ||
            urls.some(
              ({ troubles, goneFromMs }) =>
                troubles.some(({ kind }) => kind !== 'refuses some') || goneFromMs !== undefined,
            ),
        )
        .map(({ id }) => id),
    );
    for (const [, attempts] of byEvent(deployment.endpoints.attempts)) {
      // A batch that was refused for the sake of one event goes out again in halves.
      const isHalved = attempts.some(({ destinationId }) => batched.has(destinationId));
      const from = isHalved ? attempts.findIndex(({ isTaken }) => isTaken) : 0;
      const [first, second] = from < 0 ? [] : attempts.slice(from);
      if (first === undefined || second === undefined) continue;
      if (!mayRepeat.has(first.destinationId) && !isTooSlow(scenario, first)) yield named(second);
    }
  },

  'without faults, what is due is soon tried or put off again': function* ({ scenario, ledger }) {
    if (scenario.faults.length > 0 || scenario.maxInFlight < 1_024) return;
    // A destination's own limits let its events wait.
    for (const { id, maxInFlight, rateLimit, urls } of scenario.destinations) {
      if (maxInFlight !== undefined || rateLimit !== undefined) continue;
      if (urls.some(({ capacity, latencyMs: [, most] }) => capacity < 64 || most > 1_000)) continue;
      const late = ledger.latenessMs(id).filter((ms) => ms > mostLateMs);
      if (late.length > 0)
        yield `${late.length} of ${id}, at most ${Math.max(...late)} ms after their time`;
    }
  },

  'what is put off waits before it comes back': function* ({ ledger }) {
    // Crashes, suspended workers and clocks that are set leave copies at up to eight moments (seed 4944). There it is 18
    // where a worker goes by a clock of its own.
    const most = 12;
    for (const [name, count] of ledger.mostWithoutWaitInAMinute())
      if (count > most) yield `${name} at ${count} moments in a minute`;
  },

  'an audience tells of everyone who came or left, and once': function* ({ deployment, ledger }) {
    const { audience } = deployment;
    if (audience === undefined) return;
    if (audience.failure !== undefined) yield `the last sync ended with: ${audience.failure}`;
    const known = new Map<string, boolean>();
    for (const { user, isMember, messageId } of audience.told) {
      // Nothing more is said of whoever was deleted, until they have left and come again.
      if (ledger.deletions.has(user)) continue;
      if ((known.get(user) ?? false) === isMember) yield `${messageId} of ${user} says nothing new`;
      known.set(user, isMember);
    }
    const { lastMembers } = audience;
    const users = new Set([...known.keys(), ...lastMembers]);
    for (const user of users)
      if (!ledger.deletions.has(user) && known.get(user) !== lastMembers.has(user))
        yield `of ${user} it says ${known.get(user) ?? 'nothing'}`;
  },

  'no process ends by itself': function* ({ deployment, scenario }) {
    // Whoever starts while Kafka is away is told so, and ends.
    const mayNotStart = scenario.faults.some(({ kind }) => hidesKafka.has(kind));
    if (!mayNotStart) yield* deployment.crashes;
  },

  ...operatorRules,
  ...orderRules,
  ...batchRules,
};

/** How much later another process may make the first attempt that is remembered. */
function beginsAnewAfterMs(fault: Fault): number {
  if (fault.kind === 'kill') return fault.backAfterMs;
  return fault.kind === 'suspend' || fault.kind === 'cut off' ? fault.forMs : 0;
}

/** In its window, no endpoint was well for so long that the event must have been tried meanwhile. */
function hadNoChance(destination: DestinationPlan, fromMs: number, healedMs: number): boolean {
  const windowMs = windowMsOf(destination);
  return destination.urls.every(
    (url) =>
      isOverrun(url, destination) ||
      longestWellMs(url, fromMs, windowMs, healedMs) < Math.min(chanceMs, 0.9 * windowMs),
  );
}

function windowMsOf(destination: DestinationPlan | undefined): number {
  const ownMs = parseDuration(destination?.retry?.window ?? '') ?? retryWindowMs;
  return Math.min(ownMs, retryWindowMs);
}

/** The longest time within the retry window in which an endpoint was well. */
function longestWellMs(
  { troubles, goneFromMs = Infinity }: EndpointPlan,
  fromMs: number,
  windowMs: number,
  healedMs: number,
): number {
  const endMs = Math.min(fromMs + windowMs, goneFromMs);
  let longestMs = 0;
  let wellFromMs = fromMs;
  for (const trouble of troubles.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const beginsMs = Math.min(trouble.fromMs, healedMs, endMs);
    longestMs = Math.max(longestMs, beginsMs - wellFromMs);
    wellFromMs = Math.max(wellFromMs, Math.min(trouble.untilMs, healedMs));
  }
  return Math.max(longestMs, endMs - wellFromMs);
}

function byEvent(attempts: readonly Attempt[]): Map<string, Attempt[]> {
  const events = new Map<string, Attempt[]>();
  for (const attempt of attempts) {
    const name = `${attempt.url} ${attempt.messageId}`;
    const known = events.get(name);
    if (known === undefined) events.set(name, [attempt]);
    else known.push(attempt);
  }
  return events;
}

/** So many requests at once wait in it beyond their time, and it works on them all the same. */
function isOverrun(
  { capacity, latencyMs: [, most] }: EndpointPlan,
  { maxInFlight = 64, retry }: DestinationPlan,
): boolean {
  const ownMs = parseDuration(retry?.timeout ?? '') ?? timeoutMs;
  return maxInFlight * most > 2 * capacity * Math.min(ownMs, timeoutMs);
}

/** Its endpoint has so few places that requests wait in it beyond their time. */
function isTooSlow({ destinations }: Scenario, { url }: Attempt): boolean {
  const plan = destinations.flatMap(({ urls }) => urls).find((each) => url.startsWith(each.url));
  return (plan?.capacity ?? 0) < 64;
}

function named({ destinationId, messageId, process }: Attempt): string {
  return `${messageId} to ${destinationId} by ${process.name}`;
}
