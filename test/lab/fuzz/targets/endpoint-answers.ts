import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Target } from '../engine/target.ts';
import { answerWords } from '../floods/hostile-answers.ts';
import { attemptAt, oddityOf, openLocalSender } from '../sending.ts';

const timeoutMs = 1_000;
const sender = openLocalSender(timeoutMs);
let answer: Buffer = Buffer.alloc(0);
const sockets = new Set<Socket>();
const server = createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  // The answer's first byte: in how many pieces it comes, and how the connection ends.
  socket.once('data', () => {
    const [mode = 0] = answer;
    const bytes = answer.subarray(1);
    const middle = (mode >> 4) * 8;
    socket.write(bytes.subarray(0, middle));
    setImmediate(() => {
      socket.write(bytes.subarray(middle), () => {
        if ((mode & 1) === 0) socket.end();
        else socket.resetAndDestroy();
      });
    });
  });
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

export const target: Target = {
  about:
    "an endpoint's answer as bytes on a socket, at the real sender: an outcome of the table before its time is over",
  seeds: [
    ' HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello',
    '!HTTP/1.1 503 No\r\nRetry-After: 120\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n',
    '0HTTP/1.1 103 Hint\r\nLink: x\r\n\r\nHTTP/1.1 404 No\r\nConnection: close\r\n\r\n<html>',
    '@HTTP/1.0 200 OK\r\n\r\nhello',
    'PHTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    ' HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=1\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc',
    'pHTTP/1.1 307 Go\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n',
  ],
  words: [...answerWords, 'Set-Cookie: a'],
  covers: ['/undici/lib/dispatcher/', '/undici/lib/handler/'],
  async check(input) {
    answer = input;
    const { outcome, tookMs } = await attemptAt(sender, url);
    assert.ok(tookMs < timeoutMs * 10, `took ${tookMs} ms`);
    assert.equal(oddityOf(outcome), undefined);
  },
  async close() {
    await sender.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  },
};
