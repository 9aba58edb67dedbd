/**
 * The demo's accounts: what was produced against what became of it at each destination. Ids are message
 * ids; every produced event is meant for every destination.
 */
export interface Ledger {
  /** In the order in which they are produced. */
  produced(id: string, user: string): void;
  /** A request with these events arrived. */
  arrived(destination: string, events: readonly ArrivedEvent[], signatureValid: boolean): void;
  deadLettered(destination: string, id: string, reason: string): void;
  readonly producedCount: number;
  accounts(): readonly Account[];
}

interface ArrivedEvent {
  readonly id: string;
  /** The status that the endpoint gave it. */
  readonly answered: number;
}

export interface Account {
  readonly destination: string;
  readonly produced: number;
  readonly requests: number;
  /** Events that the endpoint answered with 2xx. */
  readonly delivered: number;
  /** Events given up, by reason. */
  readonly deadLetters: Readonly<Record<string, number>>;
  /** Neither delivered nor given up. */
  readonly missing: number;
  /** Arrivals beyond one successful one per event: failed ones and repeats. */
  readonly extraArrivals: number;
  /** Requests whose signature was wrong. */
  readonly badSignatures: number;
  /** Events that arrived after a later one of the same user, among those that arrived at all. */
  readonly outOfOrder: number;
}

interface Books {
  readonly delivered: Set<string>;
  readonly dead: Map<string, string>;
  requests: number;
  arrivals: number;
  badSignatures: number;
  outOfOrder: number;
  readonly lastSequence: Map<string, number>;
}

export function createLedger(destinations: readonly string[]): Ledger {
  const events = new Map<string, { readonly sequence: number; readonly user: string }>();
  const books = new Map<string, Books>(destinations.map((id) => [id, emptyBooks()]));
  const booksOf = (destination: string): Books => {
    const found = books.get(destination);
    if (found === undefined) throw new RangeError(`no destination ${destination} in the ledger`);
    return found;
  };
  return {
    get producedCount() {
      return events.size;
    },
    produced: (id, user) => {
      events.set(id, { sequence: events.size, user });
    },
    arrived: (destination, arrived, signatureValid) => {
      const book = booksOf(destination);
      book.requests += 1;
      book.arrivals += arrived.length;
      if (!signatureValid) book.badSignatures += 1;
      for (const { id, answered } of arrived) {
        const event = events.get(id);
        if (event === undefined || answered < 200 || answered > 299) continue;
        if (!book.delivered.has(id)) checkOrder(book, event);
        book.delivered.add(id);
      }
    },
    deadLettered: (destination, id, reason) => {
      booksOf(destination).dead.set(id, reason);
    },
    accounts: () =>
      [...books].map(([destination, book]) => accountOf(destination, book, events.keys())),
  };
}

/** Every event was delivered or given up, everywhere, and every signature was right. */
export function balances(accounts: readonly Account[]): boolean {
  return accounts.every(({ missing, badSignatures }) => missing === 0 && badSignatures === 0);
}

function emptyBooks(): Books {
  return {
    delivered: new Set(),
    dead: new Map(),
    requests: 0,
    arrivals: 0,
    badSignatures: 0,
    outOfOrder: 0,
    lastSequence: new Map(),
  };
}

function checkOrder(book: Books, event: { sequence: number; user: string }): void {
  const last = book.lastSequence.get(event.user) ?? -1;
  if (event.sequence < last) book.outOfOrder += 1;
  else book.lastSequence.set(event.user, event.sequence);
}

function accountOf(destination: string, book: Books, ids: Iterable<string>): Account {
  let [produced, missing] = [0, 0];
  for (const id of ids) {
    produced += 1;
    if (!book.delivered.has(id) && !book.dead.has(id)) missing += 1;
  }
  const deadLetters: Record<string, number> = {};
  for (const reason of book.dead.values()) deadLetters[reason] = (deadLetters[reason] ?? 0) + 1;
  return {
    destination,
    produced,
    missing,
    deadLetters,
    requests: book.requests,
    delivered: book.delivered.size,
    extraArrivals: book.arrivals - book.delivered.size,
    badSignatures: book.badSignatures,
    outOfOrder: book.outOfOrder,
  };
}
