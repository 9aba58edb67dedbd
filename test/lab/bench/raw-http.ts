import type { Socket } from 'node:net';

const headEnd = Buffer.from('\r\n\r\n');
/** As undici writes it, and as Go does. */
const lengthNames = ['content-length: ', 'Content-Length: '].map((name) => Buffer.from(name));

/**
 * Tells each request that the socket brings: the bytes that it is in, where it begins in them, and where its body
 * begins and ends.
 */
export function readRequests(
  socket: Socket,
  onRequest: (bytes: Buffer, start: number, bodyStart: number, bodyEnd: number) => void,
): void {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    const bytes = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    pending = takeRequests(bytes, (start, bodyStart, bodyEnd) => {
      onRequest(bytes, start, bodyStart, bodyEnd);
    });
  });
}

/**
 * Finds the requests in what a socket brought, by their content lengths. Calls `onRequest` with where
 * each begins and where its body begins and ends; returns what is left after the last complete one.
 */
function takeRequests(
  bytes: Buffer,
  onRequest: (start: number, bodyStart: number, bodyEnd: number) => void,
): Buffer {
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(headEnd, start);
    if (end < 0) break;
    const at = lengthOffset(bytes, start, end);
    const lineEnd = bytes.indexOf('\r', at);
    const bodyStart = end + headEnd.length;
    const next = bodyStart + Number(bytes.toString('latin1', at, lineEnd));
    if (bytes.length < next) break;
    onRequest(start, bodyStart, next);
    start = next;
  }
  return start === 0 ? bytes : bytes.subarray(start);
}

/** Where the number is. */
function lengthOffset(bytes: Buffer, start: number, end: number): number {
  for (const name of lengthNames) {
    const at = bytes.indexOf(name, start);
    if (at >= 0 && at < end) return at + name.length;
  }
  throw new Error('a request without a content length');
}
