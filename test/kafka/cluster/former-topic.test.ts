import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createKafka } from '../../../src/kafka/client.ts';
import type { Cluster } from '../../../src/kafka/cluster/cluster.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import {
  apiVersionsKey,
  describedBy,
  metadataKey,
  startWireBroker,
  versionsAnswer,
} from '../wire-broker.ts';

const [former, present] = ['aa'.repeat(16), 'bb'.repeat(16)];

test('a broker that goes on telling of a topic that was made again is not believed, whoever is asked first', async (t) => {
  for (const first of [0, 1]) {
    const told = [former, present, present];
    const cluster = await startCluster(t, told, first);
    const ids: (string | undefined)[] = [];
    for (let turn = 0; turn < 9; turn += 1) {
      await cluster.refreshInTurn(['t']);
      ids.push(cluster.topic('t')?.id);
    }
    assert.deepEqual(ids, [told[first], ...Array.from({ length: 8 }, () => present)]);
  }
});

test('a topic that was made again is known as soon as two brokers say so, or the only one that there is', async (t) => {
  for (const brokers of [1, 2, 3]) {
    const told = Array.from({ length: brokers }, () => former);
    const cluster = await startCluster(t, told, 0);
    await cluster.refresh(['t']);
    assert.equal(cluster.topic('t')?.id, former);
    told.fill(present);
    await cluster.refresh(['t']);
    assert.equal(cluster.topic('t')?.id, present);
  }
});

test('what one broker says when it is asked alone makes no other topic known', async (t) => {
  const cluster = await startCluster(t, [present, former], 0);
  await cluster.refresh(['t']);
  assert.equal((await cluster.describe(2, 't'))?.id, former);
  assert.equal(cluster.topic('t')?.id, present);
});

/** Brokers each of which says that the topic `t` has this id; the client knows the address of one of them. */
async function startCluster(
  t: TestContext,
  told: readonly string[],
  first: number,
): Promise<Cluster> {
  const ports: number[] = [];
  const addresses: string[] = [];
  for (const index of told.keys()) {
    const address = await startWireBroker(t, ({ apiKey, framed }, socket) => {
      if (apiKey === apiVersionsKey) socket.write(framed(versionsAnswer({ [metadataKey]: 12 })));
      if (apiKey === metadataKey)
        socket.write(framed(describedBy(ports, told[index] ?? '', { leader: 1, epoch: 0 })));
    });
    addresses.push(address);
    ports.push(Number(address.split(':')[1]));
  }
  const brokers = addresses.slice(first, first + 1);
  const cluster = createKafka({ brokers, clientId: 'test' }, silentLogger).openCluster();
  t.after(() => {
    cluster.close();
  });
  return cluster;
}
