import type { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { maxBodyBytes } from '../event/limits.ts';
import type { Clock } from '../ops/clock.ts';
import type { Lease } from './byte-budget.ts';
import type { Refusal } from './refusal.ts';

/** Nothing is read beyond this, neither from the socket nor by gunzip. */
const maxReadBytes = 1024 * 1024;

export const overloaded: Refusal = {
  code: 'overloaded',
  message:
    'The gateway is full of calls that Kafka has not acknowledged yet; send this again later.',
  retryAfterS: 1,
};

/** The speed of the slowest phones. A slower sender holds memory and is probably hostile. */
const leastBytesPerS = 1024;

/** How fast a body must come. */
export interface BodyPace {
  readonly clock: Clock;
  /** How often the speed is checked. */
  readonly windowMs: number;
}

/** Reads a request's body up to the limits. Never rejects: a body that ends early is a refusal too. */
export async function receiveBody(
  stream: Readable,
  declaredBytes: number,
  lease: Lease,
  { clock, windowMs }: BodyPace,
): Promise<Buffer | Refusal> {
  if (declaredBytes > maxReadBytes) return bodyTooLarge;
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    // Until the first check, the body may still be about to begin.
    let wantedBytes = 0;
    const look = (): void => {
      if (bytes < wantedBytes) {
        settle(bodyTooSlow);
        stream.pause();
        return;
      }
      wantedBytes = bytes + leastBytesPerS * (windowMs / 1_000);
      timer = clock.after(windowMs, look);
    };
    let timer = clock.after(windowMs, look);
    const settle = (result: Buffer | Refusal): void => {
      timer.cancel();
      stream.off('data', onData).off('end', onEnd).off('close', onCut);
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxReadBytes) {
        settle(bodyTooLarge);
        stream.pause();
      } else if (lease.grow(chunk.length)) {
        chunks.push(chunk);
      } else {
        settle(overloaded);
        // Nothing listens anymore: later bytes are dropped, and the connection can be used again.
        stream.resume();
      }
    };
    const onEnd = (): void => {
      // A single chunk is a view of the socket's own buffer, and is parsed at once.
      settle(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    };
    const onCut = (): void => {
      settle(bodyCut);
    };
    // Without a listener, the error of a cut body would end the process; `close` follows it.
    stream.on('data', onData).on('end', onEnd).on('close', onCut).on('error', ignore);
  });
}

/**
 * The body's text, unpacked if its bytes are gzip. Clients declare gzip in different ways, and no JSON begins
 * like that.
 */
export function unpackBody(body: Buffer, contentEncoding: string | undefined): Buffer | Refusal {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  const unpacked = isGzip ? gunzip(body) : body;
  if (!Buffer.isBuffer(unpacked)) return unpacked;
  if (unpacked.length > maxBodyBytes) {
    const limit = `the limit is ${maxBodyBytes} after gunzip`;
    return { code: 'too-large', message: `The body has ${unpacked.length} bytes; ${limit}.` };
  }
  if (!isGzip && isOtherEncoding(contentEncoding) && !looksLikeJson(unpacked)) {
    const message = 'The body has a Content-Encoding other than gzip, which is the only one known.';
    return { code: 'unknown-encoding', message };
  }
  return unpacked;
}

function gunzip(body: Buffer): Buffer | Refusal {
  try {
    return gunzipSync(body, { maxOutputLength: maxReadBytes });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE') return bodyTooLarge;
    return { code: 'invalid-gzip', message: 'The body starts like gzip, but cannot be unpacked.' };
  }
}

function isOtherEncoding(contentEncoding: string | undefined): boolean {
  return contentEncoding !== undefined && !/^(gzip|x-gzip|identity)?$/i.test(contentEncoding);
}

function looksLikeJson(body: Buffer): boolean {
  return /^(\ufeff)?\s*[[{]/.test(body.toString('utf8', 0, 64));
}

const bodyTooLarge: Refusal = {
  code: 'body-too-large',
  message: `The body is larger than ${maxReadBytes} bytes, before or after gunzip.`,
};

const bodyTooSlow: Refusal = {
  code: 'request-timeout',
  message: `The body came slower than ${leastBytesPerS} bytes a second; send it again.`,
};

const bodyCut: Refusal = {
  code: 'invalid-request',
  message: 'The connection ended before the body did.',
};

function ignore(): void {
  return undefined;
}
