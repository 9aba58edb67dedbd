import { gzipSync } from 'node:zlib';

/** Requests to change: valid ones, and those that attack a limit each. */
export function hostileRequests(authorization: string): readonly Buffer[] {
  const post = (body: Buffer | string, ...lines: readonly string[]): Buffer => {
    const bytes = Buffer.from(body);
    const head = [
      'POST /v1/batch HTTP/1.1',
      'host: x',
      `authorization: ${authorization}`,
      ...lines,
    ];
    return Buffer.concat([
      Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${bytes.length}\r\n\r\n`),
      bytes,
    ]);
  };
  const chunked = (body: string): Buffer =>
    Buffer.from(
      `POST /v1/track HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ntransfer-encoding: chunked\r\n\r\n${body}`,
    );
  const call = '{"type":"track","userId":"u","event":"e"}';
  const batch = `{"batch":[${call},${call}],"sentAt":"2026-01-31T12:00:00Z"}`;
  return [
    post(batch),
    post(batch, 'connection: close'),
    post(batch, 'expect: 100-continue'),
    post(batch, 'content-encoding: br'),
    post(gzipSync(batch), 'content-encoding: gzip'),
    // Bombs: 30 MB, and members without end.
    post(gzipSync(Buffer.alloc(30_000_000, 0x20)), 'content-encoding: gzip'),
    post(Buffer.concat(Array<Buffer>(2_000).fill(gzipSync('')))),
    post(`{"batch":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
    post(
      `{"batch":[{"type":"page","userId":"u","x":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}]}`,
    ),
    post(`{"batch":[${'{},'.repeat(9_000)}{}]}`),
    post(
      `{"batch":[{"type":"page","userId":"u","userId":1,"userId":null,"__proto__":{"a":1}}],"batch":[1]}`,
    ),
    post(`{"batch":[{"type":"page","userId":"u","n":${'9'.repeat(5_000)},"e":1e999}]}`),
    post(
      Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]),
      'content-type: application/json; charset=utf-16',
    ),
    post('', 'transfer-encoding: chunked'),
    Buffer.concat(Array<Buffer>(20).fill(post(batch))),
    Buffer.from(
      `GET /v1/pixel/page?data=${Buffer.from(call).toString('base64url')} HTTP/1.1\r\nhost: x\r\n\r\n`,
    ),
    Buffer.from(`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`),
    Buffer.from(
      'OPTIONS /v1/batch HTTP/1.1\r\nhost: x\r\norigin: https://a\r\naccess-control-request-method: POST\r\n\r\n',
    ),
    Buffer.from(`POST /v1/batch HTTP/1.1\r\n${'x: y\r\n'.repeat(3_000)}\r\n`),
    Buffer.from(`POST /v1/batch HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`),
    Buffer.from('POST /v1/batch HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n{'),
    Buffer.from(
      'POST /v1/batch HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcde',
    ),
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    Buffer.from(
      'POST /v1/batch HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ),
    Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
    chunked(`29;ext=1\r\n${call}\r\n0\r\ntrailer: x\r\n\r\n`),
    chunked(`${'1\r\n{\r\n'.repeat(2_000)}0\r\n\r\n`),
    chunked(`ffffffffffffffffff\r\n${call}`),
    chunked(`-1\r\n${call}`),
    chunked(`5;${'e'.repeat(30_000)}\r\nabcde\r\n0\r\n\r\n`),
  ];
}

export const requestWords: readonly string[] = [
  ...[
    '\r\n',
    '\r\n\r\n',
    '\n',
    '\r',
    '\0',
    ' HTTP/1.1',
    ' HTTP/1.0',
    ' HTTP/9.9',
    'POST ',
    'GET ',
    'CONNECT ',
  ],
  ...[
    'content-length: ',
    'content-length: -1\r\n',
    'transfer-encoding: chunked\r\n',
    'transfer-encoding: gzip\r\n',
  ],
  ...[
    'connection: close\r\n',
    'connection: upgrade\r\n',
    'expect: x\r\n',
    'authorization: Basic \r\n',
    '0\r\n\r\n',
  ],
  ...[
    'x-forwarded-for: a, b\r\n',
    'host: \r\n',
    'origin: null\r\n',
    '/v1/',
    'batch',
    'import',
    '%00',
    '%',
    '//',
    '..',
  ],
  ...[
    '"batch":',
    '"context":{"direct":true}',
    '"timestamp":',
    '"type":"alias"',
    '\\ud800',
    '\xff',
    '{',
    '}',
    '[',
    ']',
  ],
];
