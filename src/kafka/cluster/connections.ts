import { BrokerConnection, type ConnectionSettings } from '../kafkajs/broker-connection.ts';
import type { BrokerAddress } from '../protocol/metadata.ts';

/** A broker that hangs holds a request up for so long. */
export const answerMs = 5_000;
/** For the answer to arrive after the time that the broker itself may take. */
export const graceMs = 3_000;

/**
 * The purpose of a connection. A broker answers the requests of one connection one after the other, so what may wait
 * goes over another one than what must not: the fetches of groups, and those of followers, for records; what is asked of
 * coordinators, for the replicas of their topic; a join, for other members. With a number: of one cluster alone.
 */
export type Purpose =
  'questions' | 'groups' | 'read' | 'follow' | `own ${number}` | `join ${number}`;

/** A join takes two requests, one soon after the other. */
const unusedJoinMs = 10_000;
const lookMs = 5_000;

/**
 * The connections of a process, at most one to each broker for each purpose. One is opened when something is asked; that
 * of a join is closed when the join is over. Brokers close what nobody uses for ten minutes.
 */
export class Connections {
  readonly #settings: ConnectionSettings;
  readonly #open = new Map<string, BrokerConnection>();
  #owners = 0;
  #entered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** To be called by each user. Returns the number of the user's own lines. */
  enter(): number {
    this.#owners += 1;
    this.#timer ??= setInterval(() => {
      this.#closeJoins();
    }, lookMs).unref();
    return this.#entered++;
  }

  /** Closes what the user has of its own. The last one to leave closes everything. */
  leave(own: number): void {
    this.#owners -= 1;
    for (const [key, connection] of this.#open)
      if (this.#owners === 0 || key.endsWith(` ${own}`)) this.#close(key, connection);
    if (this.#owners > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  isConnected(address: BrokerAddress, purpose: Purpose): boolean {
    return this.#open.get(keyOf(address, purpose))?.isConnected === true;
  }

  to(address: BrokerAddress, purpose: Purpose): BrokerConnection {
    const key = keyOf(address, purpose);
    const open = this.#open.get(key);
    if (open?.isGone === false) return open;
    const connection = new BrokerConnection(address.host, address.port, this.#settings);
    this.#open.set(key, connection);
    return connection;
  }

  #closeJoins(): void {
    for (const [key, connection] of this.#open)
      if (key.includes(' join ') && connection.idleMs >= unusedJoinMs) this.#close(key, connection);
  }

  #close(key: string, connection: BrokerConnection): void {
    this.#open.delete(key);
    connection.close();
  }
}

function keyOf({ host, port }: BrokerAddress, purpose: Purpose): string {
  return `${host}:${port} ${purpose}`;
}
