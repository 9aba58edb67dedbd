import { seededRandom } from '../../delivery/simulated-clock.ts';
import { diceOf } from './dice.ts';
import type { Aftermath, Rule } from './invariants.ts';
import { eventsIn, type LoggedEvent } from './read-log.ts';
import type { DestinationPlan, Scenario } from './scenario.ts';

const orderedShare = 1 / 4;
const minuteMs = 60_000;

/**
 * Some destinations want each user's events strictly in order, and fail some of them, near calls: what fails for one user
 * opens no breaker, behind which nobody could be overtaken.
 */
export function withOrder(scenario: Scenario): Scenario {
  const { seed, bursts, destinations, troubledMs } = scenario;
  // Of its own chance, so that all else stays as it is.
  const random = seededRandom(seed * 67_867_967 + 17);
  if (random() >= orderedShare) return scenario;
  const { whole, oneOf, chance } = diceOf(random);
  const strict = (plan: DestinationPlan): DestinationPlan => {
    if (!chance(0.6)) return plan;
    const fromMs = oneOf(bursts).atMs;
    const untilMs = Math.min(fromMs + whole(1, 60) * minuteMs, troubledMs);
    const fails = { kind: 'fails some', fromMs, untilMs } as const;
    return {
      ...plan,
      dedicatedPartitions: whole(1, 3),
      orderForMs: oneOf([1, 10, 30]) * minuteMs,
      // One that is gone for good holds each event of a user for `orderFor`, one after the other: for days.
      urls: plan.urls.map((url) => ({
        ...url,
        goneFromMs: undefined,
        troubles: [...url.troubles, fails],
      })),
    };
  };
  return { ...scenario, destinations: destinations.map(strict) };
}

export const orderRules: Readonly<Record<string, Rule>> = {
  'with strict order, no event overtakes an earlier one of its user': function* (aftermath) {
    for (const { id, orderForMs } of aftermath.scenario.destinations) {
      if (orderForMs === undefined) continue;
      const { lines, releasedMs } = linesOf(aftermath, id);
      const { firstTakenMs } = aftermath.deployment.endpoints;
      for (const line of lines.values())
        for (const [index, later] of line.entries()) {
          const takenMs = firstTakenMs.get(`${id} ${later}`);
          if (takenMs === undefined) continue;
          const overtaken = line.slice(0, index).find((earlier) => {
            const outMs = Math.min(
              firstTakenMs.get(`${id} ${earlier}`) ?? Infinity,
              releasedMs.get(earlier) ?? Infinity,
            );
            return outMs > takenMs;
          });
          if (overtaken !== undefined) yield `${later} to ${id} before ${overtaken}`;
        }
    }
  },

  'with strict order, an event keeps its place for orderFor': function* (aftermath) {
    const { deployment, scenario } = aftermath;
    for (const { id, orderForMs } of scenario.destinations) {
      if (orderForMs === undefined) continue;
      const firstMs = new Map<string, number>();
      for (const { destinationId, messageId, atMs } of deployment.endpoints.attempts)
        if (destinationId === id && !firstMs.has(messageId)) firstMs.set(messageId, atMs);
      const { retriedMs, elsewhere } = linesOf(aftermath, id);
      for (const [messageId, atMs] of retriedMs) {
        if (elsewhere.has(messageId)) continue;
        const keptForMs = atMs - (firstMs.get(messageId) ?? Infinity);
        if (!(keptForMs >= orderForMs)) yield `${messageId} to ${id} left after ${keptForMs} ms`;
      }
    }
  },
};

interface Lines {
  /** The messages of each user in each partition of the destination's topic, in order. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
  /** When a message was first given up, kept, or written to a retry topic. */
  readonly releasedMs: ReadonlyMap<string, number>;
  readonly retriedMs: ReadonlyMap<string, number>;
  /** Messages that went through the shared topic, because nobody could write to the dedicated one. */
  readonly elsewhere: ReadonlySet<string>;
}

function linesOf({ deployment, ledger }: Aftermath, destinationId: string): Lines {
  const { topology, brokers } = deployment;
  const inTopic = (topic: string): { event: LoggedEvent; partition: number }[] =>
    (brokers.topics.get(topic)?.partitions ?? []).flatMap((partition) =>
      eventsIn(partition)
        .filter(({ envelope }) => envelope.destinationId === destinationId)
        .map((event) => ({ event, partition: partition.index })),
    );
  const firstIn = (topics: readonly string[]): Map<string, number> => {
    const times = new Map<string, number>();
    for (const { event } of topics.flatMap(inTopic)) {
      const { messageId } = event.envelope;
      times.set(messageId, Math.min(times.get(messageId) ?? Infinity, event.timestampMs));
    }
    return times;
  };
  const { delivery, deadLetter, paused } = topology.topics;
  const retries = topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs));
  const elsewhere = new Set(firstIn([delivery]).keys());
  const lines = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const { event, partition } of inTopic(topology.dedicatedTopic(destinationId).name)) {
    const { messageId } = event.envelope;
    const call = ledger.calls.get(messageId);
    if (seen.has(messageId) || elsewhere.has(messageId)) continue;
    seen.add(messageId);
    // What is dropped for a deleted user holds nobody up.
    if (call === undefined || ledger.wasDeleted(call)) continue;
    const name = `${call.user} ${partition}`;
    const line = lines.get(name);
    if (line === undefined) lines.set(name, [messageId]);
    else line.push(messageId);
  }
  return {
    lines,
    releasedMs: firstIn([...retries, deadLetter, paused]),
    retriedMs: firstIn(retries),
    elsewhere,
  };
}
