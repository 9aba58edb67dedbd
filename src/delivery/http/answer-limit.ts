import type { Socket } from 'node:net';
import { errors } from 'undici';

/** 64 KB of body in chunks of one byte, of six bytes each, and a head: no honest answer takes as much. */
const maxRawBytes = 524_288;

/**
 * undici counts names and values of headers, and we count the body; status lines, empty lines before them
 * and extensions of chunks are counted by nobody, and would be read until the deadline. So everything that
 * comes after a request, up to the next one, is counted here.
 */
export function limitAnswers(socket: Socket): void {
  let sentBytes = 0;
  let readBytes = 0;
  let answerBytes = 0;
  socket.on('readable', () => {
    const { bytesRead, bytesWritten } = socket;
    if (bytesWritten !== sentBytes) answerBytes = 0;
    answerBytes += bytesRead - readBytes;
    [sentBytes, readBytes] = [bytesWritten, bytesRead];
    if (answerBytes <= maxRawBytes) return;
    const message = `an answer of more than ${maxRawBytes} bytes, most of them neither header nor body`;
    socket.destroy(new errors.HeadersOverflowError(message));
  });
}
