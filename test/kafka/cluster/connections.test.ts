import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { createKafka, type KafkaClient } from '../../../src/kafka/client.ts';
import type { Cluster } from '../../../src/kafka/cluster/cluster.ts';
import type { FetchAnswer } from '../../../src/kafka/protocol/fetch.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
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
const heartbeatKey = 12;

interface Scene {
  readonly kafka: KafkaClient;
  /** Those that a request came over and that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Heartbeats and fetches that wait for an answer. */
  readonly waiting: readonly number[];
  /** From now on, it is told to have another address. */
  readonly move: () => void;
}

/** A broker that answers questions about topics, and lets everything else wait. */
async function startBroker(t: TestContext): Promise<Scene> {
  const sockets = new Set<Socket>();
  const waiting: number[] = [];
  let hasMoved = false;
  const address = await startWireBroker(t, ({ apiKey, port, framed }, socket) => {
    if (!sockets.has(socket)) socket.once('close', () => sockets.delete(socket));
    sockets.add(socket);
    const versions = { [fetchKey]: 13, [metadataKey]: 12, [heartbeatKey]: 3 };
    if (apiKey === apiVersionsKey) socket.write(framed(versionsAnswer(versions)));
    else if (apiKey === metadataKey)
      socket.write(framed(metadataAnswer(hasMoved ? port + 1 : port, topicId)));
    else waiting.push(apiKey);
  });
  const kafka = createKafka({ brokers: [address], clientId: 'test' }, silentLogger);
  const move = (): void => {
    hasMoved = true;
  };
  return { kafka, sockets, waiting, move };
}

async function fetchFrom(cluster: Cluster, id: string): Promise<FetchAnswer> {
  const position = { partition: 0, leaderEpoch: -1, offset: 0, lastEpoch: -1, maxBytes: 1 };
  const topics = [{ id, partitions: [position] }];
  return cluster.fetch(nodeId, { maxWaitMs: 60_000, maxBytes: 1, rack: '', topics });
}

test('a process has four connections to a broker, however many topics it reads', async (t) => {
  const { kafka, sockets, waiting } = await startBroker(t);
  const groups = Array.from({ length: 20 }, () => kafka.openCluster('read'));
  const followers = Array.from({ length: 5 }, () => kafka.openCluster('follow'));
  const clusters = [...groups, ...followers];
  await Promise.all(clusters.map((cluster) => cluster.refresh(['t'])));
  assert.equal(sockets.size, 1);
  const fetches = clusters.map((cluster, i) => fetchFrom(cluster, String(i).padStart(32, '0')));
  const beats = groups.map((group) => group.askCoordinator(nodeId, 'Heartbeat', heartbeat));
  const all = Promise.allSettled([...fetches, ...beats]);
  await eventually(() => {
    assert.ok(waiting.filter((key) => key === fetchKey).length >= 2);
    assert.ok(waiting.includes(heartbeatKey));
  });
  assert.equal(sockets.size, 4);

  // What waits holds no question up.
  await Promise.all(clusters.map((cluster) => cluster.refresh(['t'])));
  for (const cluster of clusters.slice(1)) cluster.close();
  assert.equal(sockets.size, 4);
  await groups[0]?.refresh(['t']);
  groups[0]?.close();
  for (const { status } of await all) assert.equal(status, 'rejected');
  await eventually(() => {
    assert.equal(sockets.size, 0);
  });
});

test('a join waits over a connection of its own', async (t) => {
  const { kafka, sockets, waiting } = await startBroker(t);
  const [member, joining] = [kafka.openCluster('read'), kafka.openCluster()];
  await member.refresh(['t']);
  await joining.refresh(['t']);
  const asked = [member, joining].map((cluster) =>
    cluster.askCoordinator(nodeId, 'Heartbeat', heartbeat),
  );
  const all = Promise.allSettled(asked);
  await eventually(() => {
    assert.equal(waiting.length, 2);
  });
  assert.equal(sockets.size, 3);
  joining.close();
  await eventually(() => {
    assert.equal(sockets.size, 2);
  });
  member.close();
  await all;
});

test('who waits for a broker that has another address now is told at once', async (t) => {
  const { kafka, waiting, move } = await startBroker(t);
  const cluster = kafka.openCluster('read');
  t.after(() => {
    cluster.close();
  });
  await cluster.refresh(['t']);
  const fetch = assert.rejects(fetchFrom(cluster, topicId), /node 1/);
  await eventually(() => {
    assert.deepEqual(waiting, [fetchKey]);
  });
  move();
  await cluster.refresh(['t']);
  await fetch;
});

const heartbeat = { groupId: 'g', memberId: 'm', groupGenerationId: 1 };
