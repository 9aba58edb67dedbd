import type { Socket } from 'node:net';

/** The request that a connection is opened for. */
export interface Caller {
  /** The TCP connection was accepted; TLS may still be missing. */
  isReached: boolean;
}

/** The state that is shared by all connections of a sender. */
export class Connections {
  /**
   * The request that is being passed to undici. If undici has no connection for it, it opens one during that
   * call.
   */
  caller: Caller | undefined = undefined;
  readonly #maxKept: number;
  #open = 0;
  #isStarting = false;

  /** @param maxKept from so many open connections on, a connection is closed after its answer */
  constructor(maxKept: number) {
    this.#maxKept = maxKept;
  }

  get areMany(): boolean {
    return this.#open >= this.#maxKept;
  }

  /**
   * True while undici handles a new connection, when it writes the first request to it, or the failure to
   * open one, when it fails that request. Whatever happens to a request at another time happens on a
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
