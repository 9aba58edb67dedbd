import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { ByteWriter } from '../../src/kafka/protocol/fields.ts';
import { initProducerIdExchange, produceExchange } from '../../src/kafka/protocol/produce.ts';
import { metadataExchange } from '../../src/kafka/protocol/metadata.ts';

export interface SilentBroker {
  /** `host:port`. */
  readonly address: string;
  /** Resolves when it has got a request that it does not answer. */
  readonly fallenSilent: Promise<void>;
  close(): Promise<void>;
}

/**
 * Takes every connection, answers so many requests of a producer that writes to `topic`, and then none: it is
 * asked for the versions, for the brokers, for the topic and for a producer id, and gets a batch then.
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
      else socket.write(answerTo(request, bodies.get(request.readInt16BE(4)) ?? metadata));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const metadata = metadataOf(port, topic);
  const bodies = new Map([
    [versionsKey, versions],
    [initProducerIdExchange().apiKey, producerId],
  ]);
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

const versionsKey = 18;

/** Behind its length and the request's correlation id. */
function answerTo(request: Buffer, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([length, request.subarray(8, 12), body]);
}

const noError = 0;

/** Of each kind of request that is understood, the one version. */
const spoken = [
  { apiKey: versionsKey, version: 0 },
  metadataExchange([]),
  initProducerIdExchange(),
  produceExchange({ timeoutMs: 0, topics: [] }),
];
const versionsWriter = new ByteWriter(64).int16(noError);
const versions = versionsWriter.array(spoken, ({ apiKey, version }) => {
  versionsWriter.int16(apiKey).int16(version).int16(version);
}).buffer;

const producerId = new ByteWriter(16).int32(0).int16(noError).int64(7).int16(0).buffer;

/** One broker, number 1, and one topic with one partition, which it leads and alone holds. */
function metadataOf(port: number, topic: string): Buffer {
  const writer = new ByteWriter(200).noTags().int32(0);
  writer.compactArray([1], (nodeId) => {
    writer.int32(nodeId).compactString('127.0.0.1').int32(port).compactString(null).noTags();
  });
  writer.compactString(null).int32(1);
  writer.compactArray([topic], (name) => {
    writer.int16(noError).compactString(name).uuid('1'.repeat(32)).boolean(false);
    writer.compactArray([0], (partition) => {
      writer.int16(noError).int32(partition).int32(1).int32(0);
      for (let lists = 3; lists > 0; lists -= 1)
        writer.compactArray([1], (replica) => writer.int32(replica));
      writer.noTags();
    });
    writer.int32(0).noTags();
  });
  return writer.noTags().buffer;
}
