import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { decodeBundleHeader, encodeBundleHeader } from '../../src/delivery/bundle/format.ts';
import { openSender } from '../../src/delivery/http/http-sender.ts';
import { startDelivery } from '../../src/delivery/worker.ts';
import {
  decodeEnvelope,
  deliveryKey,
  encodeEnvelope,
  envelopeHeader,
} from '../../src/event/envelope.ts';
import { ensureTopics, withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import type { KafkaClient } from '../../src/kafka/client.ts';
import { createProducer } from '../../src/kafka/produce/producer.ts';
import type { Producer } from '../../src/kafka/produce/producer.ts';
import { startConsumeLoop } from '../../src/kafka/consume/consume-loop.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { silentLogger } from '../../src/ops/log.ts';
import type { Role } from '../../src/ops/role.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { createTopology } from '../../src/topology.ts';
import type { Topology } from '../../src/topology.ts';
import { testBroker, testPrefix } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { HandMadeConfig } from './hand-made-config.ts';
import { HandMadeFence } from './hand-made-fence.ts';
import { noPauses } from './hand-made-pauses.ts';

interface Endpoint {
  url: string;
  bodies: string[];
  /** A status; undefined: none, ever. */
  answer: (body: string) => number | undefined;
  close: () => void;
}

/** An endpoint that remembers what it got, and answers as it is told. */
async function startEndpoint(): Promise<Endpoint> {
  const endpoint: Endpoint = {
    url: '',
    bodies: [],
    answer: () => 200,
    close: () => undefined,
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      endpoint.bodies.push(body);
      const status = endpoint.answer(body);
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  endpoint.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return endpoint;
}

describe('the delivery role on Kafka', () => {
  let kafka: KafkaClient;
  let producer: Producer;
  const closers: (() => unknown)[] = [];

  before(async () => {
    const { brokers } = await testBroker();
    kafka = createKafka({ brokers, clientId: 'delivery-test' }, silentLogger);
    producer = await createProducer(kafka, { log: silentLogger });
  });

  after(async () => {
    for (const close of closers.reverse()) await close();
    await producer.close(5_000);
  });

  interface Stage {
    readonly topology: Topology;
    readonly config: HandMadeConfig;
    /** @param aheadMs of the worker's clock */
    start(aheadMs?: number): Promise<Role>;
    publish(destinationId: string, user: string, body: string, topic?: string): Promise<void>;
    read(topic: string): Promise<IncomingRecord[]>;
  }

  async function createStage(
    options: { retryTiersMs?: number[]; formerTiersMs?: number[] } = {},
  ): Promise<Stage> {
    const tiers = (retryTiersMs: number[], prefix: string): Topology =>
      createTopology({
        prefix,
        partitions: 2,
        replicationFactor: 1,
        retryTiersMs,
        extraIngestTopics: [],
      });
    const prefix = testPrefix();
    const topology = tiers(options.retryTiersMs ?? [500, 60_000], prefix);
    const { delivery, deadLetter, attempts, destinationStatus } = topology.topics;
    const wanted = topology.all.filter(
      ({ name }) =>
        [delivery, deadLetter, attempts, destinationStatus].includes(name) ||
        topology.retryTierMs(name) !== undefined,
    );
    const former = options.formerTiersMs ?? [];
    const old = tiers(former, prefix).all.filter(
      ({ name }) => topology.retryTierMs(name) !== undefined,
    );
    await ensureTopics(kafka, [...wanted, ...old]);
    const config = new HandMadeConfig();
    let sequence = 0;
    return {
      topology,
      config,
      start: async (aheadMs = 0) => {
        const clock = { ...systemClock, now: () => Date.now() + aheadMs };
        const own = await createProducer(kafka, { clock, log: silentLogger });
        closers.push(() => own.close(5_000));
        const role = await startDelivery({
          fence: new HandMadeFence(),
          pauses: noPauses,
          kafka,
          topology,
          config,
          producer: own,
          clock,
          log: silentLogger,
          metrics: new Registry(),
          sender: openSender({
            clock,
            timeoutMs: 1_000,
            allowNetworks: ['127.0.0.0/8'],
          }),
          deliveryTimeoutMs: 1_000,
          deletionDelayMs: 30_000,
          retryWindowMs: 60_000,
          maxAgeMs: 3_600_000,
          attempts: 'all',
          maxInFlight: 64,
          maxInFlightPerDestination: 16,
        });
        await eventually(() => {
          assert.ok(role.ready());
          assert.ok(Math.abs(own.clockAheadMs) >= Math.abs(aheadMs) * 0.9);
        });
        return role;
      },
      publish: (destinationId, user, body, topic = delivery) =>
        producer.send([
          {
            topic,
            key: deliveryKey(destinationId, user),
            value: body,
            headers: {
              [envelopeHeader]: encodeEnvelope({
                destinationId,
                sourceId: 'shop',
                messageId: `m${++sequence}`,
                type: 'track',
                configOffset: config.offset,
                appendTimeMs: Date.now(),
                attempts: 0,
              }),
            },
          },
        ]),
      read: async (topic) => {
        const records: IncomingRecord[] = [];
        const loop = startConsumeLoop(kafka, {
          groupId: `${prefix}reader-${Math.random()}`,
          topics: [topic],
          windowRecords: 1_000,
          windowBytes: 1_000_000,
          clock: systemClock,
          log: silentLogger,
          onRecords: (more) => records.push(...more),
        });
        closers.push(() => loop.stop(0));
        await eventually(() => {
          assert.ok(records.length > 0);
        });
        return records;
      },
    };
  }

  function destination(id: string, url: string, changes: Partial<Destination> = {}): Destination {
    return {
      kind: 'Destination',
      id,
      name: id,
      sources: ['shop'],
      enabled: true,
      webhooks: [{ url, headers: {} }],
      payload: 'standard',
      topic: 'shared',
      ...changes,
    };
  }

  const committed = async (topic: string, group: string): Promise<boolean> =>
    withAdmin(kafka, async (admin) => {
      const ranges = await admin.offsets(topic);
      const offsets = (await admin.committedOffsets(group, [topic])).get(topic) ?? [];
      return ranges.every(({ partition, end }) => end === 0 || offsets[partition] === end);
    });

  test('delivers, commits, and after a restart delivers nothing again', async () => {
    const stage = await createStage();
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    stage.config.put(destination('crm', endpoint.url));
    const bodies = Array.from({ length: 50 }, (_, i) => `{"n":${i}}`);
    for (const [i, body] of bodies.entries()) await stage.publish('crm', `u${i % 7}`, body);
    const role = await stage.start();
    await eventually(() => {
      assert.equal(endpoint.bodies.length, 50);
    });
    assert.deepEqual(endpoint.bodies.toSorted(), bodies.toSorted());
    await role.stop(5_000);
    assert.ok(await committed(stage.topology.topics.delivery, stage.topology.groups.delivery));

    const again = await stage.start();
    await stage.publish('crm', 'u', '{"n":"new"}');
    await eventually(() => {
      assert.ok(endpoint.bodies.includes('{"n":"new"}'));
    });
    await again.stop(5_000);
    assert.equal(endpoint.bodies.length, 51);
  });

  test('with strict order, a user waits behind a failed event through a restart, and others go on', async () => {
    const stage = await createStage();
    const dedicated = stage.topology.dedicatedTopic('crm');
    await ensureTopics(kafka, [dedicated]);
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    endpoint.answer = (body) => (body === '"first"' ? 503 : 200);
    const own = { topic: 'dedicated', order: 'user', orderFor: '10m' } as const;
    stage.config.put(destination('crm', endpoint.url, own));
    for (const body of ['first', 'second', 'third'])
      await stage.publish('crm', 'u1', `"${body}"`, dedicated.name);
    await stage.publish('crm', 'u2', '"of another"', dedicated.name);
    const role = await stage.start();
    await eventually(() => {
      assert.deepEqual(endpoint.bodies.toSorted(), ['"first"', '"first"', '"of another"']);
    });
    await role.stop(5_000);

    endpoint.answer = () => 200;
    const again = await stage.start();
    await eventually(() => {
      assert.deepEqual(endpoint.bodies.slice(3), ['"first"', '"second"', '"third"']);
    });
    await again.stop(5_000);
  });

  test('sends a failed event again from its retry topic, with the same bytes', async () => {
    const stage = await createStage();
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    let failures = 2;
    endpoint.answer = () => (failures-- > 0 ? 503 : 200);
    stage.config.put(destination('crm', endpoint.url));
    const role = await stage.start();
    closers.push(() => role.stop(0));
    // The second tier is a minute: only the first retry is waited for.
    failures = 1;
    await stage.publish('crm', 'u', '{"once":"more"}');
    await eventually(() => {
      assert.deepEqual(endpoint.bodies, ['{"once":"more"}', '{"once":"more"}']);
    });
    await role.stop(5_000);
  });

  for (const aheadMs of [30_000, -30_000])
    test(`a retry is in time though the worker's clock is off by ${aheadMs} ms`, async () => {
      const tierMs = 1_000;
      const stage = await createStage({ retryTiersMs: [tierMs] });
      const endpoint = await startEndpoint();
      closers.push(endpoint.close);
      const cameMs: number[] = [];
      endpoint.answer = () => (cameMs.push(performance.now()) < 4 ? 503 : 200);
      stage.config.put(destination('crm', endpoint.url));
      const role = await stage.start(aheadMs);
      closers.push(() => role.stop(0));
      await stage.publish('crm', 'u', '{"once":"more"}');
      await eventually(() => {
        assert.equal(cameMs.length, 4);
      });
      for (const [index, atMs] of cameMs.slice(1).entries())
        assert.ok(atMs - (cameMs[index] ?? 0) >= tierMs * 0.85, `attempts at ${cameMs.join()}`);
      await role.stop(5_000);
    });

  test('keeps what is refused in the dead letters, with envelope, reason and detail', async () => {
    const stage = await createStage();
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    endpoint.answer = () => 422;
    stage.config.put(destination('crm', endpoint.url));
    const role = await stage.start();
    closers.push(() => role.stop(0));
    await stage.publish('crm', 'u', '{"bad":true}');
    const [dead] = await stage.read(stage.topology.topics.deadLetter);
    assert.equal(dead?.value?.toString(), '{"bad":true}');
    assert.equal(dead.key?.toString(), 'crm:u');
    assert.equal(dead.headers['reason']?.toString(), 'http-422');
    assert.equal(dead.headers['detail']?.toString(), 'answered 422');
    assert.equal(decodeEnvelope(dead.headers[envelopeHeader] ?? Buffer.alloc(0))?.attempts, 1);
    await role.stop(5_000);
  });

  test('reads the retry topics of former tiers until they are empty', async () => {
    const stage = await createStage({ formerTiersMs: [7_000] });
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    stage.config.put(destination('crm', endpoint.url));
    const role = await stage.start();
    closers.push(() => role.stop(0));
    await stage.publish('crm', 'u', '{"old":1}', `${stage.topology.prefix}retry.7s`);
    await eventually(() => {
      assert.deepEqual(endpoint.bodies, ['{"old":1}']);
    });
    await role.stop(5_000);
  });

  test('a retry record of a clock that is hours ahead, and one that cannot be true, stop no partition', async () => {
    const stage = await createStage({ retryTiersMs: [500] });
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    stage.config.put(destination('crm', endpoint.url));
    const topic = stage.topology.retryTopic(500);
    const dueMs = Date.now() + 5 * 3_600_000;
    const header = { destinationId: 'crm', events: 1, dueMs, oldestMs: dueMs };
    const envelope = encodeEnvelope({
      destinationId: 'crm',
      sourceId: 'shop',
      messageId: 'ahead',
      type: 'track',
      configOffset: stage.config.offset,
      appendTimeMs: dueMs,
      attempts: 1,
      dueMs,
    });
    const impossible = encodeBundleHeader({ ...header, events: 349_000 });
    await producer.send(
      [envelope, impossible].map((said) => ({
        topic,
        key: 'crm:u',
        value: '{"ahead":1}',
        headers: { [envelopeHeader]: said },
      })),
    );
    const role = await stage.start();
    closers.push(() => role.stop(0));
    const [dead, ...more] = await stage.read(stage.topology.topics.deadLetter);
    assert.equal(dead?.headers['reason']?.toString(), 'malformed');
    assert.equal(dead.headers[envelopeHeader]?.toString(), impossible);
    assert.equal(more.length, 0);
    await eventually(() => {
      assert.deepEqual(endpoint.bodies, ['{"ahead":1}']);
    });
    await role.stop(5_000);
    assert.ok(await committed(topic, stage.topology.groups.delivery));
  });

  test('joins a dedicated topic when the configuration names it', async () => {
    const stage = await createStage();
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    const role = await stage.start();
    closers.push(() => role.stop(0));
    const topic = stage.topology.dedicatedTopic('big');
    await ensureTopics(kafka, [topic]);
    await stage.publish('big', 'u', '{"big":1}', topic.name);
    stage.config.put(destination('big', endpoint.url, { topic: 'dedicated' }));
    await eventually(() => {
      assert.deepEqual(endpoint.bodies, ['{"big":1}']);
    });
    await role.stop(5_000);
    assert.ok(await committed(topic.name, stage.topology.dedicatedGroup('big')));
  });

  test('leaves what it has not sent when it stops to the next one', async () => {
    const stage = await createStage();
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    stage.config.put(destination('crm', endpoint.url, { maxInFlight: 1 }));
    for (let i = 0; i < 300; i++) await stage.publish('crm', `u${i}`, `{"n":${i}}`);
    const first = await stage.start();
    await eventually(() => {
      assert.ok(endpoint.bodies.length > 5);
    });
    await first.stop(5_000);
    const second = await stage.start();
    await eventually(() => {
      assert.equal(new Set(endpoint.bodies).size, 300);
    });
    await second.stop(5_000);
    assert.equal(endpoint.bodies.length, 300);
  });

  test('stops within an attempt although an endpoint hangs, and loses nothing by it', async () => {
    const stage = await createStage({ retryTiersMs: [500] });
    const [hanging, healthy] = [await startEndpoint(), await startEndpoint()];
    closers.push(hanging.close, healthy.close);
    hanging.answer = () => undefined;
    stage.config.put(destination('hung', hanging.url));
    stage.config.put(destination('crm', healthy.url));
    const bodies = Array.from({ length: 60 }, (_, i) => `{"n":${i}}`);
    for (const [i, body] of bodies.entries()) {
      await stage.publish('hung', `u${i}`, body);
      await stage.publish('crm', `u${i}`, body);
    }
    const first = await stage.start();
    await eventually(() => {
      assert.ok(hanging.bodies.length > 0 && healthy.bodies.length > 0);
    });
    // What is in flight ends with its attempt, after one second, and nothing else is waited for.
    const graceMs = 120_000;
    const graceOver = delay(graceMs, 'the grace period is over', { ref: false });
    const stopped = first.stop(graceMs).then(() => 'stopped');
    assert.equal(await Promise.race([stopped, graceOver]), 'stopped');

    hanging.answer = () => 200;
    const second = await stage.start();
    await eventually(() => {
      assert.deepEqual(new Set(healthy.bodies), new Set(bodies));
      assert.deepEqual(new Set(hanging.bodies), new Set(bodies));
    });
    await second.stop(5_000);
    // What the first had finished did not come again.
    assert.equal(healthy.bodies.length, 60);
  });

  test('an endpoint that is away has its events in few records, and gets each when it is back', async () => {
    const stage = await createStage({ retryTiersMs: [500] });
    const endpoint = await startEndpoint();
    closers.push(endpoint.close);
    endpoint.answer = () => 503;
    stage.config.put(destination('crm', endpoint.url));
    const bodies = Array.from({ length: 300 }, (_, i) => `{"n":${i}}`);
    await Promise.all(bodies.map((body, i) => stage.publish('crm', `u${i}`, body)));
    const role = await stage.start();
    const retries = await stage.read(stage.topology.retryTopic(500));
    await eventually(() => {
      const sizes = retries.map(
        ({ headers }) => decodeBundleHeader(headers[envelopeHeader] ?? Buffer.alloc(0))?.events,
      );
      assert.ok(
        sizes.some((events = 1) => events > 50),
        `events in a record: ${String(sizes)}`,
      );
    });
    endpoint.answer = () => 200;
    endpoint.bodies = [];
    await eventually(() => {
      assert.deepEqual(new Set(endpoint.bodies), new Set(bodies));
    });
    await role.stop(5_000);
    assert.ok(await committed(stage.topology.retryTopic(500), stage.topology.groups.delivery));
  });
});
