import { Client } from 'undici';
import type { buildConnector, Dispatcher } from 'undici';
import type { PreparedEndpoint, TlsIdentity } from '../prepared-destination.ts';

/** A request that has a connection to itself. */
export interface Occupant extends Dispatcher.DispatchHandler {
  /** undici has found fault with the request, and will not send it; known once it was passed to undici. */
  readonly isRefused: boolean;
  /** The endpoint that the request is sent to; several may have one origin. */
  readonly endpoint: object;
  /** Another request to that endpoint may come soon; asked once the outcome is told. */
  readonly mayFollow: boolean;
  /** The connection is free for another request, or gone. */
  connectionFreed(): void;
}

/** The part of an endpoint that connections depend on. */
export type Place = Pick<PreparedEndpoint, 'origin' | 'identity'>;

interface ConnectionOptions extends Omit<Client.Options, 'connect'> {
  /** Connects as the one whom the certificate names; undefined: without a certificate. */
  readonly connectAs: (identity: TlsIdentity | undefined) => buildConnector.connector;
}

/**
 * The connections to each origin that has some: as many as requests are in flight. undici's Pool does the same,
 * but looks through an origin's connections twice for each request, and its Agent through all origins whenever
 * the last connection of one closes.
 */
export class OriginConnections {
  readonly #options: ConnectionOptions;
  /** By origin and identity: a connection shows one certificate, for as long as it lives. */
  readonly #origins = new Map<string, Origin>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  dispatch(place: Place, request: Dispatcher.DispatchOptions, occupant: Occupant): void {
    const origin = this.#origins.get(keyOf(place)) ?? this.#add(place);
    const connection = origin.free.pop() ?? this.#open(origin);
    connection.dispatch(request, occupant);
  }

  async destroy(): Promise<void> {
    const all = [...this.#origins.values()].flatMap(({ connections }) => [...connections]);
    await Promise.all(all.map((connection) => connection.destroy()));
  }

  #add(place: Place): Origin {
    const key = keyOf(place);
    const { connectAs, ...options } = this.#options;
    const origin: Origin = {
      key,
      url: place.origin,
      options: { ...options, connect: connectAs(place.identity) },
      connections: new Set(),
      free: [],
    };
    this.#origins.set(key, origin);
    return origin;
  }

  #open(origin: Origin): Connection {
    const connection = new Connection(origin, this.#closed);
    origin.connections.add(connection);
    return connection;
  }

  readonly #closed = (connection: Connection): void => {
    const { origin } = connection;
    const { key, connections, free } = origin;
    connections.delete(connection);
    // The one that has been idle for longest, which closes first, is at the beginning.
    const place = free.indexOf(connection);
    if (place >= 0) free.splice(place, 1);
    // There may be another one by now: this is called once more when a connection that was given up has closed.
    if (connections.size === 0 && this.#origins.get(key) === origin) this.#origins.delete(key);
  };
}

function keyOf({ origin, identity }: Place): string {
  return identity === undefined ? origin : `${origin} ${identity.id}`;
}

interface Origin {
  readonly key: string;
  readonly url: string;
  readonly options: Client.Options;
  readonly connections: Set<Connection>;
  /** The one that was used last is at the end, and is used next: so the others grow idle, and are closed. */
  readonly free: Connection[];
}

class Connection {
  readonly origin: Origin;
  readonly #client: Client;
  readonly #onClosed: (connection: Connection) => void;
  #isOpen = false;
  #occupant: Occupant | undefined = undefined;
  /** The endpoint whose request it was used for last. */
  #servedLast: object | undefined = undefined;

  constructor(origin: Origin, onClosed: (connection: Connection) => void) {
    this.origin = origin;
    this.#onClosed = onClosed;
    this.#client = new Client(origin.url, origin.options)
      .on('connect', () => {
        this.#isOpen = true;
      })
      .on('disconnect', () => {
        this.#isOpen = false;
        // For a request that waits to be written, undici connects again.
        if (this.#occupant === undefined) onClosed(this);
      })
      // After each request, also after one that failed, and after one that its connection has not survived.
      .on('drain', this.#freed);
  }

  dispatch(request: Dispatcher.DispatchOptions, occupant: Occupant): void {
    this.#occupant = occupant;
    this.#servedLast = occupant.endpoint;
    this.#client.dispatch(request, occupant);
    if (occupant.isRefused) this.#freed();
  }

  async destroy(): Promise<void> {
    await this.#client.destroy();
  }

  readonly #freed = (): void => {
    const occupant = this.#occupant;
    if (occupant === undefined) return;
    this.#occupant = undefined;
    if (this.#isOpen) this.origin.free.push(this);
    else this.#onClosed(this);
    occupant.connectionFreed();
    if (!occupant.mayFollow) this.#closeFreeOf(occupant.endpoint);
  };

  /** Closes the idle connections that the endpoint used last; those of other endpoints of the origin stay. */
  #closeFreeOf(endpoint: object): void {
    const left = this.origin.free.filter((each) => each.#servedLast === endpoint);
    for (const connection of left) {
      // undici says that it is closed later, and nobody may get it meanwhile.
      this.#onClosed(connection);
      void connection.destroy();
    }
  }
}
