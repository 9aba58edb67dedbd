import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sendTest, testEvent } from '../../src/delivery/send-test.ts';
import type { Envelope } from '../../src/event/envelope.ts';
import { buildDeleteBody } from '../../src/event/body.ts';
import { systemClock } from '../../src/ops/clock.ts';
import { exampleDestination } from '../resources/examples.ts';
import { http } from './http/sender-scene.ts';
import { answerOk, failsWith, hourMs, SimulatedWorld } from './simulated-world.ts';

function worldWith(...urls: readonly string[]): SimulatedWorld {
  const world = new SimulatedWorld();
  point(world, ...urls);
  return world;
}

/** Applies the destination with these URLs. */
function point(world: SimulatedWorld, ...urls: readonly string[]): void {
  const webhooks = urls.map((url) => ({ url }));
  world.addDestination('crm', exampleDestination({ webhooks }));
}

function pathsOf({ requests }: SimulatedWorld): string[] {
  return requests.map(({ path }) => path);
}

const url = 'https://crm.example.com/users/{{userId}}';
const urlValues = { userId: 'u 1' };

describe('an event for a URL with placeholders', () => {
  test('goes to the URL with the values that the router saw, also after a failure', async () => {
    const world = worldWith(url);
    world.answer = () => (world.requests.length < 3 ? failsWith(503) : answerOk);
    world.publish('crm', 'u1', { urlValues });
    await world.clock.pass(hourMs);
    assert.deepEqual(pathsOf(world), ['/users/u%201', '/users/u%201', '/users/u%201']);
    assert.deepEqual(world.delivered, ['m1']);
  });

  test('is a dead letter without a request if it lacks a value, and says which', async () => {
    const world = worldWith('https://crm.example.com/{{properties.accountId}}');
    world.publish('crm', 'u1', { urlValues: { 'properties.accountId': null } });
    await world.clock.pass(1_000);
    assert.deepEqual(world.requests, []);
    assert.deepEqual(world.deadLetters, [
      {
        messageId: 'm1',
        reason: 'no-url',
        detail: 'never tried (it has no properties.accountId for the URL)',
        attempts: 0,
      },
    ]);
    assert.deepEqual(world.finished, ['m1']);
  });

  test('goes to the URLs that can be made, and waits for these alone', async () => {
    const world = worldWith(url, 'https://log.example.com/');
    world.answer = () => (world.requests.length < 2 ? failsWith(503) : answerOk);
    world.publish('crm', 'u1', { urlValues: { userId: null } });
    await world.clock.pass(hourMs);
    assert.deepEqual(
      world.requests.map((request) => request.url),
      ['https://log.example.com/', 'https://log.example.com/'],
    );
    assert.deepEqual(world.delivered, ['m1']);
  });

  test('has one breaker with all others for the URL as it is configured', async () => {
    const requestsTo = async (target: string): Promise<string[]> => {
      const world = worldWith(target);
      world.answer = () => failsWith(503);
      for (let user = 0; user < 200; user += 1)
        world.publish('crm', `u${user}`, { urlValues: { userId: `u${user}` } });
      await world.clock.pass(hourMs);
      return pathsOf(world);
    };
    const filled = await requestsTo(url);
    assert.equal(filled.length, (await requestsTo('https://crm.example.com/users')).length);
    assert.ok(new Set(filled).size > 50);
  });
});

/** Puts an event with this body on its way, as a router wrote it that had read another URL. */
function publishBody(world: SimulatedWorld, body: object, changes: Partial<Envelope> = {}): void {
  world.bodyOf = () => JSON.stringify(body);
  world.publish('crm', 'u1', changes);
}

describe('a URL that has changed since an event was routed', () => {
  test('takes the values that it wants besides from the body', async () => {
    const world = worldWith(
      'https://crm.example.com/{{userId}}/{{properties.id}}/{{previousId|-}}',
    );
    publishBody(world, { userId: 'of the body', properties: { id: 7 } }, { urlValues });
    publishBody(world, { 'Previous ID': 'a', 'User ID': 'b', properties: { id: '' } });
    publishBody(world, { 'Previous ID': 'a', 'User ID': 'b', properties: { id: 'x' } });
    await world.clock.pass(1_000);
    assert.deepEqual(pathsOf(world), ['/u%201/7/-', '/b/x/a']);
    assert.deepEqual(
      world.deadLetters.map(({ messageId, reason }) => [messageId, reason]),
      [['m2', 'no-url']],
    );
  });

  test('does not look into a body that has a shape, where a path may mean something else', async () => {
    const world = new SimulatedWorld();
    const template = { userId: '{{event}}' };
    world.addDestination('crm', exampleDestination({ webhooks: [{ url }], body: { template } }));
    publishBody(world, { userId: 'Order Completed' });
    await world.clock.pass(1_000);
    assert.deepEqual(world.requests, []);
    assert.equal(world.deadLetters[0]?.reason, 'no-url');
  });
});

test('a deletion is told at the URL of its user, whatever shape bodies have', async () => {
  const world = new SimulatedWorld();
  const body = { pick: ['event'] };
  world.addDestination('crm', exampleDestination({ webhooks: [{ url }], body }));
  world.bodyOf = () => buildDeleteBody('u/1', '2026-11-24T10:00:00.000Z');
  world.publish('crm', 'u/1', { type: 'delete' });
  await world.clock.pass(1_000);
  assert.deepEqual(pathsOf(world), ['/users/u%2F1']);
});

test('a test event goes to a whole URL, by the configured method and in the configured shape', async () => {
  const requests: string[] = [];
  const origin = await http((request, response) => {
    request.on('data', (chunk: Buffer) => {
      requests.push(`${request.method ?? ''} ${request.url ?? ''} ${chunk.toString()}`);
      response.end();
    });
  });
  const destination = exampleDestination({
    webhooks: [{ url: `${origin}/{{userId}}/{{properties.accountId}}`, method: 'PUT' }],
    body: { template: { text: '{{event}}' } },
  });
  const answers = await sendTest(destination, testEvent(destination, '2026-11-24T10:00:00.000Z'), {
    clock: systemClock,
    timeoutMs: 5_000,
    allowNetworks: ['127.0.0.0/8'],
  });
  assert.deepEqual(requests, ['PUT /postrider-test/postrider-test {"text":"Postrider Test"}']);
  assert.deepEqual(
    answers.map(({ outcome, publicUrl }) => [outcome.kind, publicUrl]),
    [['delivered', `${origin}/{{userId}}/{{properties.accountId}}`]],
  );
});
