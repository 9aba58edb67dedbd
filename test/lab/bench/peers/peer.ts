import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Who delivers, and what all of them are told. */

export interface PeerDestination {
  readonly id: string;
  readonly url: string;
}

/** What a peer is to do. */
export interface Work {
  readonly brokers: readonly string[];
  /** That of the topics; Postrider is told of nothing else. */
  readonly prefix: string;
  /** What it reads from the beginning: events for `destinations`, or the calls of which they become. */
  readonly topic: string;
  readonly reads: 'events' | 'calls';
  /** Nobody else's. */
  readonly group: string;
  readonly destinations: readonly PeerDestination[];
  /** Requests at the same time. */
  readonly inFlight: number;
  /** Events in a request; one without it. */
  readonly batchOf?: number;
  /** The most for one destination, where the peer knows such a thing. */
  readonly inFlightPerDestination: number;
  /** Whom to trust, as PEM. */
  readonly caFile: string;
}

export interface Peer {
  readonly name: string;
  /** One request at a time, whatever it may have in flight: its rate is what latency allows. */
  readonly isSequential?: boolean;
  start(work: Work): RunningPeer | Promise<RunningPeer>;
}

export class RunningPeer {
  readonly #children: readonly ChildProcess[];

  constructor(children: readonly ChildProcess[]) {
    this.#children = children;
    for (const child of children) {
      child.stdout?.resume();
      child.stderr?.on(
        'data',
        (chunk: Buffer) => (this.#said = `${this.#said}${String(chunk)}`.slice(-2_000)),
      );
    }
  }

  #said = '';

  get pids(): number[] {
    return this.#children.map(({ pid }) => pid ?? 0);
  }

  /** @throws Error with what it said last, once it has ended */
  assertRuns(): void {
    for (const { exitCode, signalCode, spawnfile } of this.#children)
      if (exitCode !== null || signalCode !== null)
        throw new Error(`${spawnfile} ended (${exitCode ?? signalCode ?? ''}):\n${this.#said}`);
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill(signal);
        // One that waits for an endpoint which never answers is not waited for.
        const impatient = setTimeout(() => child.kill('SIGKILL'), mostShutdownMs);
        await ended;
        clearTimeout(impatient);
      }),
    );
  }
}

const mostShutdownMs = 3_000;
