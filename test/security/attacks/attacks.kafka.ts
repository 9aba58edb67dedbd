import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { Browser } from '../../console/access/stand.ts';
import { eventually } from '../../harness/eventually.ts';
import { keyHeader, Scene, source } from './scene.ts';

/**
 * Each test is an attack that once succeeded, done again from outside, with what its attacker may have. Others are done
 * again elsewhere: sessions forged from links, links that the audit does not have, and wrong tokens that lock out right
 * ones, in `test/console/access`; a destination's id that is used again, in `test/e2e/redrive.kafka.ts`; a query that
 * leaves its read-only transaction, in `test/audience/read/postgres.test.ts`.
 */

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
  const { status, text } = await (await scene.staff('vera')).get('/api/v1/events?message=same');
  assert.equal(status, 200, text);
  assert.match(text, /"destination":"heavy"/);
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

test('a copy of a cookie that was logged out is worth nothing to a console that starts again', async () => {
  const [olga, vera] = [await scene.staff('olga'), await scene.staff('vera')];
  const stolen = new Map(olga.jar);
  await olga.submit('/logout', { csrf: (await olga.session()).csrf });
  await eventually(async () => {
    assert.match((await vera.get('/api/v1/audit')).text, /"user":"olga","action":"log-out"/);
  });
  await scene.restartConsole();
  const statusWith = async (jar: ReadonlyMap<string, string>): Promise<number> => {
    const browser = new Browser(scene.console.consoleUrl);
    for (const [name, value] of jar) browser.jar.set(name, value);
    return (await browser.get('/api/v1/session')).status;
  };
  assert.equal(await statusWith(vera.jar), 200);
  assert.equal(await statusWith(stolen), 401);
});

test('a customer is not told of an event of another source with the same message id and user', async () => {
  await scene.apply(
    source('theirs', 'wk_theirs'),
    source('own', 'wk_own'),
    scene.destination('theirs', 'theirs'),
    scene.destination('own', 'own'),
  );
  const send = async (key: string, messageId: string, event: string): Promise<void> => {
    const call = { type: 'track', event, userId: 'u', messageId };
    assert.equal((await scene.post('track', call, keyHeader(key))).status, 200);
  };
  await send('wk_theirs', 'both', 'Their Order');
  await send('wk_theirs', 'theirs', 'Their Order');
  await eventually(() => {
    assert.equal(scene.arrivedAt('theirs').length, 2);
  });
  await send('wk_own', 'both', 'Own Order');
  const customer = await scene.customer('own');
  const story = await eventually(async () => {
    const { status, text } = await customer.get('/api/v1/events?message=both&user=u');
    assert.equal(status, 200);
    assert.match(text, /"state":"delivered"/);
    return text;
  });
  assert.match(story, /Own Order/);
  assert.doesNotMatch(story, /their/i);
  const other = await customer.get('/api/v1/events?message=theirs&user=u');
  assert.equal(other.status, 404);
  assert.doesNotMatch(other.text, /Their Order/);
});

test('customers who search all the time keep no member of staff from searching', async () => {
  const ids = ['asks-1', 'asks-2', 'asks-3', 'asks-4'];
  await scene.apply(source('asks', 'wk_asks'), ...ids.map((id) => scene.destination(id, 'asks')));
  const customers = await Promise.all(ids.map((id) => scene.customer(id)));
  const staff = await scene.staff('vera');
  let isOver = false;
  let asked = 0;
  const search = async (customer: Browser): Promise<void> => {
    while (!isOver) {
      await customer.get('/api/v1/events?message=nothing');
      asked += 1;
    }
  };
  const searches = customers.flatMap((each) => [search(each), search(each)]);
  const statuses: number[] = [];
  for (let count = 0; count < 10; count += 1)
    statuses.push((await staff.get('/api/v1/events?message=nothing')).status);
  isOver = true;
  await Promise.all(searches);
  assert.deepEqual(statuses, Array<number>(10).fill(404));
  assert.ok(asked > 0);
});

test('who writes resource files reads no variable of whoever applies them or shows the difference', async () => {
  const { SECRET_KEY = '' } = scene.postrider.environment;
  const env = { AWS_SECRET_ACCESS_KEY: 'zq-cloud', PARTNER_TOKEN: 'zq-partner' };
  const written = (id: string, name: string, token: string): object => ({
    ...scene.destination(id, 'files'),
    name,
    webhooks: [{ url: 'https://writer.example/', headers: { 'X-Token': `Bearer ${token}` } }],
  });
  const run = async (args: readonly string[], ...resources: readonly object[]) => {
    const stdin = JSON.stringify([source('files', 'wk_files'), ...resources]);
    const ended = await scene.postrider.run(args, { env, stdin });
    for (const secret of [SECRET_KEY, 'zq-'])
      assert.ok(!(ended.stdout + ended.stderr).includes(secret), ended.stdout + ended.stderr);
    return ended;
  };
  const commands = [
    ['diff', '-f', '-'],
    ['apply', '--dry-run', '-f', '-'],
    ['apply', '-f', '-'],
  ];
  const hostile = [
    written('files-key', '${SECRET_KEY}', '${AWS_SECRET_ACCESS_KEY}'),
    written('files-cloud', '${AWS_SECRET_ACCESS_KEY}', '${SECRET_KEY}'),
    written('files-partner', '${PARTNER_TOKEN}', 'x'),
  ];
  for (const { code, stdout, stderr } of await Promise.all(
    commands.map((args) => run(args, ...hostile)),
  )) {
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr.match(/\} is not for resource files/g)?.length, 4, stderr);
    assert.match(stderr, /name: must not come from a variable/);
  }
  const allowed = written('files', 'Files', '${PARTNER_TOKEN}');
  assert.equal((await run(['apply', '-f', '-'], allowed)).code, 0);
  const shown = await Promise.all([
    run(['get', 'destination', 'files', '-o', 'yaml']),
    ...commands.slice(0, 2).map((args) => run(args, { ...allowed, name: 'Other' })),
  ]);
  for (const { stdout } of shown) assert.match(stdout, /files/);
});
