import type { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { maxBodyBytes } from '../event/limits.ts';
import { leastBytesPerS, type BodyPace, type PacedBody } from './body-pace.ts';
import type { Lease } from './byte-budget.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import type { Refusal } from './refusal.ts';

/** Nothing is read beyond this, neither from the socket nor by gunzip. */
const maxReadBytes = 1024 * 1024;

export const overloaded: Refusal = {
  code: 'overloaded',
  message:
    'The gateway is full of calls that Kafka has not acknowledged yet; send this again later.',
  retryAfterS: 1,
};

/** Reads a request's body up to the limits. Never rejects: a body that ends early is a refusal too. */
export function receiveBody(
  stream: Readable,
  declaredBytes: number,
  lease: Lease,
  pace: BodyPace,
): Promise<Buffer | Refusal> {
  if (declaredBytes > maxReadBytes) return Promise.resolve(bodyTooLarge);
  return new Promise((resolve) => {
    pace.watch(new IncomingBody(stream, lease, pace, resolve));
  });
}

class IncomingBody implements PacedBody {
  wantedBytes = 0;
  readonly #stream: Readable;
  readonly #lease: Lease;
  readonly #pace: BodyPace;
  /** Undefined once it is settled: the promise behind it, and with it the body, would last as long as the request. */
  #resolve: ((result: Buffer | Refusal) => void) | undefined;
  #bytes = new GatheredBytes();

  constructor(
    stream: Readable,
    lease: Lease,
    pace: BodyPace,
    resolve: (result: Buffer | Refusal) => void,
  ) {
    this.#stream = stream;
    this.#lease = lease;
    this.#pace = pace;
    this.#resolve = resolve;
    // Without a listener, the error of a cut body would end the process; `close` follows it.
    stream
      .on('data', this.#onData)
      .on('end', this.#onEnd)
      .on('close', this.#onCut)
      .on('error', ignore);
  }

  get receivedBytes(): number {
    return this.#bytes.length;
  }

  onTooSlow(): void {
    this.#settle(bodyTooSlow);
    this.#stream.pause();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#resolve === undefined) return;
    if (this.receivedBytes + chunk.length > maxReadBytes) {
      this.#settle(bodyTooLarge);
      this.#stream.pause();
    } else if (this.#lease.grow(chunk.length)) {
      this.#bytes.add(chunk);
    } else {
      this.#settle(overloaded);
      // Later bytes are dropped, and the connection can be used again.
    }
  };

  readonly #onEnd = (): void => {
    if (this.#resolve === undefined) return;
    this.#settle(this.#bytes.whole());
  };

  readonly #onCut = (): void => {
    this.#settle(bodyCut);
  };

  #settle(result: Buffer | Refusal): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#bytes = new GatheredBytes();
    this.#pace.unwatch(this);
    resolve(result);
  }
}

/**
 * The body's text, unpacked if its bytes are gzip. Clients declare gzip in different ways, and no JSON begins
 * like that.
 */
export function unpackBody(body: Buffer, contentEncoding: string | undefined): Buffer | Refusal {
  const isGzip = isPacked(body);
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

export function isPacked(body: Buffer): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
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
