import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { readRequests } from '../raw-http.ts';
import type { Answering, Arrived, Ports, Question } from './receiver-process.ts';

/**
 * The endpoints of all peers, as a process of its own: argument 1 is a certificate as JSON. Counts what arrives
 * by its path; to a path that begins with `hang`, nothing is answered. Sends its ports, then answers questions.
 */
const certificate = JSON.parse(process.argv[2] ?? '') as { cert: string; key: string };
const numbered = /"n":(\d+),"sentMs":([\d.]+)/g;
const mostEvents = 2 ** 20;

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const okAndClosed = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';

let answering: Answering = { afterMs: 0, closes: false };
let opened = 0;
let resumed = 0;
let paths = new Map<string, Path>();

class Path {
  unique = 0;
  repeated = 0;
  firstAfterMarkMs: number | undefined;
  /** Latencies are those of events with this number and after it. */
  fromNumber = 0;
  latenciesMs: number[] = [];
  readonly #hasArrived = new Uint8Array(mostEvents);

  arrived(n: number, sentMs: number): void {
    const nowMs = performance.timeOrigin + performance.now();
    this.firstAfterMarkMs ??= nowMs;
    if (this.#hasArrived[n] === 1) {
      this.repeated += 1;
      return;
    }
    this.#hasArrived[n] = 1;
    this.unique += 1;
    if (n >= this.fromNumber) this.latenciesMs.push(nowMs - sentMs);
  }
}

function serve(socket: Socket): void {
  opened += 1;
  readRequests(socket, (bytes, start, bodyStart, bodyEnd) => {
    const at = start + 'POST /'.length;
    const name = bytes.toString('latin1', at, bytes.indexOf(' ', at));
    const path = pathOf(name);
    for (const [, n, sentMs] of bytes.toString('latin1', bodyStart, bodyEnd).matchAll(numbered))
      path.arrived(Number(n), Number(sentMs));
    if (name.startsWith('hang')) return;
    if (answering.afterMs === 0) answer(socket);
    else setTimeout(answer, answering.afterMs, socket);
  });
}

function answer(socket: Socket): void {
  if (answering.closes) socket.end(okAndClosed);
  else socket.write(ok);
}

function pathOf(name: string): Path {
  let path = paths.get(name);
  if (path === undefined) paths.set(name, (path = new Path()));
  return path;
}

function arrived(): Arrived {
  return {
    opened,
    resumed,
    paths: Object.fromEntries(
      Array.from(paths, ([name, { unique, repeated, firstAfterMarkMs }]) => [
        name,
        { unique, repeated, firstAfterMarkMs },
      ]),
    ),
  };
}

process.on('message', (question: Question) => {
  process.send?.(reply(question));
});

function reply(question: Question): unknown {
  switch (question.ask) {
    case 'reset':
      answering = question.answering;
      opened = 0;
      resumed = 0;
      paths = new Map();
      return null;
    case 'mark':
      for (const path of paths.values()) {
        path.firstAfterMarkMs = undefined;
        path.fromNumber = question.fromNumber;
        path.latenciesMs = [];
      }
      return null;
    case 'latencies':
      return pathOf(question.path).latenciesMs;
    case 'arrived':
      return arrived();
  }
}

process.on('disconnect', () => {
  process.exit();
});

const http = createServer({ noDelay: true }, serve);
const https = createTlsServer({ ...certificate, noDelay: true }, (socket: TLSSocket) => {
  if (socket.isSessionReused()) resumed += 1;
  serve(socket);
});
// A handshake that ends early is its client's affair.
https.on('tlsClientError', () => undefined);
http.listen(0, '0.0.0.0', () => {
  https.listen(0, '0.0.0.0', () => {
    const ports: Ports = { http: portOf(http), https: portOf(https) };
    process.send?.(ports);
  });
});

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port;
}
