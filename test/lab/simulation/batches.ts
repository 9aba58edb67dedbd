import { seededRandom } from '../../delivery/simulated-clock.ts';
import { outcomeOfResults } from '../../../src/delivery/batch/results.ts';
import { outcomeOfStatus, type AnswerRules, type Outcome } from '../../../src/delivery/outcome.ts';
import { diceOf } from './dice.ts';
import type { Attempt } from './endpoints.ts';
import type { Rule } from './invariants.ts';
import type { DestinationPlan, EndpointPlan, Scenario } from './scenario.ts';

const batchedShare = 1 / 3;
const minuteMs = 60_000;

/** Destinations that get batches, at endpoints that refuse some events, or fail because of some. */
export function withBatches(scenario: Scenario): Scenario {
  const { seed, bursts, destinations, troubledMs } = scenario;
  // Of its own chance, so that all else stays as it is.
  const random = seededRandom(seed * 32_452_843 + 5);
  if (random() >= batchedShare) return scenario;
  const { whole, oneOf, chance } = diceOf(random);
  const batched = (plan: DestinationPlan): DestinationPlan => {
    if (!chance(0.7)) return plan;
    const fromMs = oneOf(bursts).atMs;
    const untilMs = Math.min(fromMs + whole(1, 60) * minuteMs, troubledMs);
    const kind = oneOf(['refuses some', 'refuses some', 'fails some', undefined] as const);
    const troubles = kind === undefined ? [] : [{ kind, fromMs, untilMs }];
    const withBatch = (url: EndpointPlan): EndpointPlan => ({
      ...url,
      tellsApart: chance(0.4),
      troubles: [...url.troubles, ...troubles],
    });
    return {
      ...plan,
      batch: {
        events: oneOf([2, 7, 20, 100]),
        wait: oneOf(['0s', '1s', '10s']),
        bytes: oneOf(['1KB', '256KB']),
      },
      urls: plan.urls.map(withBatch),
    };
  };
  return { ...scenario, destinations: destinations.map(batched) };
}

/** Each eighth message, whenever it comes. */
export function isOneOfSome(messageId: string): boolean {
  return Number(messageId.replace(/\D/g, '')) % 8 === 1;
}

/** The answer of an endpoint that says of each event of a batch what became of it. */
export function answerApart(
  statuses: readonly number[],
  answerRules: AnswerRules | undefined,
): Outcome {
  const results = statuses.map((status) => ({ status }));
  const body = Buffer.from(JSON.stringify({ results }));
  return outcomeOfResults(207, statuses.length, body, { answerRules, keptAnswerBytes: 0 });
}

/** The answer of an endpoint that says nothing of single events. */
export function answerTogether(status: number, rules: AnswerRules | undefined): Outcome {
  return outcomeOfStatus(status, undefined, 0, undefined, rules);
}

export const batchRules: Readonly<Record<string, Rule>> = {
  'two batches in flight never hold the same user': function* ({ scenario, deployment, ledger }) {
    // What a process has in flight of a partition that it has lost, it may get again from that partition.
    if (scenario.faults.length > 0) return;
    for (const { id, batch, rateLimit, urls } of scenario.destinations) {
      // What is put off comes back without its order.
      const isAlwaysTaken = urls.every(({ troubles, goneFromMs }) =>
        [...troubles.map(({ kind }) => kind), goneFromMs].every((kind) => kind === 'refuses some'),
      );
      if (batch === undefined || rateLimit !== undefined || !isAlwaysTaken) continue;
      const last = new Map<string, Attempt>();
      for (const attempt of deployment.endpoints.attempts) {
        if (attempt.destinationId !== id) continue;
        const user = `${attempt.url} ${ledger.calls.get(attempt.messageId)?.user ?? ''}`;
        const before = last.get(user);
        if (before !== undefined && before.sent !== attempt.sent && before.endedMs > attempt.atMs)
          yield `${attempt.messageId} to ${id} beside ${before.messageId}`;
        last.set(user, attempt);
      }
    }
  },

  'nothing that an endpoint takes is given up for the sake of another event': function* ({
    scenario,
    ledger,
  }) {
    for (const { id, urls } of scenario.destinations) {
      const troubles = urls.flatMap((url) => url.troubles);
      const isWell = urls.every(({ goneFromMs }) => goneFromMs === undefined);
      if (!isWell || !troubles.every(({ kind }) => kind === 'refuses some')) continue;
      for (const [name, { reason }] of ledger.letters) {
        const [destinationId, messageId = ''] = name.split(' ');
        if (destinationId === id && reason === 'http-422' && !isOneOfSome(messageId)) yield name;
      }
    }
  },
};
