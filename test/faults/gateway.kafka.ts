import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Agent, request } from 'undici';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { readRange } from '../../src/kafka/read-range.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const authorization = `Basic ${Buffer.from('wk:').toString('base64')}`;
const callsPerRequest = 20;
const connections = 16;
/** So many calls are acknowledged before each kill, so that it meets a gateway at work. */
const callsBeforeKill = 2_000;

type Cluster = Awaited<ReturnType<typeof startBrokers>>;

/** A broker of its own: one test takes it away. */
let cluster: Cluster;
let postrider: Installation;
let gateway: RunningRole;

before(async () => {
  cluster = await startBrokers(1);
  postrider = await install({ KAFKA_BROKERS: cluster.brokers.join(',') });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const stdin = JSON.stringify({ kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] });
  assert.equal((await postrider.run(['apply', '-f', '-'], { stdin })).code, 0);
  gateway = await postrider.start('gateway');
});

after(async () => {
  await gateway.kill('SIGKILL');
  await cluster.stop();
});

/** Sends on all connections until the gateway is gone; gives the ids of the calls that it acknowledged. */
async function press(url: string, name: string, acknowledged: Set<string>): Promise<void> {
  const agent = new Agent({ connections, pipelining: 1 });
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      for (let n = 0; ; n += 1) {
        const ids = Array.from(
          { length: callsPerRequest },
          (__, i) => `${name}-${connection}-${n}-${i}`,
        );
        const batch = ids.map((messageId) => ({ type: 'page', messageId, userId: messageId }));
        const answer = await request(`${url}/v1/batch`, {
          method: 'POST',
          headers: { authorization },
          body: JSON.stringify({ batch }),
          dispatcher: agent,
        }).catch(() => undefined);
        if (answer === undefined) return;
        await answer.body.dump();
        assert.equal(answer.statusCode, 200);
        for (const id of ids) acknowledged.add(id);
      }
    }),
  );
  await agent.destroy();
}

async function idsInKafka(): Promise<Set<string>> {
  const { KAFKA_BROKERS = '', TOPIC_PREFIX = '' } = postrider.environment;
  const kafka = createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'test' }, silentLogger);
  const topic = `${TOPIC_PREFIX}ingest`;
  const ranges = await withAdmin(kafka, (admin) => admin.offsets(topic));
  const ids = new Set<string>();
  for await (const { value } of readRange(kafka, { topic, ranges })) {
    ids.add((JSON.parse(String(value)) as { messageId: string }).messageId);
  }
  return ids;
}

test('kill -9 of a gateway under load loses no call that a client saw acknowledged', async () => {
  const acknowledged = new Set<string>();
  for (let round = 0; round < 3; round += 1) {
    const before = acknowledged.size;
    const pressed = press(gateway.gatewayUrl, `round-${round}`, acknowledged);
    await eventually(() => {
      assert.ok(acknowledged.size - before > callsBeforeKill, 'the load has not got going yet');
    });
    await gateway.kill('SIGKILL');
    await pressed;
    gateway = await postrider.start('gateway');
  }
  const written = await idsInKafka();
  const missing = [...acknowledged].filter((id) => !written.has(id));
  assert.deepEqual(missing, []);
});

test('SIGTERM under load: everything accepted is answered, and the role ends with code 0', async () => {
  const acknowledged = new Set<string>();
  const pressed = press(gateway.gatewayUrl, 'term', acknowledged);
  await eventually(() => {
    assert.ok(acknowledged.size > callsBeforeKill, 'the load has not got going yet');
  });
  assert.equal(await gateway.kill('SIGTERM'), 0);
  await pressed;
  const written = await idsInKafka();
  assert.deepEqual(
    [...acknowledged].filter((id) => !written.has(id)),
    [],
  );
  gateway = await postrider.start('gateway');
});

interface Said {
  readonly status: number;
  readonly code: string | undefined;
  readonly retryAfter: string | undefined;
}

async function send(messageId: string): Promise<Said> {
  const { statusCode, headers, body } = await request(`${gateway.gatewayUrl}/v1/page`, {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify({ userId: 'u', messageId }),
  });
  const { code } = (await body.json()) as { code?: string };
  return { status: statusCode, code, retryAfter: headers['retry-after']?.toString() };
}

const unavailable: Said = { status: 503, code: 'kafka-unavailable', retryAfter: '2' };

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

test('Kafka away: 503 with Retry-After and nothing kept; back: success again, by itself', async () => {
  assert.equal((await send('before')).status, 200);
  await cluster.kill(1);
  const killedMs = performance.now();
  assert.deepEqual(await send('given-up'), unavailable);
  const waitedMs = performance.now() - killedMs;
  assert.equal(await metric('postrider_gateway_kafka_available'), 0);
  // At once now: a hundred one after the other take less than the one that waited for Kafka.
  const startedMs = performance.now();
  for (let n = 0; n < 100; n += 1) assert.deepEqual(await send(`away-${n}`), unavailable);
  assert.ok(performance.now() - startedMs < waitedMs);
  assert.equal(await metric('postrider_gateway_in_flight_bytes'), 0);
  await cluster.start(1);
  await eventually(async () => {
    assert.deepEqual(await send('after'), { status: 200, code: undefined, retryAfter: undefined });
  }, 60_000);
  const written = await idsInKafka();
  assert.ok(written.has('before') && written.has('after'));
  assert.ok(![...written].some((id) => id.startsWith('away')));
});
