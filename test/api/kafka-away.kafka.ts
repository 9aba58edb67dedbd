import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Problem } from '../../src/http-api/answers.ts';
import { startBrokers } from '../harness/broker.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type RunningRole } from '../harness/postrider.ts';

/** A broker of its own, which is killed. */
let cluster: Awaited<ReturnType<typeof startBrokers>>;
let api: RunningRole;

before(async () => {
  cluster = await startBrokers(1);
  const postrider = await install({ KAFKA_BROKERS: cluster.brokers.join(',') });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  api = await postrider.start('api');
});

after(async () => {
  await api.kill('SIGKILL');
  await cluster.stop();
});

async function ask(method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${api.apiUrl}/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    // Longer than whatever the API waits for Kafka.
    signal: AbortSignal.timeout(40_000),
  });
}

test('while Kafka is away, changes are refused with a sentence, nothing is half done, and it recovers by itself', async () => {
  const app = { name: 'App', writeKeys: ['wk_app'] };
  assert.equal((await ask('PUT', '/sources/app', app)).status, 201);
  await cluster.kill(1);
  const hook = { name: 'Hook', sources: ['app'], webhooks: [{ url: 'https://hook.example.com' }] };
  const refused = await Promise.all([
    ask('PUT', '/destinations/hook', hook),
    ask('PATCH', '/sources/app', { name: 'Changed' }),
    ask('DELETE', '/sources/app'),
  ]);
  // By now nobody knows any more whether what is known here is new.
  refused.push(await ask('GET', '/sources/app'));
  for (const answer of refused) {
    const { detail } = (await answer.json()) as Problem;
    assert.equal(answer.status, 503, detail);
    assert.match(detail, /Kafka/);
  }
  await cluster.start(1);
  const made = await eventually(async () => {
    const answer = await ask('PUT', '/destinations/hook', hook);
    assert.ok([200, 201].includes(answer.status), String(answer.status));
    return answer;
  });
  const read = (await (await ask('GET', '/destinations/hook')).json()) as typeof hook;
  assert.deepEqual([read.name, read.sources], [hook.name, hook.sources]);
  assert.ok(made.headers.has('etag'));
});
