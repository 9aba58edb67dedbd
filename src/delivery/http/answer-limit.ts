import type { Socket } from 'node:net';
import { errors } from 'undici';

/** 64 KB of body in chunks of one byte, of six bytes each, and a head: no honest answer takes as much. */
const maxRawBytes = 524_288;

/**
 * undici counts names and values of headers, and we count the body; status lines, empty lines before them
 * and extensions of chunks are counted by nobody, and would be read until the deadline. So it is counted
 * here how much comes without a request in between: an answer of twice the limit is the most that passes.
 */
export function limitAnswers(socket: Socket): void {
  let sentBytes = 0;
  let fromBytes = 0;
  socket.on('readable', () => {
    const { bytesRead } = socket;
    if (bytesRead - fromBytes <= maxRawBytes) return;
    // Seldom looked at: Node adds it up anew each time.
    const { bytesWritten } = socket;
    if (bytesWritten === sentBytes) {
      const message = `an answer of more than ${maxRawBytes} bytes, most of them neither header nor body`;
      socket.destroy(new errors.HeadersOverflowError(message));
    }
    [fromBytes, sentBytes] = [bytesRead, bytesWritten];
  });
}
