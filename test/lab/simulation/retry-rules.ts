import type { RetryRules } from '../../../src/resources/resource.ts';
import { seededRandom } from '../../delivery/simulated-clock.ts';
import { diceOf } from './dice.ts';
import type { DestinationPlan, EndpointPlan, Scenario, Trouble } from './scenario.ts';

const ruledShare = 1 / 3;

/** Destinations whose own rules say which answers are tried again, for how long, and how long an attempt may take. */
export function withRetryRules(scenario: Scenario): Scenario {
  // Of its own chance, so that all else stays as it is.
  const random = seededRandom(scenario.seed * 86_028_121 + 17);
  if (random() >= ruledShare) return scenario;
  const { oneOf, chance } = diceOf(random);
  const rules = ({ urls }: DestinationPlan): RetryRules => {
    const on = oneOf<number[] | undefined>([undefined, [422], [422, 503], [429]]);
    const giveUpOn = oneOf<number[] | undefined>([undefined, [503], [500], [500, 503]]);
    const given = giveUpOn?.filter((status) => on?.includes(status) !== true) ?? [];
    const window = oneOf([undefined, '30m', '1h', '2h', '4h']);
    // Longer than its endpoints take for their work.
    const isSlow = urls.some(({ latencyMs: [, most] }) => most > 900);
    const timeout = oneOf(isSlow ? [undefined, '4s'] : [undefined, '1s', '3s']);
    return {
      ...(on === undefined ? {} : { on }),
      ...(given.length === 0 ? {} : { giveUpOn: given }),
      ...(window === undefined ? {} : { window }),
      ...(timeout === undefined ? {} : { timeout }),
    };
  };
  const destinations = scenario.destinations.map((each) =>
    chance(0.7) ? { ...each, retry: rules(each) } : each,
  );
  return { ...scenario, destinations };
}

/** The status that a troubled endpoint answers with, if it answers. */
const statuses: Partial<Record<Trouble['kind'], number>> = {
  'answers 503': 503,
  'answers 429': 429,
  'answers 422': 422,
  flaps: 500,
  'fails some': 500,
  'refuses some': 422,
};

/** An endpoint of the destination may have given this answer, and by its rules it is final. */
export function mayBeRefused({ urls, retry = {} }: DestinationPlan, status: number): boolean {
  const { on = [], giveUpOn = [] } = retry;
  const isFinal = giveUpOn.includes(status) || (status === 422 && !on.includes(status));
  return isFinal && urls.some((url) => mayAnswer(url, status));
}

function mayAnswer({ troubles, goneFromMs, gone }: EndpointPlan, status: number): boolean {
  if (goneFromMs !== undefined && gone === undefined && status === 503) return true;
  return troubles.some(({ kind }) => statuses[kind] === status);
}
