import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import RudderAnalytics from '@rudderstack/rudder-sdk-node';
import { Analytics } from '@segment/analytics-node';
import LegacyAnalytics from 'analytics-node';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation } from '../harness/postrider.ts';
import { goClient, pythonClient } from './recorded-requests.ts';

type Body = Record<string, unknown>;

const writeKey = 'wk_clients';
const arrived: { readonly id: string; readonly body: Body }[] = [];
let receiver: Receiver;
let dev: Awaited<ReturnType<Installation['startCommand']>>;
let gateway: string;

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: ({ headers, body }) => {
      const id = String(headers['idempotency-key']);
      arrived.push({ id, body: JSON.parse(body.toString()) as Body });
      return { status: 200 };
    },
  });
  const postrider = await install();
  dev = await postrider.startCommand(['dev', '--json', '-f', '-'], {
    stdin: JSON.stringify([
      { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: [writeKey] },
      {
        kind: 'Destination',
        id: 'crm',
        name: 'CRM',
        sources: ['shop'],
        webhooks: [{ url: receiver.url }],
        idempotencyHeader: 'Idempotency-Key',
      },
    ]),
  });
  gateway = (JSON.parse(dev.firstLine) as { gateway: string }).gateway;
});

after(async () => {
  await dev.kill('SIGTERM');
  await receiver.close();
});

/** The body of the user's only call of that type. */
async function bodyOf(user: string, type: string): Promise<Body> {
  return eventually(() => {
    const found = arrived.filter(({ body }) => {
      const of = body['userId'] ?? body['anonymousId'] ?? body['User ID'];
      return of === user && body['type'] === type;
    });
    assert.equal(found.length, 1, `${type} of ${user}`);
    return found[0]?.body as Body;
  });
}

function withoutTime({ timestamp, ...rest }: Body): Body {
  assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  return rest;
}

/** What stands in the context is the client's business. */
function withoutContext({ context, ...rest }: Body): Body {
  assert.equal(typeof context, 'object');
  return withoutTime(rest);
}

const properties = { revenue: 39.95, items: ['é', '😀'], nested: { a: null } };
const traits = { plan: 'free' };

function documented(user: string): Record<string, Body> {
  return {
    track: { version: 1, type: 'track', userId: user, event: 'Order Completed', properties },
    page: {
      version: 1,
      type: 'page',
      userId: user,
      properties: { ...properties, name: 'Pricing', category: 'Docs' },
    },
    identify: { version: 1, type: 'identify', userId: user, traits },
    group: { version: 1, type: 'group', userId: user, groupId: 'g', traits },
    alias: { version: 1, type: 'alias', 'Previous ID': 'before', 'User ID': user },
  };
}

async function assertArrived(user: string): Promise<void> {
  for (const [type, expected] of Object.entries(documented(user))) {
    assert.deepEqual(withoutContext(await bodyOf(user, type)), expected);
  }
}

/** An hour ago, as somebody who imports history says. */
const past = new Date(Date.now() - 3_600_000);

async function assertPast(user: string): Promise<void> {
  const { timestamp } = await bodyOf(user, 'track');
  const differenceMs = Math.abs(Date.parse(String(timestamp)) - past.getTime());
  assert.ok(differenceMs < 60_000, `${String(timestamp)} instead of ${past.toISOString()}`);
}

/** The part that all three clients have in common. */
interface Client {
  track(call: {
    userId: string;
    event: string;
    properties: typeof properties;
    timestamp: Date;
  }): unknown;
  page(call: {
    userId: string;
    name: string;
    category: string;
    properties: typeof properties;
  }): unknown;
  identify(call: { userId: string; traits: typeof traits }): unknown;
  group(call: { userId: string; groupId: string; traits: typeof traits }): unknown;
  alias(call: { userId: string; previousId: string }): unknown;
}

function callAll(client: Client, userId: string): void {
  client.track({ userId, event: 'Order Completed', properties, timestamp: past });
  client.page({ userId, name: 'Pricing', category: 'Docs', properties });
  client.identify({ userId, traits });
  client.group({ userId, groupId: 'g', traits });
  client.alias({ userId, previousId: 'before' });
}

test('@segment/analytics-node: closeAndFlush succeeds and every call arrives', async () => {
  const userId = 'segment-user';
  const client = new Analytics({ writeKey, host: gateway });
  const errors: unknown[] = [];
  client.on('error', (error) => errors.push(error));
  callAll(client, userId);
  await client.closeAndFlush();
  assert.deepEqual(errors, []);
  await assertArrived(userId);
  await assertPast(userId);
});

test('@rudderstack/rudder-sdk-node: gzip as a form, flush succeeds and every call arrives', async () => {
  const userId = 'rudder-user';
  const client = new RudderAnalytics(writeKey, { dataPlaneUrl: gateway });
  callAll(client, userId);
  await client.flush();
  await assertArrived(userId);
  await assertPast(userId);
});

test('analytics-node 6: flush succeeds and every call arrives', async () => {
  const userId = 'legacy-user';
  const errors: unknown[] = [];
  const client = new LegacyAnalytics(writeKey, {
    host: gateway,
    errorHandler: (error) => {
      errors.push(error);
    },
  });
  callAll(client, userId);
  await client.flush();
  assert.deepEqual(errors, []);
  await assertArrived(userId);
  await assertPast(userId);
});

for (const recorded of [goClient, pythonClient]) {
  test(`${recorded.client}: its recorded request succeeds and every call arrives`, async () => {
    const { hostname, port, host } = new URL(gateway);
    const socket = connect(Number(port), hostname);
    socket.write(recorded.bytes(host, writeKey));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    assert.match(answer.toString(), /^HTTP\/1.1 200 OK\r\n.*\r\n\r\n\{"success":true\}$/s);
    for (const { messageId, type } of recorded.calls) {
      await eventually(() => {
        const bodies = arrived.filter(({ id }) => id === messageId);
        assert.deepEqual(
          bodies.map(({ body }) => body['type']),
          [type],
        );
      });
    }
  });
}

test('analytics-go 2: what it says on the batch and in its own spelling arrives as documented', async () => {
  const context = { library: { name: 'analytics-go', version: '2.1.0' } };
  const track = withoutTime(await bodyOf('go-user', 'track'));
  assert.deepEqual(track, {
    version: 1,
    type: 'track',
    userId: 'go-user',
    event: 'Order Completed',
    properties: { big: 1e21, html: '<b> & é' },
    context,
  });
  const page = withoutTime(await bodyOf('go-user', 'page'));
  const named = { path: '/pricing', name: 'Pricing', category: 'Docs' };
  assert.deepEqual(page, {
    version: 1,
    type: 'page',
    userId: 'go-user',
    properties: named,
    context,
  });
  const identify = withoutTime(await bodyOf('go-anonymous', 'identify'));
  assert.deepEqual(identify, {
    version: 1,
    type: 'identify',
    anonymousId: 'go-anonymous',
    traits,
    context,
  });
});

test('analytics-python: numeric ids and nulls arrive as documented', async () => {
  const context = { library: { name: 'analytics-python', version: '1.4.0' } };
  const track = withoutTime(await bodyOf('4711', 'track'));
  assert.deepEqual(track, {
    version: 1,
    type: 'track',
    userId: '4711',
    event: 'Order Completed',
    properties: { total: 39.95, note: 'é😀' },
    context,
  });
  const screen = withoutTime(await bodyOf('python-anonymous', 'screen'));
  assert.deepEqual(screen, {
    version: 1,
    type: 'screen',
    anonymousId: 'python-anonymous',
    name: 'Start',
    properties: {},
    context,
  });
});
