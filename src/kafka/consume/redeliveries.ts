import { PartitionMap } from '../partition-map.ts';
import type { ConsumedRecord, RecordOwner } from './consumed-record.ts';

type Taken = Pick<ConsumedRecord, 'topic' | 'partition' | 'offset'> & {
  readonly owner: Pick<RecordOwner, 'tracker'>;
};
type Tracker = RecordOwner['tracker'];

/**
 * Counts records that come again although this process had finished them: their partition moved away, or its
 * offset was moved back, before they were committed. Former accounts are kept until the partition has passed
 * them. Records that another process finished, or this one before a restart, are not counted.
 */
export class Redeliveries {
  readonly #partitions = new PartitionMap<{ current: Tracker; former: Tracker[] }>();

  /** The number of these new records of one partition, in offset order, that were finished before. */
  count(records: readonly Taken[]): number {
    const first = records[0];
    if (first === undefined) return 0;
    const { tracker } = first.owner;
    const known = this.#partitions.get(first.topic, first.partition);
    if (known === undefined) this.#partitions.set(first, { current: tracker, former: [] });
    if (known === undefined) return 0;
    if (known.current !== tracker) {
      known.former.push(known.current);
      known.current = tracker;
    }
    if (known.former.length === 0) return 0;
    known.former = known.former.filter(({ next }) => next > first.offset);
    return records.filter(({ offset }) => known.former.some((each) => each.hasFinished(offset)))
      .length;
  }
}
