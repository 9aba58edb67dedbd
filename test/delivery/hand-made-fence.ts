import type { Envelope } from '../../src/event/envelope.ts';
import { DeletedUsers } from '../../src/resources/fence/deleted-users.ts';
import { fencedBy, type Fence, type FencedBy } from '../../src/resources/fence/fence.ts';

/** A fence whose deletions, and what is known of them, the test decides. */
export class HandMadeFence implements Fence {
  /** Deletions of longer ago than `DELETION_DELAY` that are not known here. */
  unknown = 0;
  readonly #deleted = new DeletedUsers(Infinity);

  get size(): number {
    return this.#deleted.size;
  }

  delete(sourceId: string, userId: string, timeMs: number): void {
    this.#deleted.add(Buffer.from(`${sourceId}:${userId}`), timeMs);
  }

  covers(envelope: Envelope, key: Buffer | null): FencedBy | undefined {
    return fencedBy(envelope, key, this.#deleted);
  }

  isFresh(): boolean {
    return this.unknown === 0;
  }
}
