import type { Connection, ConnectionPool } from './network.ts';

/** kafkajs makes each of its connections in a pool, those of admins and transactions too. */
type PoolClass = new (options: object) => ConnectionPool;

/**
 * If a connection ends amid an answer, kafkajs keeps what it has of it and takes the next connection's first
 * bytes for the rest. It then waits for an answer of the length that it finds there, or throws where nobody
 * can catch it.
 */
export function connectingAfresh(Original: PoolClass): PoolClass {
  return class extends Original {
    constructor(options: object) {
      super(options);
      for (const connection of this.pool) connectAfresh(connection);
    }
  };
}

function connectAfresh(connection: Connection): void {
  const connect = connection.connect.bind(connection);
  connection.connect = async () => {
    if (!connection.isConnected()) {
      connection.chunks = [];
      connection.bytesBuffered = 0;
      connection.bytesNeeded = lengthBytes;
    }
    return connect();
  };
}

/** Before an answer stands its length. */
const lengthBytes = 4;
