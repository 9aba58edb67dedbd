import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import type { ISocketFactory, SASLOptions } from 'kafkajs';
import type { AuthenticationProvider, KafkajsNetwork } from './network.ts';

/**
 * The means to open a connection and log in. They are asked for each time that one is, because certificates
 * and passwords change while a process runs.
 */
export interface BrokerAccess {
  readonly ssl?: (() => ConnectionOptions) | undefined;
  /** The mechanism stays the same. */
  readonly sasl?: (() => SASLOptions) | undefined;
}

/** Access as options of kafkajs, which takes them once for the life of a client. */
export interface AccessOptions {
  readonly socketFactory: ISocketFactory;
  readonly ssl?: object;
  readonly sasl?: {
    readonly mechanism: string;
    readonly authenticationProvider: AuthenticationProvider;
  };
}

export function accessOptions(network: KafkajsNetwork, { ssl, sasl }: BrokerAccess): AccessOptions {
  const open = network.createSocketFactory();
  return {
    socketFactory: (wish) => open(ssl === undefined ? wish : { ...wish, ssl: ssl() }),
    // Only that there are some: the sockets are made above.
    ...(ssl === undefined ? {} : { ssl: {} }),
    ...(sasl === undefined ? {} : { sasl: currentLogin(network, sasl) }),
  };
}

/** After a refused login, the next one waits: from 0.1 s doubling to 1 s, which every request outlives. */
const firstPauseMs = 100;
const longestPauseMs = 1_000;

/**
 * Each login with what holds then. For a SCRAM login a broker hashes thousands of times, so refused ones do not
 * follow one another as quickly as connections can be opened.
 */
function currentLogin(
  network: KafkajsNetwork,
  sasl: () => SASLOptions,
): NonNullable<AccessOptions['sasl']> {
  const { mechanism } = sasl();
  const providerOf = network.authenticators[mechanism.toUpperCase()];
  let pauseMs = 0;
  return {
    mechanism,
    authenticationProvider: (connection) => ({
      authenticate: async () => {
        // Not reached: a broker offers no mechanism that kafkajs does not know.
        if (providerOf === undefined) throw new Error(`kafkajs does not know ${mechanism}`);
        await delay(pauseMs);
        try {
          await providerOf(sasl())(connection).authenticate();
          pauseMs = 0;
        } catch (error) {
          if (isRefusedLogin(error))
            pauseMs = Math.min(Math.max(firstPauseMs, pauseMs * 2), longestPauseMs);
          throw error;
        }
      },
    }),
  };
}

const isNoAnswer = /closed connection|connection (error|timeout)|timed out/i;

/** kafkajs calls whatever goes wrong during a login a failed login. */
export function isRefusedLogin(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.name === 'KafkaJSSASLAuthenticationError' &&
    !isNoAnswer.test(error.message)
  );
}
