import { seededRandom } from '../../delivery/simulated-clock.ts';
import { diceOf } from './dice.ts';
import type { AudiencePlan, SyncPlan } from './scenario.ts';

const secondMs = 1_000;
/** DuckDB takes twice as long for a few syncs as all the rest of a scenario. */
const audienceShare = 1 / 50;
const audienceUsers = 12;

/** Some syncs near one another and near what goes wrong, so that they meet, and are cut off. */
export function makeAudience(seed: number, at: () => number): AudiencePlan | undefined {
  // Of its own chance, so that all else stays as it is.
  const random = seededRandom(seed * 104_729 + 7);
  const { chance } = diceOf(random);
  if (!chance(audienceShare)) return undefined;
  const everyone = Array.from({ length: audienceUsers }, (_, index) => index);
  let members = everyone;
  const times: number[] = [];
  while (times.length < 4) {
    const atMs = at();
    times.push(atMs);
    if (chance(0.4)) times.push(atMs + Math.floor(random() ** 2 * 2 * secondMs));
  }
  const syncs = times
    .toSorted((a, b) => a - b)
    .map((atMs): SyncPlan => {
      const turned = (index: number): boolean => members.includes(index) !== chance(0.3);
      members = everyone.filter(turned);
      const killedAfterMs = chance(0.4) ? Math.floor(random() ** 2 * 3 * secondMs) : undefined;
      return { atMs, members, killedAfterMs };
    });
  return { changesPerTransaction: chance(0.7) ? 1 : 1_000, keepsCheckpoint: chance(0.5), syncs };
}
