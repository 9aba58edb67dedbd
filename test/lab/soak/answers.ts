import { isOneIn, refusal, type EndpointKind } from './endpoint-kinds.ts';

/** The answer of an endpoint to one request. */
export interface Answer {
  /** The keys of the events that the endpoint takes. */
  readonly taken: readonly string[];
  /** Undefined: the answer never comes. */
  readonly status: number | undefined;
  readonly body: string;
}

const ok = 200;
const failure = 500;

/** The answers of one endpoint, which remembers the events that have failed. */
export class Answers {
  readonly #kind: EndpointKind;
  readonly #failed = new Set<string>();
  #failures = 0;

  constructor(kind: EndpointKind) {
    this.#kind = kind;
  }

  /** @param keys of the events in the request */
  to(keys: readonly string[]): Answer {
    const statuses = keys.map((key) => this.#statusOf(key));
    if (this.#kind.tellsApart === true) {
      const taken = keys.filter((_, place) => statuses[place] === ok);
      const results = statuses.map((status) => ({ status }));
      return { taken, status: 207, body: JSON.stringify({ results }) };
    }
    const status = statuses.find((each) => each !== ok);
    if (status === undefined) return { taken: keys, status: ok, body: 'ok' };
    if (status === failure) this.#failures += 1;
    const isSilent = this.#kind.isSilentAtTimes === true && this.#failures % 2 === 0;
    return { taken: [], status: isSilent ? undefined : status, body: 'no thanks' };
  }

  #statusOf(key: string): number {
    const { refusesEvery, failsEvery } = this.#kind;
    if (isOneIn(refusesEvery, key)) return refusal;
    if (!isOneIn(failsEvery, key) || this.#failed.has(key)) return ok;
    this.#failed.add(key);
    return failure;
  }
}
