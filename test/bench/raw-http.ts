const headEnd = Buffer.from('\r\n\r\n');
const lengthName = Buffer.from('content-length: ');

/**
 * Finds the requests in what a socket brought, by their content lengths. Calls `onRequest` with where
 * each begins and where its body begins and ends; returns what is left after the last complete one.
 */
export function takeRequests(
  bytes: Buffer,
  onRequest: (start: number, bodyStart: number, bodyEnd: number) => void,
): Buffer {
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(headEnd, start);
    if (end < 0) break;
    const at = bytes.indexOf(lengthName, start);
    if (at < 0 || at > end) throw new Error('a request without a content length');
    const lineEnd = bytes.indexOf('\r', at);
    const bodyStart = end + headEnd.length;
    const next = bodyStart + Number(bytes.toString('latin1', at + lengthName.length, lineEnd));
    if (bytes.length < next) break;
    onRequest(start, bodyStart, next);
    start = next;
  }
  return start === 0 ? bytes : bytes.subarray(start);
}
