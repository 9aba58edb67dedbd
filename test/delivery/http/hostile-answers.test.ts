import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createSender, flood, post, raw, rawServer, timeoutMs } from './sender-scene.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const no = 'HTTP/1.1 503 No\r\n';

/** Sends `head`, and then `more` for as long as anybody listens. */
function endless(head: string, more: string): (socket: Socket) => void {
  return (socket) => {
    socket.write(head);
    flood(socket, () => socket.write(more));
  };
}

/** Sends `head`, and then a byte at a time. */
function dripping(head: string, bytes: string): (socket: Socket) => void {
  return (socket) => {
    socket.write(head);
    let at = 0;
    const timer = setInterval(() => {
      socket.write(bytes[at % bytes.length] ?? '');
      at += 1;
    }, 10);
    socket.on('close', () => {
      clearInterval(timer);
    });
  };
}

function reset(bytes: string): (socket: Socket) => void {
  return (socket) => socket.write(bytes, () => socket.resetAndDestroy());
}

function end(bytes: string): (socket: Socket) => void {
  return (socket) => socket.end(bytes);
}

/** Of 39 KB, which are read whole; unpacked it would be cut, and counted as delivered, long before its end. */
const bomb = gzipSync(Buffer.alloc(40_000_000));
const bombHead = `${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;

type Answer = string | ((socket: Socket) => void);
type Row = [answer: string, outcome: string, bytes: Answer];

const endlessAnswers: Row[] = [
  ['a header', 'dead letter not-http', endless(`${ok}X: `, 'y'.repeat(16_384))],
  ['headers', 'dead letter not-http', endless(ok, 'Name: value\r\n'.repeat(1_000))],
  ['headers of one byte', 'dead letter not-http', endless(ok, 'a:\r\n'.repeat(4_000))],
  ['a status line', 'dead letter not-http', endless('HTTP/1.1 200 ', 'y'.repeat(16_384))],
  ['empty lines', 'dead letter not-http', endless('', '\r\n'.repeat(8_192))],
  ['a body', 'delivered', endless(`${ok}\r\n`, 'x'.repeat(16_384))],
  [
    'a body of 500',
    'retryable: status-5xx',
    endless('HTTP/1.1 500 No\r\n\r\n', 'x'.repeat(16_384)),
  ],
  ['a body of 422', 'dead letter http-422', endless('HTTP/1.1 422 No\r\n\r\n', 'x'.repeat(16_384))],
  ['chunks of one byte', 'delivered', endless(chunked, '1\r\nx\r\n'.repeat(3_000))],
  ["a chunk's extension", 'delivered', endless(`${chunked}1;a=`, 'y'.repeat(16_384))],
  ['trailers', 'delivered', endless(`${chunked}0\r\n`, 'Name: value\r\n'.repeat(1_000))],
  ['100 Continue', 'dead letter not-http', endless('', 'HTTP/1.1 100 Go on\r\n\r\n'.repeat(500))],
  ['102 Processing', 'dead letter not-http', endless('', 'HTTP/1.1 102 Wait\r\n\r\n'.repeat(500))],
  ['103 Early Hints', 'dead letter not-http', endless('', 'HTTP/1.1 103 Hint\r\n\r\n'.repeat(500))],
];

const slowAnswers: Row[] = [
  ['its status line', 'retryable: timeout', dripping('', 'HTTP/1.1 200 OK and so on')],
  ['its headers', 'retryable: timeout', dripping(ok, 'X: y\r\n')],
  ['its body', 'delivered', dripping(`${ok}Content-Length: 1000\r\n\r\n`, 'x')],
  ['its chunks', 'delivered', dripping(chunked, '1\r\nx\r\n')],
  ['a body of 500', 'retryable: timeout', dripping(`${no}Content-Length: 1000\r\n\r\n`, 'x')],
  ['early hints', 'retryable: timeout', dripping('', 'HTTP/1.1 103 Hint\r\n\r\n')],
];

const cutAnswers: Row[] = [
  ['closed in the head', 'retryable: connection', end(`${ok}X-Half`)],
  ['closed in the body', 'delivered', end(`${ok}Content-Length: 10\r\n\r\nabc`)],
  ['closed in the body of 500', 'retryable: connection', end(`${no}Content-Length: 10\r\n\r\nabc`)],
  ['closed between chunks', 'delivered', end(`${chunked}3\r\nabc\r\n`)],
  ['closed after early hints', 'retryable: connection', end('HTTP/1.1 103 Hint\r\n\r\n')],
  ['reset in the head', 'retryable: connection', reset(`${ok}X-Half`)],
  ['reset in the body', 'delivered', reset(`${ok}Content-Length: 10\r\n\r\nabc`)],
  ['of HTTP/1.0 without a length', 'delivered', end('HTTP/1.0 200 OK\r\n\r\nhello')],
  ['of HTTP/1.1 without a length', 'delivered', end(`${ok}\r\nhello`)],
  ['of HTTP/1.1 without a length or an end', 'delivered', `${ok}\r\nhello`],
];

const wrongAnswers: Row[] = [
  ['204 with a body', 'delivered', 'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello'],
  ['a body longer than it says', 'delivered', `${ok}Content-Length: 3\r\n\r\nabcdef`],
  ['two equal lengths', 'delivered', `${ok}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`],
  ['two equal lengths in a line', 'delivered', `${ok}Content-Length: 2, 2\r\n\r\nok`],
  ['two lengths of 503', 'retryable: status-5xx', `${no}Content-Length: 2, 2\r\n\r\nok`],
  ['a length with a blank', 'delivered', `${ok}Content-Length: 2 \r\n\r\nok`],
  ['two lengths', 'delivered', `${ok}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`],
  ['a length below zero', 'delivered', `${ok}Content-Length: -1\r\n\r\n`],
  ['a length beyond all', 'delivered', `${ok}Content-Length: ${'9'.repeat(30)}\r\n\r\n`],
  ['chunks that are none', 'delivered', `${chunked}zz\r\nhello`],
  ['a chunk with a blank behind its size', 'delivered', `${chunked}2 \r\nok\r\n0\r\n\r\n`],
  ['a chunk larger than all', 'delivered', `${chunked}${'f'.repeat(18)}\r\nhello`],
  [
    'both a length and chunks',
    'delivered',
    `${ok}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ['101', 'retryable: other', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  [
    '101 with an upgrade',
    'retryable: connection',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  ],
  [
    'many early hints and then an answer',
    'dead letter http-422',
    `${'HTTP/1.1 103 Hint\r\n\r\n'.repeat(64)}HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n`,
  ],
  [
    '100 Continue that nobody asked for, and then an answer',
    'delivered',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  ],
  ['100 Continue and nothing else', 'retryable: timeout', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['HTTP/2', 'dead letter not-http', '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64'],
  ['HTTP/2 in words', 'dead letter not-http', 'HTTP/2 200\r\n\r\n'],
  ['a page without a head', 'dead letter not-http', '<html>hello</html>'],
  ["SSH's greeting", 'dead letter not-http', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ["a mail server's greeting", 'dead letter not-http', '220 mail.example ESMTP ready\r\n'],
  ['zeros', 'dead letter not-http', '\0\0\0\0'],
  ['a status of two digits', 'dead letter not-http', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a status below zero', 'dead letter not-http', 'HTTP/1.1 -20 OK\r\n\r\n'],
  [
    'a gzip bomb without its last byte, for which we wait because nobody unpacks it',
    'delivered',
    bombHead + bomb.toString('latin1', 0, bomb.length - 1),
  ],
  ['a gzip bomb', 'delivered', bombHead + bomb.toString('latin1')],
  ['zero bytes in a header', 'delivered', `${ok}X: a\0b\r\nContent-Length: 0\r\n\r\n`],
  ['a name with a space', 'delivered', `${ok}X : a\r\n\r\n`],
  ['a header without a colon', 'delivered', `${ok}nonsense\r\n\r\n`],
  ['a folded header', 'delivered', `${ok}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
  [
    'a folded header of 503',
    'retryable: status-5xx',
    `${no}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`,
  ],
  ['lines without a carriage return', 'delivered', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
];

const largeHeads: Row[] = [
  ['as large as anybody sends', 'delivered', head(100, 120)],
  ['of one large header', 'delivered', head(1, 16_000)],
  ['of too many headers, were there an end to them', 'dead letter not-http', headers(500, 1)],
  ['of very many headers', 'dead letter not-http', head(5_000, 1)],
  ['too large', 'dead letter not-http', head(250, 100)],
];

function headers(count: number, valueBytes: number): string {
  return `${ok}${`X: ${'y'.repeat(valueBytes)}\r\n`.repeat(count)}`;
}

function head(count: number, valueBytes: number): string {
  return `${headers(count, valueBytes)}Content-Length: 0\r\n\r\n`;
}

/** An endless answer meets a limit of size, which must come before that of time on any machine. */
const patient = createSender({ timeoutMs: 10_000 });

describe('an answer', () => {
  for (const [group, rows] of [
    ['without an end:', endlessAnswers],
    ['byte by byte:', slowAnswers],
    ['with a head', largeHeads],
    ['', cutAnswers],
    ['of', wrongAnswers],
  ] as const)
    for (const [answer, outcome, bytes] of rows)
      test(`${group} ${answer}: ${outcome}`.trim(), async () => {
        const options = rows === endlessAnswers ? { sender: patient } : {};
        const { verdict, tookMs } = await post(await raw(bytes), options);
        assert.equal(verdict, outcome);
        if (outcome === 'retryable: timeout') assert.ok(tookMs >= timeoutMs);
      });

  test('of 2xx whose rest is odd: the attempt tells what was wrong', async () => {
    for (const [bytes, detail] of [
      [`${ok}Content-Length: 2, 2\r\n\r\nok`, /does not match content-length/],
      [`${ok}nonsense\r\n\r\n`, /Invalid header token/],
      [`${ok}Content-Length: 9\r\n\r\nhalf`, /^no complete answer in time$/],
    ] as const) {
      const { outcome } = await post(await raw(bytes));
      assert.ok(outcome.kind === 'delivered');
      assert.equal(outcome.status, 200);
      assert.match(outcome.detail ?? '', detail);
    }
  });

  test('before there is a request is not one to the next request', async () => {
    let answered = 0;
    const { url, connections } = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 Early\r\nContent-Length: 0\r\n\r\n');
      socket.on('data', () => {
        answered += 1;
        socket.write('HTTP/1.1 500 Late\r\nContent-Length: 0\r\n\r\n');
      });
    });
    const sender = createSender();
    for (let i = 1; i <= 3; i++) {
      const { verdict } = await post(url, { sender });
      assert.equal(verdict, 'delivered');
      // The answer to this request is there now, on a connection that nobody waits at.
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      assert.deepEqual([answered, connections()], [i, i]);
    }
  });

  test('after the deadline is not one to the next request', async () => {
    let late: Socket | undefined;
    const { url, connections } = await rawServer((socket) => {
      socket.once('data', () => {
        if (late === undefined) late = socket;
        else socket.write('HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n');
      });
    });
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'retryable: timeout');
    late?.write(`${ok}Content-Length: 0\r\n\r\n`);
    assert.equal((await post(url, { sender })).verdict, 'dead letter http-422');
    assert.equal(connections(), 2);
  });
});

/** What leaves doubt about where the next answer begins. */
const doubtful: [string, string][] = [
  ['its body was longer than it said', `${ok}Content-Length: 3\r\n\r\nabcdef`],
  ['its body came although there is none', 'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello'],
  ['another came with it', `${ok}Content-Length: 0\r\n\r\n${ok}Content-Length: 0\r\n\r\n`],
  ['it was of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
  ['it said so', `${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`],
  ['it had two lengths', `${ok}Content-Length: 0\r\nContent-Length: 0\r\n\r\n`],
  ['its body broke', `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ['it was longer than we read', `${ok}Content-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`],
];

describe('a connection is not used again after an answer', () => {
  for (const [title, bytes] of doubtful)
    test(`where ${title}`, async () => {
      const { url, connections } = await rawServer((socket) => {
        const isFirst = connections() === 1;
        socket.on('data', () => {
          socket.write(isFirst ? bytes : 'HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n');
        });
      });
      const sender = createSender();
      assert.equal((await post(url, { sender })).verdict, 'delivered');
      assert.equal((await post(url, { sender })).verdict, 'dead letter http-422');
      assert.equal(connections(), 2);
    });

  test('that another one followed later', async () => {
    let first: Socket | undefined;
    const { url, connections } = await rawServer((socket) => {
      first ??= socket;
      const status = first === socket ? '200 OK' : '422 No';
      socket.on('data', () => socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`));
    });
    const sender = createSender();
    assert.equal((await post(url, { sender })).verdict, 'delivered');
    const closed = new Promise((resolve) => first?.once('close', resolve));
    first?.write(`${ok}Content-Length: 0\r\n\r\n`);
    await closed;
    assert.equal((await post(url, { sender })).verdict, 'dead letter http-422');
    assert.equal(connections(), 2);
  });
});
