import { gzip, gzipSync, type ZlibOptions } from 'node:zlib';
import type { SteadyClock } from '../ops/clock.ts';

/** gzip hardly makes shorter bodies smaller. */
export const leastCompressedBytes = 1_024;
/**
 * Up to this length, gzip takes less time than handing the body over to another thread. A longer one would hold up the
 * deliveries of others.
 */
const mostInlineBytes = 32_768;
/** Higher levels take up to three times as long, for a tenth fewer bytes. */
const options: ZlibOptions = { level: 3 };
/** The time after which an endpoint that has refused a compressed body gets another one. */
const refusalHoldsMs = 3_600_000;

/**
 * Decides whether the bodies for one URL with `compress: gzip` are compressed: they are, unless the endpoint has lately
 * refused one (415). A changed destination begins anew.
 */
export class Compression {
  /** By the steady clock. */
  #plainUntilMs = -Infinity;
  #refusedSinceMs: number | undefined = undefined;
  #isUntold = false;

  /** @param nowMs by the steady clock */
  isFor(body: Buffer, nowMs: number): boolean {
    return body.length >= leastCompressedBytes && nowMs >= this.#plainUntilMs;
  }

  /** The endpoint has answered 415 to a compressed body. */
  refused(clock: SteadyClock): void {
    this.#isUntold ||= this.#refusedSinceMs === undefined;
    this.#refusedSinceMs ??= clock.now();
    this.#plainUntilMs = clock.steadyNow() + refusalHoldsMs;
  }

  /** The endpoint has taken a compressed body. */
  taken(): void {
    this.#refusedSinceMs = undefined;
  }

  /** Since when the endpoint has taken no compressed body, in epoch milliseconds; undefined: none was refused. */
  get refusedSinceMs(): number | undefined {
    return this.#refusedSinceMs;
  }

  /** True once after the first refusal. */
  isRefusalNews(): boolean {
    const isNews = this.#isUntold;
    this.#isUntold = false;
    return isNews;
  }
}

/** Calls back with the compressed body, before it returns if the body is short. */
export function compress(body: Buffer, done: (compressed: Buffer) => void): void {
  if (body.length <= mostInlineBytes) {
    done(gzipSync(body, options));
    return;
  }
  gzip(body, options, (error, compressed) => {
    // Without memory for another thread's work.
    done(error === null ? compressed : gzipSync(body, options));
  });
}
