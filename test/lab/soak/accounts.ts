import { between, Ledger, longestSilenceMs, type Call } from '../../harness/ledger.ts';

/** An event for one endpoint; as what is missing, one that it has not taken and that was not given up. */
export interface Missing {
  readonly destinationId: string;
  readonly id: string;
  readonly user: string;
}

/** How long an event waited for an endpoint. */
export interface Wait extends Missing {
  readonly waitMs: number;
}

/** What was accepted in one phase, and what became of it at each endpoint. Times in ms of one clock. */
export class Accounts {
  /** The beginning of all ids of the phase. */
  readonly name: string;
  readonly #ledgers: ReadonlyMap<string, Ledger>;
  /** By call. */
  readonly #sentMs = new Map<string, number>();
  /** Reasons, by destination and id. */
  readonly #letters = new Map<string, string>();

  constructor(name: string, destinationIds: readonly string[]) {
    this.name = name;
    this.#ledgers = new Map(destinationIds.map((id) => [id, new Ledger()]));
  }

  /** To every destination, or to those that are named. */
  sent(
    id: string,
    user: string,
    atMs: number,
    destinationIds: Iterable<string> = this.#ledgers.keys(),
  ): void {
    this.#sentMs.set(id, atMs);
    for (const destinationId of destinationIds) this.#ledgers.get(destinationId)?.sent(id, user);
  }

  accepted(ids: readonly string[], atMs: number): void {
    for (const ledger of this.#ledgers.values()) ledger.accepted(ids, atMs);
  }

  delivered(destinationId: string, id: string, atMs: number): void {
    this.#ledgers.get(destinationId)?.delivered(id, atMs);
  }

  /** It is a dead letter. */
  givenUp(destinationId: string, id: string, reason: string): void {
    this.#letters.set(`${destinationId} ${id}`, reason);
  }

  missing(): readonly Missing[] {
    return [...this.#ledgers].flatMap(([destinationId, ledger]) =>
      ledger
        .waiting()
        .filter(({ id }) => !this.#letters.has(`${destinationId} ${id}`))
        .map(({ id, user }) => ({ destinationId, id, user })),
    );
  }

  /** As `destination id: reason`, those that `isExpected` does not say. */
  unexpectedLetters(
    isExpected: (destinationId: string, id: string, reason: string) => boolean,
  ): string[] {
    return [...this.#letters]
      .filter(([key, reason]) => {
        const [destinationId = '', id = ''] = key.split(' ');
        return !isExpected(destinationId, id, reason);
      })
      .map(([key, reason]) => `${key}: ${reason}`);
  }

  /**
   * The events that arrived before an earlier one of their user, as `id before id`. A call is earlier than another one
   * if it was accepted before the other was sent.
   */
  overtakersAt(destinationId: string): string[] {
    const byUser = Map.groupBy(this.callsFor([destinationId]), ({ user }) => user);
    return [...byUser.values()].flatMap((calls) =>
      calls.flatMap((later) => {
        const sentMs = this.#sentMs.get(later.id) ?? 0;
        const [arrivedMs = Infinity] = later.deliveredMs;
        const overtaken = calls.find(
          ({ acceptedMs = Infinity, deliveredMs: [firstMs = -Infinity] }) =>
            acceptedMs < sentMs && firstMs > arrivedMs,
        );
        return overtaken === undefined ? [] : [`${later.id} before ${overtaken.id}`];
      }),
    );
  }

  get letters(): number {
    return this.#letters.size;
  }

  /** Calls that were accepted, each once. */
  get calls(): number {
    const ids = new Set<string>();
    for (const { id, acceptedMs } of this.callsFor([...this.#ledgers.keys()]))
      if (acceptedMs !== undefined) ids.add(id);
    return ids.size;
  }

  callsFor(destinationIds: readonly string[]): readonly Call[] {
    return destinationIds.flatMap((id) => this.#ledgers.get(id)?.calls ?? []);
  }

  /** Deliveries beyond the first of each event that was accepted since `fromMs`, at these endpoints. */
  repeatsAt(destinationIds: readonly string[], fromMs: number): number {
    return between(this.callsFor(destinationIds), fromMs, Infinity).reduce(
      (sum, { deliveredMs }) => sum + Math.max(0, deliveredMs.length - 1),
      0,
    );
  }

  /**
   * The longest time in which none of these endpoints got anything although something waited for them. Of calls
   * that were accepted since `fromMs`.
   */
  longestStallMs(destinationIds: readonly string[], fromMs: number): number {
    return longestSilenceMs(between(this.callsFor(destinationIds), fromMs, Infinity));
  }

  /** Of the events that were accepted since `fromMs`, the one that waited longest for one of these endpoints. */
  longestWait(destinationIds: readonly string[], fromMs: number): Wait {
    let longest: Wait = { destinationId: '', id: '', user: '', waitMs: 0 };
    for (const destinationId of destinationIds)
      for (const call of between(this.callsFor([destinationId]), fromMs, Infinity)) {
        const { id, user, acceptedMs = Infinity, deliveredMs } = call;
        const waitMs = (deliveredMs[0] ?? -Infinity) - acceptedMs;
        if (waitMs > longest.waitMs) longest = { destinationId, id, user, waitMs };
      }
    return longest;
  }
}
