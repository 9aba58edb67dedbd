import type { Finding } from './find.ts';

/** Why nothing finds a mutant. */
export interface Reason {
  /** `equivalent`: nobody can see a difference. `accepted`: there is one, and nothing looks for it. */
  readonly kind: 'equivalent' | 'accepted';
  readonly why: string;
}

const reasons: Readonly<Record<string, Reason>> = {
  'src/delivery/bundle/bundle.ts Bundle.of: bytes === undefined → false': {
    kind: 'equivalent',
    why: 'A header that is missing is taken for one that cannot be parsed, and is no bundle either way.',
  },
  'src/delivery/bundle/bundle.ts Bundle.#events: value === null → false': {
    kind: 'equivalent',
    why: 'The engine gives up a record without a value before it unpacks anything.',
  },
  'src/delivery/lane/deferral.ts module: 512 → 513': {
    kind: 'accepted',
    why: 'One more event may wait for a rate limit. The number is a choice, and a test of it would repeat it.',
  },
  'src/delivery/lane/rate.ts LaneRate.turnMs: 0 → 1': {
    kind: 'equivalent',
    why: 'Without a limit here, this time only chooses a retry tier, and no tier is shorter than 1 ms; a reservation then does nothing.',
  },
  'src/kafka/consume/intake.ts Intake.#isPlaced: false → true': {
    kind: 'equivalent',
    why: 'It is read only by a member, and the assignment that makes it a member sets it to false in the same step.',
  },
  'src/kafka/consume/intake.ts Intake.#placeAt: former.onSettled = undefined; → ;': {
    kind: 'equivalent',
    why: 'A late record of the old account only makes the intake look again at the present one, of which every change was seen.',
  },
  'src/kafka/consume/membership.ts Membership.#look: nowMs - this.#lookedAtMs < lookMs → nowMs - this.#lookedAtMs <= lookMs':
    {
      kind: 'accepted',
      why: 'When two seconds have passed to the microsecond, new topics are looked for one second later.',
    },
  'src/kafka/produce/outgoing-batch.ts OutgoingBatch.split: 2 → 3': {
    kind: 'equivalent',
    why: 'The parts are of other sizes. Each is split again until Kafka takes it or one record is left.',
  },
  'src/kafka/produce/sender.ts Sender.#elsewhere: await this.#later(later, failures) → (this.#later(later, failures))':
    {
      kind: 'equivalent',
      why: 'No caller waits for the promise, and nothing follows in it.',
    },
};

/** @param id of a mutant */
export function reasonOf(id: string): Reason | undefined {
  return reasons[id];
}

/** Ids of mutants that have a reason and are found. */
export function unusedReasons(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ by, mutant }) => by !== 'nothing' && reasonOf(mutant.id) !== undefined)
    .map(({ mutant }) => mutant.id);
}
