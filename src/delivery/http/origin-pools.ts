import { Pool } from 'undici';
import type { Dispatcher } from 'undici';

/**
 * Keeps a pool of connections for each origin that has connections. undici's Agent does the same, but looks
 * through all origins whenever the last connection of one closes, which is slow with thousands of origins.
 */
export class OriginPools {
  readonly #options: Pool.Options;
  readonly #pools = new Map<string, Pool>();

  constructor(options: Pool.Options) {
    this.#options = options;
  }

  dispatch(
    origin: string,
    request: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): void {
    const pool = this.#pools.get(origin) ?? this.#open(origin);
    pool.dispatch(request, handler);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #open(origin: string): Pool {
    const pool = new Pool(origin, this.#options);
    shrinkQueue(pool);
    // Counted here, because `stats` looks through all connections of the pool for each of its figures.
    let connected = 0;
    const dropUnused = (): void => {
      if (connected > 0 || this.#pools.get(origin) !== pool) return;
      const { size, queued } = pool.stats;
      if (size > 0 || queued > 0) return;
      this.#pools.delete(origin);
      if (!pool.destroyed) void pool.close();
    };
    pool.on('connect', () => (connected += 1));
    pool.on('disconnect', () => {
      connected -= 1;
      dropUnused();
    });
    pool.on('connectionError', dropUnused);
    this.#pools.set(origin, pool);
    return pool;
  }
}

interface PoolQueue {
  readonly head: { list: unknown[] };
}

/**
 * undici allocates 16 KB in each pool for requests that wait for a connection. None ever waits here, because
 * a pool may open as many connections as it needs. If one did, the list would grow.
 */
function shrinkQueue(pool: Pool): void {
  for (const symbol of Object.getOwnPropertySymbols(pool)) {
    const value: unknown = Reflect.get(pool, symbol);
    if (isQueue(value)) value.head.list = [];
  }
}

function isQueue(value: unknown): value is PoolQueue {
  if (typeof value !== 'object' || value === null || !('head' in value)) return false;
  const { head } = value;
  return typeof head === 'object' && head !== null && 'list' in head && Array.isArray(head.list);
}
