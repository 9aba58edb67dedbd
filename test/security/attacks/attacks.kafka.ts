import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { eventually } from '../../harness/eventually.ts';
import { keyHeader, Scene, source } from './scene.ts';

/** Each test is an attack that once succeeded, done again from outside, with what its attacker may have. */

let scene: Scene;

before(async () => {
  scene = await Scene.start();
});

after(() => scene.stop());

/** As large as a batch may have them, and many times larger once they are parsed. */
const heavyContext = { a: Array<object>(10_900).fill({}) };
const heavyBatch = Array.from({ length: 490 }, (_, index) => ({
  type: 'track',
  event: 'E',
  userId: 'u',
  messageId: 'same',
  properties: { index },
}));

test('calls that are large once they are parsed do not end the console, and their event can be looked at', async () => {
  await scene.apply(source('heavy', 'wk_heavy'), scene.destination('heavy', 'heavy'));
  const batch = { batch: heavyBatch, context: heavyContext };
  assert.equal((await scene.post('batch', batch, keyHeader('wk_heavy'))).status, 200);
  await eventually(() => {
    assert.ok(scene.arrivedAt('heavy').length > 0);
  });
  const asked = `${scene.console.consoleUrl}/api/v1/events?message=same`;
  const answer = await fetch(asked);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /"destination":"heavy"/);
});

interface Letter {
  readonly partition: number;
  readonly offset: number;
  readonly source: string;
  readonly reason: string;
}

test('a destination that leads back to the gateway gets each event once, and others do too', async () => {
  const url = `${scene.gateway.gatewayUrl}/v1/track`;
  const back = { url, headers: { Authorization: keyHeader('wk_loop').authorization } };
  await scene.apply(
    source('loop', 'wk_loop'),
    scene.destination('loop-victim', 'loop'),
    ...['loop-1', 'loop-2'].map((id) => ({
      ...scene.destination(id, 'loop'),
      webhooks: [back],
    })),
  );
  const call = { type: 'track', event: 'E', userId: 'u', messageId: 'round' };
  assert.equal((await scene.post('track', call, keyHeader('wk_loop'))).status, 200);
  const letters = await eventually(async () => {
    const listed = JSON.parse(await scene.run(['dead-letters', 'list', '-o', 'json'])) as Letter[];
    const found = listed.filter(({ source: of }) => of === 'loop');
    assert.equal(found.length, 2);
    return found;
  });
  for (const { partition, offset, reason } of letters) {
    assert.equal(reason, 'http-400');
    const shown = await scene.run(['dead-letters', 'show', `${partition}:${offset}`]);
    assert.match(shown, /This is an event that Postrider delivers/);
  }
  assert.equal(scene.arrivedAt('loop-victim').length, 1);
});

test('who guesses a message id, and sends it first with a public key, suppresses nothing', async () => {
  await scene.apply(
    source('orders', 'wk_page', 'wk_backend'),
    scene.destination('orders', 'orders'),
  );
  const order = { type: 'track', event: 'Order Completed', userId: 'u', messageId: 'order-1001' };
  const send = async (writeKey: string, call: object): Promise<void> => {
    assert.equal((await scene.post('track', call, keyHeader(writeKey))).status, 200);
  };
  await send('wk_page', order);
  await send('wk_page', { ...order, properties: { revenue: 0 } });
  const real = { ...order, properties: { revenue: 39.95, items: ['a'] } };
  await send('wk_backend', real);
  await send('wk_backend', { ...real, properties: { items: ['a'], revenue: 39.95 } });
  await send('wk_backend', { ...order, event: 'Last', messageId: 'last' });
  const arrived = await eventually(() => {
    const bodies = scene.arrivedAt('orders').map(({ body }) => body.toString());
    assert.ok(bodies.some((body) => body.includes('"Last"')));
    return bodies;
  });
  // One user's calls are delivered in order: what is not there now does not come.
  assert.equal(arrived.filter((body) => body.includes('39.95')).length, 1);
  assert.equal(arrived.length, 4);
});

test('thousands of unknown field names cost no more than the same bytes in the properties', async () => {
  await scene.apply(source('names', 'wk_names'));
  const request = (round: number, isOdd: boolean): Promise<Response> => {
    const batch = Array.from({ length: 15 }, (_, call) => {
      const names = Array.from(
        { length: 2_000 },
        (_, n) => [`prop${round}${call}${n}`, 1] as const,
      );
      const fields = Object.fromEntries(names);
      return { type: 'page', userId: 'u', ...(isOdd ? fields : { properties: fields }) };
    });
    return scene.post('batch', { batch }, keyHeader('wk_names'));
  };
  const cpuOf = (isOdd: boolean): Promise<number> =>
    scene.cpuSecondsOf(scene.gateway, async () => {
      for (let round = 0; round < 10; round += 1)
        assert.equal((await request(round, isOdd)).status, 200);
    });
  const usual = await cpuOf(false);
  const odd = await cpuOf(true);
  assert.ok(odd < 4 * usual, `${odd} s against ${usual} s`);
});

test('who has no key costs less than who has one, however deep the body is', async () => {
  await scene.apply(source('deep', 'wk_deep'));
  const deep = '['.repeat(250_000) + ']'.repeat(250_000);
  const cpuOf = (headers: Readonly<Record<string, string>>, status: readonly number[]) =>
    scene.cpuSecondsOf(scene.gateway, async () => {
      for (let count = 0; count < 15; count += 1)
        assert.ok(status.includes((await scene.post('track', deep, headers)).status));
    });
  const known = await cpuOf(keyHeader('wk_deep'), [400]);
  const stranger = await cpuOf({}, [401, 429]);
  assert.ok(stranger < known / 2, `${stranger} s against ${known} s`);
});

test('an unknown key is refused before the body has come', async () => {
  const { hostname, port } = new URL(scene.gateway.gatewayUrl);
  const socket = connect(Number(port), hostname);
  socket.write(
    [
      'POST /v1/batch HTTP/1.1',
      `Host: ${hostname}`,
      `Authorization: ${keyHeader('wk_nobody').authorization}`,
      'Content-Length: 100000',
      '\r\n',
    ].join('\r\n'),
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  assert.match(answer.toString(), /^HTTP\/1.1 401 [^]*unknown-write-key/);
});

test('what a batch becomes counts against the rate of its key, which has a limit unless it is set', async () => {
  await scene.apply(source('merged', 'wk_merged'));
  const batch = { batch: heavyBatch, context: { filler: 'x'.repeat(32_000) } };
  const statuses: number[] = [];
  const send = async (): Promise<Response> => {
    const answer = await scene.post('batch', batch, keyHeader('wk_merged'));
    statuses.push(answer.status);
    return answer;
  };
  let answer = await send();
  while (answer.status === 200 && statuses.length < 10) answer = await send();
  assert.equal(answer.status, 429, statuses.join());
  assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
});
