/** A call whose source is not known, or that came behind such a call of the same user. */
export interface HeldCall {
  readonly user: string;
}

/**
 * Calls that wait until the configuration is known to be current, in the order in which they came. They share
 * one refresh at a time. Calls that come during a refresh wait for the next one, because their source may
 * have been created after the refresh began.
 */
export class HeldCalls<T extends HeldCall> {
  #calls: { readonly call: T; readonly round: number }[] = [];
  #users = new Set<string>();
  /** The number of the last refresh that was begun. */
  #round = 0;
  #looking = false;
  readonly #caughtUp: () => Promise<void>;
  readonly #isKnown: (call: T) => boolean;
  readonly #onSettled: (call: T) => void;

  /**
   * @param onSettled called once for each call, in order per user, when its source is known, or known not to
   * exist
   */
  constructor(
    caughtUp: () => Promise<void>,
    isKnown: (call: T) => boolean,
    onSettled: (call: T) => void,
  ) {
    this.#caughtUp = caughtUp;
    this.#isKnown = isKnown;
    this.#onSettled = onSettled;
  }

  get size(): number {
    return this.#calls.length;
  }

  /** True if the call would overtake a waiting one of the same user. */
  waitsFor(user: string): boolean {
    return this.#users.has(user);
  }

  hold(call: T): void {
    this.#calls.push({ call, round: this.#round + 1 });
    this.#users.add(call.user);
  }

  /** Removes and returns the calls for which `isGone` holds. They are not settled anymore. */
  takeOut(isGone: (call: T) => boolean): T[] {
    const gone = this.#calls.filter(({ call }) => isGone(call));
    this.#calls = this.#calls.filter(({ call }) => !isGone(call));
    return gone.map(({ call }) => call);
  }

  /** To be called after `hold`, once for many calls. */
  look(): void {
    if (this.#looking || this.#calls.length === 0) return;
    this.#looking = true;
    this.#round += 1;
    this.#caughtUp().then(
      () => {
        this.#looking = false;
        this.#settle(this.#round);
        this.look();
      },
      // It rejects only when the configuration stops. Then the role stops too, and these calls are read
      // again.
      () => undefined,
    );
  }

  #settle(round: number): void {
    const held = this.#calls;
    const stillHeld = new Set<string>();
    this.#calls = [];
    this.#users = stillHeld;
    for (const entry of held) {
      const { user } = entry.call;
      if (stillHeld.has(user) || (entry.round > round && !this.#isKnown(entry.call))) {
        stillHeld.add(user);
        this.#calls.push(entry);
      } else {
        this.#onSettled(entry.call);
      }
    }
  }
}
