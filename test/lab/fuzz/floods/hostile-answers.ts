import { gzipSync } from 'node:zlib';

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

/** Answers to change: valid ones, and those that attack a limit each. */
export function hostileAnswers(): readonly Buffer[] {
  const bomb = gzipSync(Buffer.alloc(10_000_000));
  return [
    `${ok}Content-Length: 5\r\n\r\nhello`,
    `${ok}Connection: close\r\n\r\nhello`,
    `${ok}Keep-Alive: timeout=9999999999, max=0\r\nContent-Length: 0\r\n\r\n`,
    `HTTP/1.1 429 No\r\nRetry-After: ${'9'.repeat(400)}\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n`,
    'HTTP/1.1 503 No\r\nRetry-After: Sat, 31 Jan 2026 12:00:00 GMT\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    'HTTP/1.1 404 No\r\nContent-Length: 6\r\n\r\n<html>',
    'HTTP/1.1 307 Go\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 204 No\r\n\r\n',
    'HTTP/1.1 304 No\r\nContent-Length: 10\r\n\r\n',
    'HTTP/1.0 200 OK\r\n\r\nhello',
    'HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    `${'HTTP/1.1 103 Hint\r\nLink: x\r\n\r\n'.repeat(500)}${ok}\r\n`,
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    `${ok}Content-Length: 0\r\n\r\n${ok}Content-Length: 0\r\n\r\n`,
    `${ok}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`,
    `${ok}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `${ok}Content-Length: ${'9'.repeat(30)}\r\n\r\n`,
    `${ok}${'a:\r\n'.repeat(4_000)}\r\n`,
    `${ok}X: ${'y'.repeat(30_000)}\r\n\r\n`,
    `${ok}\r\n${'x'.repeat(100_000)}`,
    `${chunked}${'1\r\nx\r\n'.repeat(3_000)}0\r\n\r\n`,
    `${chunked}1;${'e'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`,
    `${chunked}0\r\n${'Name: value\r\n'.repeat(2_000)}\r\n`,
    `${chunked}ffffffffffffffffff\r\nhello`,
    '<html>hello</html>',
    'SSH-2.0-OpenSSH_9.6\r\n',
    '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64',
    '\x15\x03\x01\0\x02\x02\x46',
  ]
    .map((text) => Buffer.from(text, 'latin1'))
    .concat([
      Buffer.concat([
        Buffer.from(`${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`),
        bomb,
      ]),
    ]);
}

export const answerWords: readonly string[] = [
  ...[
    'HTTP/1.1 ',
    ' 200 ',
    ' 429 ',
    ' 100 ',
    ' 204 ',
    ' 304 ',
    ' 999 ',
    '\r\n',
    '\r\n\r\n',
    '\n',
    ': ',
  ],
  ...[
    'Content-Length: ',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    '0\r\n\r\n',
  ],
  ...[
    'Connection: ',
    'close',
    'keep-alive',
    'upgrade',
    'Retry-After: ',
    'Keep-Alive: timeout=',
    'Trailer: X',
  ],
  ...['ffffffffffffffff\r\n', '\0', ' ', '\t', 'HTTP/2 ', 'ICY 200 OK', '\xff'],
];
