import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createKafka } from '../../../src/kafka/client.ts';
import { KafkaCluster } from '../../../src/kafka/cluster/cluster.ts';
import { Connections } from '../../../src/kafka/cluster/connections.ts';
import { timeouts } from '../../../src/kafka/kafkajs/broker-connection.ts';
import { accessOptions } from '../../../src/kafka/kafkajs/current-access.ts';
import { network } from '../../../src/kafka/kafkajs/library.ts';
import { ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import type { FetchAnswer } from '../../../src/kafka/protocol/fetch.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  apiVersionsKey,
  fetchKey,
  metadataAnswer,
  metadataKey,
  nodeId,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const topicId = 'ab'.repeat(16);
const recordBytes = 1_000_000;
const maxWaitMs = 500;
/** The fetch's deadline. */
const deadlineMs = maxWaitMs + 3_000;

interface Scene {
  readonly cluster: KafkaCluster;
  readonly answer: Promise<FetchAnswer>;
  /** How the fetch has ended, if it has. */
  readonly ended: () => Promise<string | undefined>;
  /** Until a piece of the fetch's answer has arrived. */
  readonly bring: (piece: Buffer) => Promise<void>;
  /** The whole answer. */
  readonly bytes: Buffer;
  readonly pass: (ms: number) => void;
}

/** A fetch that its broker has got and not answered yet. Time passes only when it is told to. */
async function fetching(t: TestContext): Promise<Scene> {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  const asked = Promise.withResolvers<{ socket: Socket; bytes: Buffer }>();
  let fetches = 0;
  const address = await startWireBroker(t, ({ apiKey, port, framed }, socket) => {
    if (apiKey === apiVersionsKey)
      socket.write(framed(versionsAnswer({ [fetchKey]: 13, [metadataKey]: 12 })));
    if (apiKey === metadataKey) socket.write(framed(metadataAnswer(port, topicId)));
    if (apiKey !== fetchKey) return;
    // What arrives while a connection is opened counts too, so the first fetch is answered at once.
    if (fetches++ === 0) socket.write(framed(fetchAnswer()));
    else asked.resolve({ socket, bytes: framed(fetchAnswer()) });
  });
  const access = accessOptions(network, {});
  const opened: Socket[] = [];
  const connections = new Connections({
    network,
    access: {
      socketFactory: (wish) => {
        const socket = access.socketFactory(wish);
        opened.push(socket);
        return socket;
      },
    },
    clientId: 'test',
    ...timeouts,
    logger: createKafka({ brokers: [address], clientId: 'test' }, silentLogger).logger(),
  });
  const cluster = new KafkaCluster([address], connections);
  t.after(() => {
    cluster.close();
  });
  await cluster.refresh(['t']);
  const position = { partition: 0, leaderEpoch: -1, offset: 0, lastEpoch: -1, maxBytes: 1 };
  const topics = [{ id: topicId, partitions: [position] }];
  const request = { maxWaitMs, maxBytes: 1, rack: '', topics };
  await cluster.fetch(nodeId, request);
  const answer = cluster.fetch(nodeId, request);
  let end: string | undefined;
  answer.then(
    () => (end = 'answered'),
    (error: unknown) => (end = String(error)),
  );
  const { socket, bytes } = await asked.promise;
  const client = opened.at(-1);
  assert.ok(client);
  let arrivedBytes = client.bytesRead;
  return {
    cluster,
    answer,
    bytes,
    ended: async () => {
      await nextTurn();
      return end;
    },
    bring: async (piece) => {
      socket.write(piece);
      arrivedBytes += piece.length;
      while (client.bytesRead < arrivedBytes && !client.destroyed) await nextTurn();
    },
    pass: (ms) => {
      t.mock.timers.tick(ms);
    },
  };
}

/** Fetch, version 13. */
function fetchAnswer(): Buffer {
  const writer = new ByteWriter(recordBytes + 128).noTags().int32(0).int16(0).int32(0);
  writer.compactArray([topicId], (id) => {
    writer.uuid(id).compactArray([0], (partition) => {
      writer.int32(partition).int16(0).int64(1).int64(1).int64(0);
      writer.compactArray([], () => undefined).int32(-1);
      writer
        .uvarint(recordBytes + 1)
        .bytes(Buffer.alloc(recordBytes))
        .noTags();
    });
    writer.noTags();
  });
  return writer.noTags().buffer;
}

test('an answer that comes slowly is waited for, however long it takes', async (t) => {
  const { answer, bytes, bring, pass } = await fetching(t);
  const pieces = 20;
  const pieceBytes = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    pass(deadlineMs - 1_000);
    await bring(bytes.subarray(at, at + pieceBytes));
  }
  const { partitions } = await answer;
  assert.deepEqual(
    partitions.map(({ records }) => records.length),
    [recordBytes],
  );
});

test('a broker that sends nothing is given up at the deadline', async (t) => {
  const { ended, pass } = await fetching(t);
  pass(deadlineMs - 1);
  assert.equal(await ended(), undefined);
  pass(1);
  assert.match((await ended()) ?? '', /did not answer Fetch within 3\.5 s/);
});

test('a broker that falls silent amid an answer is given up little after the time of a deadline', async (t) => {
  const { ended, bytes, bring, pass } = await fetching(t);
  pass(deadlineMs - 1_000);
  await bring(bytes.subarray(0, 100_000));
  pass(deadlineMs);
  assert.equal(await ended(), undefined);
  pass(deadlineMs / 4);
  assert.match((await ended()) ?? '', /did not answer Fetch/);
});

test('what comes over another connection is no sign that a fetch is being answered', async (t) => {
  const { cluster, ended, pass } = await fetching(t);
  for (let passedMs = 0; passedMs < deadlineMs; passedMs += deadlineMs / 5) {
    assert.equal(await ended(), undefined);
    await cluster.refresh(['t']);
    pass(deadlineMs / 5);
  }
  assert.match((await ended()) ?? '', /did not answer Fetch/);
});
