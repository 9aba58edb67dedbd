import type { Fence } from '../resources/fence/fence.ts';
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

  /** True if the job's user was deleted after its call: it is done with. */
  drop(job: Job): boolean {
    const fencedBy = this.#fence.covers(job.envelope, job.record.key);
    if (fencedBy === undefined) return false;
    this.#events.fenced(job, fencedBy);
    job.record.finish();
    return true;
  }
}
