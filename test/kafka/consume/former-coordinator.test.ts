import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import { encodeAssignment } from '../../../src/kafka/consume/assigner.ts';
import { Membership } from '../../../src/kafka/consume/membership.ts';
import { ByteWriter } from '../../../src/kafka/protocol/fields.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { eventually } from '../../harness/eventually.ts';
import {
  apiVersionsKey,
  describedBy,
  metadataKey,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const groupId = 'group';
const findCoordinatorKey = 10;
const joinGroupKey = 11;
const heartbeatKey = 12;
const leaveGroupKey = 13;
const syncGroupKey = 14;

/** Kafka's number of COORDINATOR_NOT_AVAILABLE. */
const notAvailable = 15;

/** A broker that takes itself for the coordinator, and what it answers to a join and to a sync. */
interface View {
  readonly nodeId: number;
  readonly joinError?: number;
  readonly syncError?: number;
}

for (const [what, errors] of [
  ['joins', { joinError: notAvailable }],
  ['what is assigned', { syncError: notAvailable }],
] as const)
  test(`a member finds the present coordinator, though the first broker takes itself for it and cannot write down ${what}`, async (t) => {
    const ports: number[] = [];
    const former = await startBroker(t, ports, { nodeId: 1, ...errors });
    await startBroker(t, ports, { nodeId: 2 });
    const { assigned } = join(t, former.address);
    await eventually(() => {
      assert.deepEqual(assigned, ['t/0']);
    }, 5_000);
  });

test('a member whose coordinator is well asks about no other broker', async (t) => {
  const { address, asked } = await startBroker(t, [], { nodeId: 1 });
  const { assigned } = join(t, address);
  await eventually(() => {
    assert.deepEqual(assigned, ['t/0']);
    assert.ok(asked.includes(heartbeatKey));
  }, 5_000);
  assert.equal(asked.includes(metadataKey), false);
});

test('who has failed as a coordinator is not asked for another one before the others', async (t) => {
  const ports: number[] = [];
  const { address } = await startBroker(t, ports, { nodeId: 1 });
  for (const nodeId of [2, 3]) await startBroker(t, ports, { nodeId });
  const kafka = createKafka({ brokers: [address], clientId: 'test' }, silentLogger);
  const cluster = kafka.openCluster();
  t.after(() => {
    cluster.close();
  });
  for (const failed of [1, 2, 3]) {
    const found = await cluster.findCoordinator(groupId, failed);
    assert.notEqual(found, failed);
  }
});

/** What a member is assigned that knows of one broker. */
function join(t: TestContext, broker: string): { readonly assigned: readonly string[] } {
  const kafka = createKafka({ brokers: [broker], clientId: 'test' }, silentLogger);
  const [joinCluster, cluster] = [kafka.openCluster(), kafka.openCluster()];
  const stopping = new AbortController();
  const assigned: string[] = [];
  const membership = new Membership({
    joinCluster,
    cluster,
    groupId,
    topics: ['t'],
    log: silentLogger,
    signal: stopping.signal,
    ownedIndices: () => [],
    assigned: (partitions) => {
      assigned.push(...partitions.map(({ topic, partition }) => `${topic}/${partition}`));
    },
    expelled: () => undefined,
    unheard: () => undefined,
    troubled: () => undefined,
    refused: () => undefined,
  });
  membership.start();
  t.after(async () => {
    stopping.abort();
    await membership.leave();
    for (const each of [joinCluster, cluster]) each.close();
  });
  return { assigned };
}

/** It knows of all brokers whose ports are listed, and lists its own. */
async function startBroker(
  t: TestContext,
  ports: number[],
  { nodeId, joinError = 0, syncError = 0 }: View,
): Promise<{ readonly address: string; readonly asked: readonly number[] }> {
  const asked: number[] = [];
  const newest = {
    ...{ [metadataKey]: 12, [findCoordinatorKey]: 0, [joinGroupKey]: 0 },
    ...{ [syncGroupKey]: 0, [heartbeatKey]: 0, [leaveGroupKey]: 0 },
  };
  const address = await startWireBroker(t, ({ apiKey, framed, port }, socket) => {
    asked.push(apiKey);
    const answers: Readonly<Record<number, () => Buffer>> = {
      [apiVersionsKey]: () => versionsAnswer(newest),
      [metadataKey]: () => describedBy(ports, 'ab'.repeat(16), { leader: nodeId, epoch: 0 }),
      [findCoordinatorKey]: () => {
        const writer = new ByteWriter(32).int16(0).int32(nodeId);
        return withText(writer, '127.0.0.1').int32(port).buffer;
      },
      [joinGroupKey]: () => joinAnswer(joinError),
      [syncGroupKey]: () => {
        const assignment = encodeAssignment([0], new Map([['t', 1]]));
        const writer = new ByteWriter(64).int16(syncError);
        return writer.int32(assignment.length).bytes(assignment).buffer;
      },
      [heartbeatKey]: () => new ByteWriter(2).int16(0).buffer,
      [leaveGroupKey]: () => new ByteWriter(2).int16(0).buffer,
    };
    const answer = answers[apiKey];
    if (answer !== undefined) socket.write(framed(answer()));
  });
  ports.push(Number(address.split(':')[1]));
  return { address, asked };
}

/** JoinGroup, version 0: another member leads. */
function joinAnswer(error: number): Buffer {
  const writer = new ByteWriter(64).int16(error).int32(1);
  for (const text of ['same-index.cooperative', 'other', 'member']) withText(writer, text);
  return writer.array([], () => undefined).buffer;
}

function withText(writer: ByteWriter, text: string): ByteWriter {
  return writer.int16(text.length).bytes(Buffer.from(text));
}
