import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createContext } from '../../src/cli/context.ts';
import { serviceAccess } from '../../src/cli/letters/letters.ts';
import { createOperations, type Operations, type Run } from '../../src/operations/operations.ts';
import { eventually } from '../harness/eventually.ts';
import { deadLetterRecord } from './letters.ts';
import { startLetterbox, type Letterbox } from './letterbox.ts';

/** Events for a destination whose dedicated topic does not exist: a producer would wait for it without end. */

let box: Letterbox;
let missing: string;

before(async () => {
  box = await startLetterbox();
  missing = `topic ${box.postrider.environment['TOPIC_PREFIX']}delivery.big does not exist; create it with \`postrider topics --create\``;
  const users = ['u1', 'u2', 'u3'];
  for (const destinationId of ['crm', 'big'])
    await box.put(users.map((user) => deadLetterRecord({ destinationId, user })));
  await box.put(
    [deadLetterRecord({ destinationId: 'big', user: 'u4', reason: 'paused' })],
    'paused',
  );
  await box.remove('delivery.big');
});

after(() => box.close());

async function marks(): Promise<number> {
  return box.count('redrives');
}

const run: Run = { signal: new AbortController().signal, onSent: () => assert.fail('sent') };

async function operationsOf({ postrider }: Letterbox): Promise<Operations> {
  const access = await serviceAccess(createContext(postrider.environment));
  return createOperations(access, () => assert.fail('nothing is tested'));
}

test('a redrive to a destination without its topic is refused before anything is written', async () => {
  for (const more of [[], ['--dry-run'], ['--all-destinations']]) {
    const { code, stdout, stderr } = await box.end('redrive', '--destination', 'big', ...more);
    assert.equal(code, 1);
    assert.equal(stderr.trimEnd().split('\n').at(-1), `postrider: ${missing}`);
    assert.equal(stdout, '');
  }
  assert.equal(await marks(), 0);
});

test('the console says so too', async () => {
  const operations = await operationsOf(box);
  for (const work of [
    operations.redrive({ destination: 'big' }),
    operations.count({ destination: 'big' }),
    operations.resume('big'),
  ])
    await assert.rejects(work(run), { code: 'not-found', message: missing });
});

test('of the letters of a customer, only those without a topic are left out, and are named', async () => {
  const operations = await operationsOf(box);
  const [counted, sent, { stdout, stderr }] = await Promise.all([
    operations.count({ customer: 'acme' })(run),
    operations.redrive({ customer: 'acme' })(run),
    box.run('redrive', '--dry-run', '--customer', 'acme'),
  ]);
  const leftOut = /^3 events left out, because their topic does not exist: 3 \S+delivery\.big/;
  assert.match(counted.detail ?? '', leftOut);
  assert.match(sent.detail ?? '', leftOut);
  assert.match(stderr, new RegExp(leftOut, 'm'), stdout);
  assert.equal(await marks(), 0);
});

test('a resume is refused while its destination is still paused', async () => {
  const { postrider } = box;
  assert.equal((await postrider.run(['pause', 'big'])).code, 0);
  const { code, stdout, stderr } = await postrider.run(['resume', 'big']);
  assert.equal(code, 1);
  assert.equal(stderr, `postrider: ${missing}\n`);
  assert.equal(stdout, '');
  assert.match((await postrider.run(['pause', 'big'])).stdout, /is paused already/);
});

test('of all letters, those without a topic are left out and named, and are sent once there is one', async () => {
  const leftOut =
    /^3 events left out, because their topic does not exist: 3 \S+delivery\.big; `postrider topics --create` creates it$/m;
  const counted = await box.run('redrive', '--dry-run', '--all-destinations');
  assert.match(counted.stderr, /* paused as well */ leftOut);
  const { stdout, stderr } = await box.run('redrive', '--yes', '--all-destinations');
  assert.match(stdout, /^3 events sent again/m);
  assert.match(stderr, leftOut);
  assert.equal((await box.delivery()).length, 3);
  assert.equal(await marks(), 3);

  const { postrider } = box;
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  assert.match((await postrider.run(['resume', 'big'])).stdout, /^1 event sent again/m);
  assert.match((await box.run('redrive', '--yes')).stdout, /^3 events sent again/m);
  assert.equal((await box.delivery('big')).length, 4);
});

test('a redrive whose topic vanishes says so and ends, and loses and repeats nothing of others', async () => {
  const users = Array.from({ length: 400 }, (_, i) => `v${i}`);
  await box.put(
    users.flatMap((user) =>
      ['crm', 'big'].map((destinationId) => deadLetterRecord({ destinationId, user })),
    ),
  );
  const redriving = box.begin('redrive', '--yes', '--rate', '100/s');
  await eventually(async () => {
    assert.ok((await box.delivery()).length > 50, 'it has not got going yet');
  });
  await box.remove('delivery.big');
  const { code, stdout, stderr } = await redriving.ended;
  assert.equal(code, 1);
  assert.equal(stderr.trimEnd().split('\n').at(-1), `postrider: ${missing}`);
  const sent = Number(/^(\d+) events sent again/m.exec(stdout)?.[1]);
  assert.ok(sent > 50 && sent < 800, stdout);

  assert.equal((await box.postrider.run(['topics', '--create'])).code, 0);
  const again = await box.run('redrive', '--yes', '--rate', '1000/s');
  assert.match(again.stdout, new RegExp(`^${800 - sent} events sent again`, 'm'));
  const crm = (await box.delivery()).map((record) => box.envelopeOf(record).messageId);
  assert.equal(crm.length, 403);
  assert.equal(new Set(crm).size, 403);
});
