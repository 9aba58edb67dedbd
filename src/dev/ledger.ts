/**
 * The demo's accounts: what was produced against what became of it at each destination. Ids are message
 * ids; every produced event is meant for every destination.
 */
export interface Ledger {
  /** In the order in which they are produced. */
  produced(id: string, user: string): void;
  /** `answered`: the status that the endpoint gave. */
  arrived(destination: string, id: string, answered: number, signatureValid: boolean): void;
  deadLettered(destination: string, id: string, reason: string): void;
  readonly producedCount: number;
  accounts(): readonly Account[];
}

export interface Account {
  readonly destination: string;
  readonly produced: number;
  /** Events that the endpoint answered with 2xx. */
  readonly delivered: number;
  /** Events given up, by reason. */
  readonly deadLetters: Readonly<Record<string, number>>;
  /** Neither delivered nor given up. */
  readonly missing: number;
  /** Requests beyond one successful one per event: failed ones and repeats. */
  readonly extraRequests: number;
  readonly badSignatures: number;
  /** Events that arrived after a later one of the same user, among those that arrived at all. */
  readonly outOfOrder: number;
}

interface Books {
  readonly delivered: Set<string>;
  readonly dead: Map<string, string>;
  requests: number;
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
    arrived: (destination, id, answered, signatureValid) => {
      const book = booksOf(destination);
      const event = events.get(id);
      book.requests += 1;
      if (!signatureValid) book.badSignatures += 1;
      if (event === undefined || answered < 200 || answered > 299) return;
      if (!book.delivered.has(id)) checkOrder(book, event);
      book.delivered.add(id);
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
    delivered: book.delivered.size,
    extraRequests: book.requests - book.delivered.size,
    badSignatures: book.badSignatures,
    outOfOrder: book.outOfOrder,
  };
}
