import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { createTopology, type Topology } from '../../../src/topology.ts';

/** What the measured process and the load agree on. */
export interface GatewayLoad {
  readonly brokers: readonly string[];
  readonly prefix: string;
  readonly callsPerRequest: number;
  /** Calls; the first ones are not measured. */
  readonly warmUp: number;
  readonly total: number;
}

export const writeKey = 'wk_bench';
export const connections = 64;
/** Different bodies, so that compression has as much to do as with real calls. */
const bodies = 200;

export function loadTopology(prefix: string): Topology {
  const replication = { partitions: 12, replicationFactor: 1, retryTiersMs: [10_000] };
  return createTopology({ prefix, ...replication, extraIngestTopics: [] });
}

/** What a client sends: 450 bytes a call. */
function requestOf(callsPerRequest: number, port: number): Buffer {
  const calls = Array.from({ length: callsPerRequest }, callOf);
  const sentAt = '2026-11-20T18:59:41.000Z';
  const body = JSON.stringify(
    callsPerRequest === 1 ? { ...calls[0], sentAt } : { batch: calls, context: library, sentAt },
  );
  const head = [
    `POST /v1/${callsPerRequest === 1 ? 'track' : 'batch'} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    `authorization: Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const library = { library: { name: 'bench', version: '1.0.0' } };

function callOf(): object {
  return {
    type: 'track',
    messageId: randomBytes(16).toString('hex'),
    userId: `user-${Math.floor(Math.random() * 9_973)}`,
    event: 'Order Completed',
    timestamp: '2026-11-20T18:59:40.123Z',
    properties: { total: 39.95, currency: 'GBP', note: randomBytes(106).toString('hex') },
    context: { ip: '203.0.113.7' },
  };
}

/** Sends on every connection as fast as answers come, until the server is gone. */
export async function pressFully(port: number, callsPerRequest: number): Promise<void> {
  const requests = Array.from({ length: bodies }, () => requestOf(callsPerRequest, port));
  await Promise.all(
    Array.from({ length: connections }, async (_, index) => {
      const socket = open(port);
      for (let n = index; !socket.destroyed; n += 1) {
        await exchange(socket, requests[n % bodies] as Buffer);
      }
    }),
  );
}

/** Sends at an even pace, whatever the answers do; gives the latency of each in milliseconds. */
export async function pressEvenly(
  port: number,
  load: {
    readonly callsPerRequest: number;
    readonly requestsPerSecond: number;
    readonly forMs: number;
  },
): Promise<number[]> {
  const requests = Array.from({ length: bodies }, () => requestOf(load.callsPerRequest, port));
  const idle = Array.from({ length: connections }, () => open(port));
  const latencies: number[] = [];
  const underWay = new Set<Promise<void>>();
  const startedMs = performance.now();
  for (let n = 0; ; n += 1) {
    const dueMs = startedMs + (n * 1_000) / load.requestsPerSecond;
    if (dueMs > startedMs + load.forMs) break;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 0) await delay(earlyMs);
    while (idle.length === 0) await Promise.race(underWay);
    const socket = idle.pop() as Socket;
    const exchanged = exchange(socket, requests[n % bodies] as Buffer).then(() => {
      // From when it was due: a wait for a connection is latency too.
      latencies.push(performance.now() - dueMs);
      idle.push(socket);
      underWay.delete(exchanged);
    });
    underWay.add(exchanged);
  }
  await Promise.all(underWay);
  for (const socket of idle) socket.destroy();
  return latencies;
}

function open(port: number): Socket {
  return connect(port, '127.0.0.1')
    .setNoDelay()
    .on('error', () => undefined);
}

async function exchange(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve) => {
    let answer = '';
    const onData = (chunk: Buffer): void => {
      answer += chunk.toString('latin1');
      if (!answer.endsWith('}')) return;
      settle();
      if (!answer.startsWith('HTTP/1.1 200')) throw new Error(`refused: ${answer}`);
    };
    const settle = (): void => {
      socket.off('data', onData).off('close', settle);
      resolve();
    };
    socket.on('data', onData).on('close', settle).write(request);
  });
}
