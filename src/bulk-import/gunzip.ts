import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** The content of a gzip stream, and any other stream as it is, decided by its first two bytes. */
export async function* gunzipIfNeeded(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await iterator.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = withHead(head, iterator);
  yield* head[0] === 0x1f && head[1] === 0x8b ? gunzip(whole) : whole;
}

async function* withHead(
  head: Buffer,
  tail: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  yield head;
  for (let next = await tail.next(); next.done !== true; next = await tail.next()) yield next.value;
}

function gunzip(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // An error of either end is thrown by the iteration.
  return pipeline(Readable.from(chunks), createGunzip(), () => undefined);
}
