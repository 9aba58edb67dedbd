import type { Socket } from 'node:net';

/** The part of undici's parser that adds up what a head takes. */
interface HeadParser {
  trackHeader(bytes: number): void;
}

/** What HTTP/2 counts for each header beside its bytes (RFC 9113 §6.5.2), here for a name and for a value. */
const entryBytes = 32;
let isDone = false;

/**
 * undici counts the bytes of names and values, and nothing for having one: 16 KB of `a:` are 16,000 headers,
 * which take 3.5 MB while the rest of the head is waited for; 64 such answers fill a worker's heap. Its
 * parser is not exported, so its class is reached by way of the first connection, whose `socket` this is.
 */
export function countHeaders(socket: Socket): void {
  if (isDone) return;
  for (const symbol of Object.getOwnPropertySymbols(socket)) {
    const value: unknown = Reflect.get(socket, symbol);
    if (!isHeadParser(value)) continue;
    const prototype = Object.getPrototypeOf(value) as HeadParser;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- each parser calls it as its own
    const { trackHeader } = prototype;
    prototype.trackHeader = function (bytes): void {
      trackHeader.call(this, bytes + entryBytes);
    };
    isDone = true;
    return;
  }
}

function isHeadParser(value: unknown): value is HeadParser {
  return (
    typeof value === 'object' &&
    value !== null &&
    'trackHeader' in value &&
    typeof value.trackHeader === 'function'
  );
}
