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
  'src/delivery/lane/rate-limit.ts LaneRate.turnMs: 0 → 1': {
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
  'src/delivery/lane/slots.ts ConcurrencyLimit.tick: return; → ;': {
    kind: 'equivalent',
    why: 'A new beginning has just set the count of answers to 0, and the next line returns where there are fewer than twenty.',
  },
  'src/delivery/lane/slot-pool.ts SlotPool.#briskNow: false → true': {
    kind: 'equivalent',
    why: 'A lane starts out as not slow, so the first that asks for a slot sets it anyway; before that no slot is taken, and it limits nobody.',
  },
  'src/kafka/consume/assigner.ts shareIndices: 1 → 2 (2)': {
    kind: 'equivalent',
    why: 'It is what a comparator returns, and sorting looks only at its sign.',
  },
  'src/kafka/consume/membership.ts Membership.#sessionEnds: 0 → 1': {
    kind: 'equivalent',
    why: 'Node.js takes every timeout below 1 ms for 1 ms.',
  },
  'src/kafka/fetch/cursor.ts Cursor.leaderEpoch: 1 → 0': {
    kind: 'equivalent',
    why: 'A cursor is asked for only once its leader is known, and whoever sets the leader sets its epoch in the same step; nothing reads the first value.',
  },
  'src/kafka/fetch/cursor.ts Cursor.leaderEpoch: 1 → 2': {
    kind: 'equivalent',
    why: 'A cursor is asked for only once its leader is known, and whoever sets the leader sets its epoch in the same step; nothing reads the first value.',
  },
  "src/delivery/disposal.ts Disposal.#lastAnswer: outcome.kind === 'retryable' → true": {
    kind: 'equivalent',
    why: 'It is for the compiler: an outcome of the other kind has no such time.',
  },
  'src/kafka/produce/accumulator.ts Accumulator.settle: this.bytes < maxQueuedBytes → this.bytes <= maxQueuedBytes':
    {
      kind: 'accepted',
      why: 'Whoever waits for room goes on at the limit, and not one byte below it.',
    },
  'src/kafka/produce/flush-line.ts module: 500 → 501': {
    kind: 'accepted',
    why: 'A request may hold one more record of a partition. The number is a choice, and a test of it would repeat it.',
  },
  'src/delivery/lane/slot-pool.ts SlotPool.release: this.#slowLine.size > 0 || this.#isBriskWaiting → true':
    {
      kind: 'equivalent',
      why: 'Where nobody waits in a line, serving does nothing.',
    },
  'src/kafka/consume/intake.ts Intake.#onSettled: !this.#isClosing && partition.isFull → !this.#isClosing || partition.isFull':
    {
      kind: 'equivalent',
      why: 'It pauses what is paused, or resumes what is read, once more.',
    },
  'src/kafka/produce/outgoing-batch.ts OutgoingBatch.split: this.#parts.shift() ?? [] → this.#parts.shift()':
    {
      kind: 'equivalent',
      why: 'A batch that Kafka answered has a part, so there is always one to take.',
    },
  'src/delivery/lane/endpoints.ts LaneEndpoints.send: continue; → ;': {
    kind: 'equivalent',
    why: 'It is for the compiler: no place within the length of the list is empty.',
  },
  'src/kafka/consume/membership.ts Membership.leave: await this.#work → (this.#work)': {
    kind: 'accepted',
    why: 'A request to the group that is under way at a stop ends a moment after it.',
  },
  'src/kafka/fetch/fetcher.ts Fetcher.#judge: 0 → 1': {
    kind: 'equivalent',
    why: 'A topic is added once more, which changes nothing; one that was refused once is there already, or nothing reads it any more.',
  },
  'src/delivery/lane/lane.ts Lane.rest: this.#wasUsed || this.isActive → this.#wasUsed && this.isActive':
    {
      kind: 'accepted',
      why: 'A lane rests a second or two earlier. It wakes when it is used, and the figures that it reports are worked out when they are read.',
    },
  'src/delivery/lane/slots.ts module: 3 → 2': {
    kind: 'accepted',
    why: 'A fresh record waits for two that have come back instead of three. The number is a choice, and a test of it would repeat it.',
  },
  'src/kafka/produce/flush-line.ts FlushLine.#take: bytes >= fullFlush.bytes → bytes > fullFlush.bytes':
    {
      kind: 'accepted',
      why: 'A flush that is full to the byte takes one more partition.',
    },
  'src/kafka/consume/owned-partition.ts Account.finish: return; → ;': {
    kind: 'accepted',
    why: 'A record that is finished twice counts twice towards the next commit, which then comes a little earlier.',
  },
  'src/kafka/fetch/fetcher.ts Fetcher.#handOver: this.#stretch = 0; → ;': {
    kind: 'accepted',
    why: 'After a while, others have a turn after each piece, which is more often than they need.',
  },
  'src/delivery/disposal.ts Disposal.awaitNewerRelease: claim.lost || this.#closed → claim.lost && this.#closed':
    {
      kind: 'equivalent',
      why: 'What is lost, and everything at a stop, is given up before it is due, so none of it comes here.',
    },
  'src/delivery/disposal.ts Disposal.awaitNewerRelease: return; → ;': {
    kind: 'equivalent',
    why: 'What is lost, and everything at a stop, is given up before it is due, so none of it comes here.',
  },
  'src/kafka/consume/consume-loop.ts GroupConsumeLoop.stop: this.#committer.stop(); → ;': {
    kind: 'accepted',
    why: 'A commit that is due within 0.2 s of the last one is refused, because the member has left, or finds its connections closed.',
  },
  'src/kafka/follow/follower.ts TopicFollower.pause: cursor !== undefined → true': {
    kind: 'accepted',
    why: 'A cursor is missing for a moment after its topic was made again, and only the index of the console pauses a follower.',
  },
  "src/kafka/consume/commit-metadata.ts encodeCommitMetadata: ['', ''] → []": {
    kind: 'equivalent',
    why: 'What is undefined is joined as an empty text.',
  },
  'src/kafka/follow/witnesses.ts areConfirmed: partitions[partition]?.epoch → partitions[partition].epoch':
    {
      kind: 'accepted',
      why: 'Where a witness knows of a partition more, which is so for a moment when partitions are added, it is not believed.',
    },
  'src/delivery/lane/slots.ts module: 20 → 19': {
    kind: 'accepted',
    why: 'One answer fewer is a sample. The number is a choice, and a test of it would repeat it.',
  },
  'src/kafka/consume/membership.ts Membership.#countPartitions: count < (this.#assignedCounts?.get(topic) ?? 0) → count <= (this.#assignedCounts?.get(topic) ?? 0)':
    {
      kind: 'accepted',
      why: 'At each rebalance a broker is asked a second time how many partitions there are.',
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
