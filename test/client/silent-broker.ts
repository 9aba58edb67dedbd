import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface SilentBroker {
  /** `host:port`. */
  readonly address: string;
  /** Resolves when it has got a request that it does not answer. */
  readonly fallenSilent: Promise<void>;
  close(): Promise<void>;
}

/**
 * Takes every connection, answers so many requests of a producer that writes to `topic`, and then none:
 * each client asks for the versions first, then for the topic.
 */
export async function startSilentBroker(topic: string, answers: number): Promise<SilentBroker> {
  const sockets = new Set<Socket>();
  const fallenSilent = Promise.withResolvers<undefined>();
  let left = answers;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (request) => {
      left -= 1;
      if (left < 0) fallenSilent.resolve(undefined);
      else socket.write(answerTo(request, isVersions(request) ? versions : metadata));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const metadata = metadataOf(port, topic);
  return {
    address: `127.0.0.1:${port}`,
    fallenSilent: fallenSilent.promise,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const metadataKey = 3;
const versionsKey = 18;

function isVersions(request: Buffer): boolean {
  return request.readInt16BE(4) === versionsKey;
}

/** Behind its length and the request's correlation id. */
function answerTo(request: Buffer, body: Buffer): Buffer {
  return Buffer.concat([int32(4 + body.length), request.subarray(8, 12), body]);
}

/** No error, and two kinds of requests, each with its lowest and highest version. */
const versions = Buffer.concat([
  ...[int16(0), int32(2)],
  ...[int16(versionsKey), int16(0), int16(0)],
  ...[int16(metadataKey), int16(0), int16(0)],
]);

/** One broker, number 1, and one topic with one partition, which it leads and alone holds. */
function metadataOf(port: number, topic: string): Buffer {
  return Buffer.concat([
    ...[int32(1), int32(1), text('127.0.0.1'), int32(port)],
    ...[int32(1), int16(0), text(topic)],
    ...[int32(1), int16(0), int32(0), int32(1), int32(1), int32(1), int32(1), int32(1)],
  ]);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(value.length), Buffer.from(value)]);
}
