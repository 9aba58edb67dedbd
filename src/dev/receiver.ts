import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { eventsOf, signatureProblem, verifySignature } from '../client/verify.ts';

const openingBracket = 0x5b;

/** A delivery as it arrived. */
export interface Arrival {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes, uncompressed, which the signature covers. */
  readonly body: Buffer;
  readonly isCompressed: boolean;
  /** The events of a batch; undefined for a body that is no array. */
  readonly batch: readonly unknown[] | undefined;
  /** `none`: the request has no signature; `unknown`: the receiver has no secret to verify it with. */
  readonly signature: 'none' | 'unknown' | 'valid' | 'wrong' | 'too-old' | 'too-new';
}

export interface Answer {
  readonly status: number;
  readonly delayMs?: number;
  readonly body?: string;
}

export interface ReceiverOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly sharedSecret?: string | undefined;
  /** Decides the answer, after the whole body has arrived. */
  readonly answer: (arrival: Arrival) => Answer;
}

export interface Receiver {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  close(): Promise<void>;
}

/** An endpoint that verifies signatures, for the demo, rehearsals and tests. */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const server = createServer((request, response) => {
    void receive(request, options.sharedSecret)
      .then(async (arrival) => {
        const { status, delayMs = 0, body } = options.answer(arrival);
        if (delayMs > 0) await delay(delayMs);
        response.writeHead(status).end(body);
      })
      .catch(() => {
        // The sender went away in the middle: there is nobody to answer.
        response.destroy();
      });
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function receive(request: IncomingMessage, sharedSecret?: string): Promise<Arrival> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const isCompressed = request.headers['content-encoding'] === 'gzip';
  const bytes = Buffer.concat(chunks);
  const body = isCompressed ? gunzipSync(bytes) : bytes;
  return {
    path: request.url ?? '/',
    headers: request.headers,
    body,
    isCompressed,
    batch: batchIn(body),
    signature: judge(body, request.headers, sharedSecret),
  };
}

/** Anybody may send anything to `listen`. */
function batchIn(body: Buffer): readonly unknown[] | undefined {
  if (body[0] !== openingBracket) return undefined;
  try {
    return eventsOf(body);
  } catch {
    return undefined;
  }
}

/** A request with both kinds of signature is valid if both are. */
function judge(
  body: Buffer,
  headers: IncomingHttpHeaders,
  sharedSecret: string | undefined,
): Arrival['signature'] {
  const segment = headers['x-signature'];
  const isStandard = headers['webhook-signature'] !== undefined;
  if (segment === undefined && !isStandard) return 'none';
  if (sharedSecret === undefined) return 'unknown';
  if (segment !== undefined && !verifySignature(sharedSecret, body, segment)) return 'wrong';
  const problem = isStandard ? signatureProblem(sharedSecret, body, headers) : undefined;
  return problem === 'missing' ? 'wrong' : (problem ?? 'valid');
}
