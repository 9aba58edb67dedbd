import type { Socket } from 'node:net';
import { errors } from 'undici';

/**
 * 64 KB of body in chunks of one byte, each of which takes six bytes, and a head. No reasonable answer takes
 * more.
 */
const maxRawBytes = 524_288;

/**
 * undici counts names and values of headers, and we count the body. Nothing counts status lines, empty lines
 * before them and chunk extensions, which would be read until the deadline. So this counts the bytes that
 * arrive without a request in between. At most twice the limit passes.
 */
export function limitAnswers(socket: Socket): void {
  let sentBytes = 0;
  let fromBytes = 0;
  socket.on('readable', () => {
    const { bytesRead } = socket;
    if (bytesRead - fromBytes <= maxRawBytes) return;
    // Read seldom, because Node computes the value each time.
    const { bytesWritten } = socket;
    if (bytesWritten === sentBytes) {
      const message = `an answer of more than ${maxRawBytes} bytes, most of them neither header nor body`;
      socket.destroy(new errors.HeadersOverflowError(message));
    }
    [fromBytes, sentBytes] = [bytesRead, bytesWritten];
  });
}
