import type { Fence, FencedBy } from '../resources/fence/fence.ts';
import type { DeliveryEvents } from './events.ts';
import type { Job } from './job.ts';

/** Stops events from before a user's deletion, so that receivers do not get them. */
export class Fencing {
  readonly #fence: Fence;
  readonly #events: DeliveryEvents;
  #isStale = false;

  constructor(fence: Fence, events: DeliveryEvents) {
    this.#fence = fence;
    this.#events = events;
  }

  /**
   * False while this worker may have missed a deletion for longer than `DELETION_DELAY`; nothing may be sent then. So
   * once a deletion is that old, no request starts for an older event of that user, and when a notification comes one
   * timeout later, none is in flight.
   */
  isFresh(): boolean {
    const isFresh = this.#fence.isFresh();
    if (isFresh === this.#isStale) {
      this.#isStale = !isFresh;
      this.#events.fenceChanged(isFresh);
    }
    return isFresh;
  }

  /** The id of the event that was deleted after its call; undefined if none was. */
  covers({ envelope, record }: Job): FencedBy | undefined {
    return this.#fence.covers(envelope, record.key);
  }
}
