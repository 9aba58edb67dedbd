import { fetchExchange, type FetchAnswer, type FetchRequest } from '../protocol/fetch.ts';
import type { BrokerAddress } from '../protocol/metadata.ts';
import { graceMs, type Connections, type Line } from './connections.ts';
import { FetchRounds } from './fetch-rounds.ts';

/** The fetches of several clusters of a process, over one connection to each broker. */
export class SharedFetches {
  readonly #connections: Connections;
  readonly #line: Line;
  readonly #rounds = new Map<string, FetchRounds>();

  constructor(connections: Connections, line: Line) {
    this.#connections = connections;
    this.#line = line;
  }

  /** Answers once there is something for this request, or its time is over. */
  fetch(member: object, broker: BrokerAddress, request: FetchRequest): Promise<FetchAnswer> {
    const key = `${broker.host}:${broker.port}`;
    let rounds = this.#rounds.get(key);
    if (rounds === undefined) {
      rounds = new FetchRounds((together) =>
        this.#connections
          .to(broker, this.#line)
          .send(fetchExchange(together), together.maxWaitMs + graceMs),
      );
      this.#rounds.set(key, rounds);
    }
    return rounds.fetch(member, request);
  }

  /** That one asks for nothing more. */
  forget(member: object): void {
    for (const rounds of this.#rounds.values()) rounds.forget(member);
  }
}
