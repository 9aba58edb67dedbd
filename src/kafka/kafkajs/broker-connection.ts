import { PostriderError } from '../../errors.ts';
import { brokerText } from '../protocol/metadata.ts';
import type { Exchange } from '../protocol/fields.ts';
import type { AccessOptions } from './current-access.ts';
import type { Broker, Connection, ConnectionPool, KafkajsNetwork } from './network.ts';

/** The settings that kafkajs needs to open a connection. */
export interface ConnectionSettings {
  readonly network: KafkajsNetwork;
  readonly access: AccessOptions;
  readonly clientId: string;
  readonly connectionTimeout: number;
  readonly logger: unknown;
  /** A broker asks for no further requests for a while. */
  readonly throttled?: (broker: string, apiName: string, throttleMs: number) => void;
}

export const timeouts = {
  /** kafkajs's default of 1 s is too short for TLS to a cloud region under load. */
  connectionTimeout: 5_000,
  /** The time for which a broker that hangs, without closing its connections, can hold up one of kafkajs's requests. */
  requestTimeout: 20_000,
} as const;

/** A broker that does not answer in time, or not at all. What was asked of it may have been done. */
class NoAnswerError extends Error {
  override readonly name = 'NoAnswer';
}

/** So often within a deadline a connection is looked at. */
const deadlineParts = 4;

/**
 * One of kafkajs's connections to a broker: addresses, TLS, logins and versions are its part. What is asked here
 * has a deadline, after which the connection is thrown away: a broker that hangs answers nobody. One whose
 * answer is arriving does not hang, so the deadline begins anew with what arrives: an answer of ten megabytes
 * takes the better part of a minute over a link of 2 Mbit/s, and asked for again it would take no less. Nor does one that
 * has asked for a pause, because of a quota, before it is over.
 */
export class BrokerConnection {
  readonly #address: string;
  readonly #network: KafkajsNetwork;
  readonly #pool: ConnectionPool;
  readonly #broker: Broker;
  #opening: Promise<unknown> | undefined;
  #isGone = false;
  #usedAtMs = performance.now();
  readonly #onThrottled: ConnectionSettings['throttled'];
  /** Until then, kafkajs sends nothing, and the broker reads nothing. */
  #throttledUntilMs = -Infinity;
  /** Requests that wait, to be told that it is closed. */
  readonly #waiting = new Set<(error: Error) => void>();

  constructor(host: string, port: number, settings: ConnectionSettings) {
    this.#address = brokerText({ host, port });
    const { network, access, clientId, connectionTimeout, logger } = settings;
    this.#network = network;
    this.#onThrottled = settings.throttled;
    this.#pool = new network.ConnectionPool({
      host,
      port,
      ...access,
      clientId,
      connectionTimeout,
      logger,
      // It would not see that an answer is arriving.
      enforceRequestTimeout: false,
    });
    this.#broker = new network.Broker({ connectionPool: this.#pool, logger });
  }

  /** True if it may not be asked again, so that a new one is needed. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get isConnected(): boolean {
    return this.#connection.isConnected();
  }

  /** The time for which nobody has wanted anything of it. */
  get idleMs(): number {
    return this.#waiting.size > 0 ? 0 : performance.now() - this.#usedAtMs;
  }

  /** kafkajs makes two, of which its own fetches would use the second. */
  get #connection(): Connection {
    return this.#pool.pool[0];
  }

  /**
   * @throws NoAnswerError, an error of kafkajs's connection, PostriderError `kafka-refused` for a broker that
   * is too old
   */
  async send<T>(exchange: Exchange<T>, timeoutMs: number): Promise<T> {
    const { apiKey, apiName, version } = exchange;
    return this.#withDeadline({ apiName, timeoutMs }, async () => {
      const connection = await this.#connected();
      this.#requireVersion(exchange);
      return (await connection.send({
        request: {
          apiKey,
          apiName,
          apiVersion: version,
          encode: () => Promise.resolve(exchange.encode()),
        },
        response: {
          decode: (bytes) => {
            const answer = exchange.decode(bytes);
            const { throttleMs = 0 } = answer;
            this.#throttle(apiName, throttleMs);
            return Promise.resolve({ clientSideThrottleTime: throttleMs, answer });
          },
          parse: (decoded) => (decoded as { readonly answer: unknown }).answer,
        },
        logResponseError: false,
      })) as T;
    });
  }

  /** One of kafkajs's own requests; the answer is as it came, errors included: kafkajs throws the first. */
  async ask<T>(apiName: string, parameters: object, timeoutMs: number): Promise<T> {
    const { apiKeys, lookup, requests } = this.#network;
    const apiKey = apiKeys[apiName] ?? -1;
    return this.#withDeadline({ apiName, timeoutMs }, async () => {
      const connection = await this.#connected();
      const build = lookup(this.#broker.versions ?? {})(apiKey, requests[apiName] ?? {});
      const { request, response } = build(parameters);
      return (await connection.send({
        request,
        response: {
          decode: async (bytes) => {
            const decoded = await response.decode(bytes);
            this.#throttle(apiName, throttleMsOf(decoded));
            return decoded;
          },
          parse: (decoded) => decoded,
        },
        logResponseError: false,
      })) as T;
    });
  }

  /** Tells all that wait for an answer that none will come. */
  close(error: Error = new NoAnswerError(`the connection to ${this.#address} was closed`)): void {
    this.#isGone = true;
    for (const reject of this.#waiting) reject(error);
    this.#connection.rejectRequests(error);
    this.#connection.disconnect().catch(() => undefined);
    this.#connection.socket?.destroy();
  }

  /** kafkajs opens a second socket for whoever asks while the first is being opened. */
  async #connected(): Promise<Connection> {
    const connection = this.#connection;
    if (this.#broker.versions !== null && connection.isConnected()) return connection;
    this.#opening ??= this.#broker.connect().finally(() => {
      this.#opening = undefined;
      // kafkajs makes a socket some turns after it was asked to, which may be after a close.
      if (this.#isGone) this.close();
    });
    await this.#opening;
    return connection;
  }

  #throttle(apiName: string, throttleMs: number): void {
    if (throttleMs <= 0) return;
    this.#throttledUntilMs = performance.now() + throttleMs;
    this.#onThrottled?.(this.#address, apiName, throttleMs);
  }

  #requireVersion({ apiKey, apiName, version }: Exchange<unknown>): void {
    const known = this.#broker.versions?.[apiKey];
    if (known !== undefined && known.minVersion <= version && version <= known.maxVersion) return;
    throw new PostriderError(
      'kafka-refused',
      `The broker ${this.#address} does not support version ${version} of ${apiName}: Kafka 3.1 or newer is required`,
    );
  }

  async #withDeadline<T>({ apiName, timeoutMs }: Asked, work: () => Promise<T>): Promise<T> {
    const arrived = (): number => this.#connection.socket?.bytesRead ?? 0;
    let lastBytes = arrived();
    let silentParts = 0;
    const look = (): void => {
      const bytes = arrived();
      const isSilent = bytes === lastBytes && performance.now() >= this.#throttledUntilMs;
      silentParts = isSilent ? silentParts + 1 : 0;
      lastBytes = bytes;
      if (silentParts < deadlineParts) return;
      const said = `${this.#address} did not answer ${apiName} within ${timeoutMs / 1_000} s`;
      this.close(new NoAnswerError(said));
    };
    const timer = setInterval(look, timeoutMs / deadlineParts);
    let reject: (error: Error) => void = () => undefined;
    const ended = new Promise<never>((_resolve, rejectEnded) => {
      reject = rejectEnded;
    });
    this.#waiting.add(reject);
    try {
      return await Promise.race([work(), ended]);
    } finally {
      clearInterval(timer);
      this.#waiting.delete(reject);
      this.#usedAtMs = performance.now();
    }
  }
}

function throttleMsOf(decoded: unknown): number {
  return (decoded as { readonly clientSideThrottleTime?: number }).clientSideThrottleTime ?? 0;
}

interface Asked {
  readonly apiName: string;
  readonly timeoutMs: number;
}
