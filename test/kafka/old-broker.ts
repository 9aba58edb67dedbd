import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { ByteWriter } from '../../src/kafka/protocol/byte-writer.ts';
import { FrameSplitter, requestHead } from '../harness/kafka-frames.ts';

const metadataKey = 3;
const apiVersionsKey = 18;

export interface OldBroker {
  /** The newest version of Metadata that it speaks. */
  readonly metadata: number;
  /** Of each topic, thirty-two hexadecimal digits. */
  readonly topicId: string;
  /** Of the leader of its partition 0. */
  readonly epoch?: number;
}

/** A broker that says which versions it speaks and describes the topic `t`, and answers nothing else. Its address. */
export async function startOldBroker(t: TestContext, broker: OldBroker): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const requests = new FrameSplitter();
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      for (const frame of requests.take(piece)) {
        const { apiKey, correlationId } = requestHead(frame);
        const answer = answerTo(apiKey, broker, (server.address() as AddressInfo).port);
        if (answer !== undefined) socket.write(framed(correlationId, answer));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function answerTo(apiKey: number, broker: OldBroker, port: number): Buffer | undefined {
  if (apiKey === apiVersionsKey) return versions(broker.metadata);
  return apiKey === metadataKey ? metadata(broker, port) : undefined;
}

/** ApiVersions, version 2. */
function versions(newest: number): Buffer {
  const writer = new ByteWriter(64).int16(0);
  const spoken = [
    [metadataKey, newest],
    [apiVersionsKey, 2],
  ] as const;
  writer.array(spoken, ([key, version]) => writer.int16(key).int16(0).int16(version));
  return writer.int32(0).buffer;
}

/** Metadata, version 12. */
function metadata({ topicId, epoch = 0 }: OldBroker, port: number): Buffer {
  const writer = new ByteWriter(128).noTags().int32(0);
  const nodeId = 1;
  writer.compactArray([nodeId], (id) =>
    writer.int32(id).compactString('127.0.0.1').int32(port).compactString(null).noTags(),
  );
  writer.compactString('cluster').int32(nodeId);
  writer.compactArray(['t'], (name) => {
    writer.int16(0).compactString(name).uuid(topicId).boolean(false);
    writer.compactArray([0], (partition) => {
      writer.int16(0).int32(partition).int32(nodeId).int32(epoch);
      for (let lists = 3; lists > 0; lists -= 1) writer.compactArray([], () => undefined);
      writer.noTags();
    });
    writer.int32(0).noTags();
  });
  return writer.noTags().buffer;
}

function framed(correlationId: number, answer: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(answer.length + 4, 0);
  head.writeInt32BE(correlationId, 4);
  return Buffer.concat([head, answer]);
}
