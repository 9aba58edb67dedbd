import { identityText, type Identity } from '../event/uid.ts';

/** What was sent, or is to be sent, to a destination. */
export interface SentBody extends Identity {
  readonly body: Buffer;
}

interface Kept extends SentBody {
  readonly timeMs: number;
}

/** Most destinations get the same bytes, which are kept once. */
const mostBytes = 4 * 1024 * 1024;

/** The newest body of each destination; what doesn't fit is left out. */
export class LatestBodies {
  readonly #kept = new Map<string, Kept>();

  get all(): readonly SentBody[] {
    return [...this.#kept.values()];
  }

  /** Copies the bytes, because a slice would keep the whole batch that they came in. */
  add(identity: Identity, body: Buffer, timeMs: number): void {
    const key = identityText(identity);
    const former = this.#kept.get(key);
    if (former !== undefined && former.timeMs > timeMs) return;
    this.#kept.delete(key);
    const distinct = new Set([...this.#kept.values()].map((each) => each.body));
    const same = [...distinct].find((each) => each.equals(body));
    const bytes = [...distinct].reduce((sum, { length }) => sum + length, body.length);
    if (same === undefined && bytes > mostBytes) return;
    const { id, uid } = identity;
    this.#kept.set(key, { id, uid, body: same ?? Buffer.from(body), timeMs });
  }
}
