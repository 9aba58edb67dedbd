import type { Fence, FencedBy } from '../resources/fence/fence.ts';
import type { DeliveryEvents } from './events.ts';
import type { Job } from './job.ts';

/** Keeps what was sent before a user was deleted from his receivers. */
export class Fencing {
  readonly #fence: Fence;
  readonly #events: DeliveryEvents;
  #isStale = false;

  constructor(fence: Fence, events: DeliveryEvents) {
    this.#fence = fence;
    this.#events = events;
  }

  /**
   * False while a deletion may be unknown here: nothing may be sent then. So once a deletion is 2 s old, no
   * request begins for an older event of that user, and a notification that comes after one more timeout
   * finds none on its way.
   */
  isFresh(): boolean {
    const isFresh = this.#fence.isFresh();
    if (isFresh === this.#isStale) {
      this.#isStale = !isFresh;
      this.#events.fenceChanged(isFresh);
    }
    return isFresh;
  }

  /** By which of its ids the job's user was deleted after its call; undefined: not deleted. */
  covers({ envelope, record }: Job): FencedBy | undefined {
    return this.#fence.covers(envelope, record.key);
  }
}
