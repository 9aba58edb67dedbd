import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { ByteWriter } from '../../src/kafka/protocol/fields.ts';
import { FrameSplitter, requestHead } from '../harness/kafka-frames.ts';

export const produceKey = 0;
export const fetchKey = 1;
export const listOffsetsKey = 2;
export const metadataKey = 3;
export const apiVersionsKey = 18;
export const initProducerIdKey = 22;
export const epochEndKey = 23;

export interface WireRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  /** The frame of the answer with this content. */
  readonly framed: (answer: Buffer) => Buffer;
  /** Where the broker listens. */
  readonly port: number;
}

/**
 * A broker on a real socket that answers what it is told to. Its address. Its tests are about bytes and connections
 * (frames that come late, in pieces or not at all, old versions), so each writes its few answers itself: brokers in
 * memory would need an encoder for every answer in every version to serve them.
 */
export async function startWireBroker(
  t: TestContext,
  serve: (request: WireRequest, socket: Socket) => void,
): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const requests = new FrameSplitter();
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      for (const frame of requests.take(piece)) {
        const { apiKey, apiVersion, correlationId } = requestHead(frame);
        const framed = (answer: Buffer): Buffer => framedAs(correlationId, answer);
        serve({ apiKey, apiVersion, framed, port }, socket);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${port}`;
}

/** An answer to ApiVersions, version 2: the newest version of each kind of request, by its key. */
export function versionsAnswer(newest: Readonly<Record<number, number>>): Buffer {
  const writer = new ByteWriter(64).int16(0);
  const spoken = Object.entries({ [apiVersionsKey]: 2, ...newest });
  writer.array(spoken, ([key, version]) => writer.int16(Number(key)).int16(0).int16(version));
  return writer.int32(0).buffer;
}

export const nodeId = 1;

/** An answer to Metadata, version 12: this broker, and the topic `t`, of which it leads the partition 0. */
export function metadataAnswer(port: number, topicId: string, epoch: number = 0): Buffer {
  return describedBy([port], topicId, { leader: nodeId, epoch });
}

/** What a broker says of a partition. */
interface Told {
  readonly leader: number;
  readonly epoch: number;
  readonly inSync?: readonly number[];
}

/** As `metadataAnswer`, of several brokers by their ports: the first is node 1. */
export function describedBy(
  ports: readonly number[],
  topicId: string,
  { leader, epoch, inSync = [] }: Told,
): Buffer {
  const writer = new ByteWriter(128).noTags().int32(0);
  writer.compactArray(ports, (port) => {
    const id = nodeId + ports.indexOf(port);
    writer.int32(id).compactString('127.0.0.1').int32(port).compactString(null).noTags();
  });
  writer.compactString('cluster').int32(nodeId);
  writer.compactArray(['t'], (name) => {
    writer.int16(0).compactString(name).uuid(topicId).boolean(false);
    writer.compactArray([0], (partition) => {
      writer.int16(0).int32(partition).int32(leader).int32(epoch);
      // All replicas, those in sync, and those that are offline.
      for (const nodes of [inSync, inSync, []])
        writer.compactArray(nodes, (node) => writer.int32(node));
      writer.noTags();
    });
    writer.int32(0).noTags();
  });
  return writer.noTags().buffer;
}

function framedAs(correlationId: number, answer: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(answer.length + 4, 0);
  head.writeInt32BE(correlationId, 4);
  return Buffer.concat([head, answer]);
}
