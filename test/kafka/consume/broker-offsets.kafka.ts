import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BrokerOffsets } from '../../../src/kafka/consume/broker-offsets.ts';
import { eventually } from '../../harness/eventually.ts';
import { makeTopic, testKafka } from '../topics.ts';

test('a consumer that is stopped leaves no connection, though it was about to ask for offsets', async () => {
  const kafka = await testKafka();
  const topic = await makeTopic(kafka, 1);
  const before = connections();
  const offsets = new BrokerOffsets(kafka);
  const connecting = offsets.ranges(topic);
  offsets.close();
  await assert.rejects(connecting);
  await assert.rejects(offsets.ranges(topic), { code: 'stopped' });
  await eventually(() => {
    assert.equal(connections(), before);
  });
});

function connections(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
}
