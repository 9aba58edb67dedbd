import type { Socket } from 'node:net';

/** What a connection is made for. */
export interface Caller {
  /** Somebody has accepted the connection, of which TLS may still be missing. */
  isReached: boolean;
}

/** What the sender knows of all its connections together. */
export class Connections {
  /** Whose request undici is being given: where it has no connection for it, it makes one there and then. */
  caller: Caller | undefined = undefined;
  readonly #maxKept: number;
  #open = 0;
  #isStarting = false;

  /** `maxKept`: with so many open, one is not kept after its answer. */
  constructor(maxKept: number) {
    this.#maxKept = maxKept;
  }

  get areMany(): boolean {
    return this.#open >= this.#maxKept;
  }

  /**
   * True while undici is told of a new connection, when it writes the first request to it, or of the failure
   * to make one, when it fails that request. What happens to a request at other times happens on a
   * connection that was used before.
   */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  opened(socket: Socket, tellUndici: () => void): void {
    this.#open += 1;
    socket.once('close', this.#closed);
    this.#start(tellUndici);
  }

  failed(tellUndici: () => void): void {
    this.#start(tellUndici);
  }

  #start(tellUndici: () => void): void {
    this.#isStarting = true;
    try {
      tellUndici();
    } finally {
      this.#isStarting = false;
    }
  }

  readonly #closed = (): void => {
    this.#open -= 1;
  };
}
