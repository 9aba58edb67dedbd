import { createRequire } from 'node:module';
import type {
  AuthenticationProviderArgs,
  Authenticator,
  ISocketFactory,
  SASLOptions,
} from 'kafkajs';

/** The parts of kafkajs's inside that connections to brokers are made of. */
export interface KafkajsNetwork {
  readonly ConnectionPool: new (options: object) => ConnectionPool;
  readonly Broker: new (options: object) => Broker;
  readonly createSocketFactory: () => ISocketFactory;
  /** By mechanism, in capitals. */
  readonly authenticators: Readonly<
    Record<string, ((sasl: SASLOptions) => AuthenticationProvider) | undefined>
  >;
  readonly requests: Readonly<Record<string, object>>;
  readonly lookup: (
    versions: Versions,
  ) => (key: number, of: object) => (parameters: object) => KafkajsExchange;
  readonly apiKeys: Readonly<Record<string, number>>;
}

/** Logs a connection in. */
export type AuthenticationProvider = (connection: AuthenticationProviderArgs) => Authenticator;

export interface ConnectionPool {
  /** The second is for fetches, which the broker answers when it has something, and nothing else before. */
  readonly pool: readonly [Connection, Connection];
}

export interface Connection {
  readonly socket?: { readonly bytesRead: number; destroy(): void };
  readonly requestQueue: RequestQueue;
  /** The arrived part of the next answer. */
  chunks: Buffer[];
  bytesBuffered: number;
  /** The bytes of it that have to be there before it is looked at. */
  bytesNeeded: number;
  isConnected(): boolean;
  connect: () => Promise<unknown>;
  send(exchange: KafkajsExchange): Promise<unknown>;
  rejectRequests(error: Error): void;
  disconnect(): Promise<unknown>;
}

export interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

export interface Broker {
  readonly versions: Versions | null;
  connect(): Promise<void>;
}

interface Versions {
  readonly [apiKey: number]: { readonly minVersion: number; readonly maxVersion: number };
}

interface KafkajsExchange {
  readonly request: unknown;
  readonly response: { decode(bytes: Buffer): Promise<unknown>; parse(decoded: unknown): unknown };
  readonly logResponseError?: boolean;
}

/** @param load a module of kafkajs by its path in there */
export function networkOf(load: (path: string) => unknown): KafkajsNetwork {
  const { requests, lookup } = load('src/protocol/requests') as KafkajsNetwork;
  return {
    ConnectionPool: load('src/network/connectionPool') as KafkajsNetwork['ConnectionPool'],
    Broker: load('src/broker') as KafkajsNetwork['Broker'],
    createSocketFactory: load('src/network/socketFactory') as KafkajsNetwork['createSocketFactory'],
    authenticators: {
      PLAIN: load('src/broker/saslAuthenticator/plain'),
      'SCRAM-SHA-256': load('src/broker/saslAuthenticator/scram256'),
      'SCRAM-SHA-512': load('src/broker/saslAuthenticator/scram512'),
    } as KafkajsNetwork['authenticators'],
    requests,
    lookup,
    apiKeys: load('src/protocol/requests/apiKeys') as KafkajsNetwork['apiKeys'],
  };
}

/** The version whose internals are used. Other versions may have moved them. */
const knownVersion = '2.2.4';

/**
 * Finds modules of the installed kafkajs.
 * @throws Error if it is not installed, or in another version
 */
export function findKafkajs(): NodeJS.Require {
  const require = createRequire(import.meta.url);
  require.resolve('kafkajs');
  const { version } = require('kafkajs/package.json') as { readonly version: string };
  if (version !== knownVersion)
    throw new Error(
      `kafkajs ${version} is installed; only ${knownVersion} works, so install that version`,
    );
  return require;
}
