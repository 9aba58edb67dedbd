/** Bounds what one caller has in flight to Kafka, which the producer itself does not. */
export class SendWindow {
  readonly #most: number;
  #open = 0;
  #wake: (() => void) | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes a place, once there is one. Only one caller may wait.
   * @param size of what is sent, a whole number, where the bound is not one of records; the last may exceed it
   */
  async enter(size: number = 1): Promise<void> {
    while (this.#open >= this.#most) await this.#change();
    this.#open += size;
  }

  /** @param size as it entered with */
  leave(size: number = 1): void {
    this.#open -= size;
    this.#wake?.();
  }

  /** Resolves when every place is free. */
  async emptied(): Promise<void> {
    while (this.#open > 0) await this.#change();
  }

  async #change(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}
