import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const retryWindowMs = 4_000;

let status = 410;
const arrivals: Arrival[] = [];
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];

interface Listed {
  readonly reason: string;
  readonly messageId: string;
  readonly attempts: number;
  readonly redriven: string | null;
  readonly sentAgain: string | null;
}

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function letters(messageId: string): Promise<Listed[]> {
  const all = JSON.parse(await run(['dead-letters', 'list', '-o', 'json'])) as Listed[];
  return all.filter((letter) => letter.messageId === messageId);
}

async function produce(messageId: string): Promise<void> {
  const call = { type: 'identify', messageId, userId: 'u1', traits: { plan: 'gold' } };
  await run(['produce', '--source', 'shop'], JSON.stringify(call));
}

function delivered(messageId: string): Arrival[] {
  return arrivals.filter(({ headers }) => headers['idempotency-key'] === messageId);
}

before(async () => {
  receiver = await startReceiver({
    port: 0,
    sharedSecret: 'teehee',
    answer: (arrival) => {
      arrivals.push(arrival);
      return { status };
    },
  });
  postrider = await install({ RETRY_WINDOW: `${retryWindowMs}ms` });
  await run(['topics', '--create']);
  const destination = {
    ...{ kind: 'Destination', id: 'crm', name: 'CRM', sources: ['shop'], sharedSecret: 'teehee' },
    ...{ webhooks: [{ url: receiver.url }], idempotencyHeader: 'Idempotency-Key' },
  };
  const source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };
  await run(['apply', '-f', '-'], JSON.stringify([source, destination]));
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

for (const [failure, reason] of [
  [410, 'http-410'],
  [500, 'expired'],
] as const) {
  test(`an endpoint that answered ${failure} and is mended gets its events by a redrive`, async () => {
    const messageId = `m-${failure}`;
    status = failure;
    await produce(messageId);
    const [dead] = await eventually(async () => {
      const found = await letters(messageId);
      assert.equal(found.length, 1);
      return found;
    });
    assert.equal(dead?.reason, reason);
    assert.equal(dead.redriven, null);

    status = 200;
    const before = delivered(messageId).length;
    const redrive = ['dead-letters', 'redrive', '--reason', reason];
    assert.match(await run(redrive), /^1 event sent again/m);
    const [again, ...more] = await eventually(() => {
      const since = delivered(messageId).slice(before);
      assert.ok(since.length > 0, 'it has not arrived again');
      return since;
    });
    assert.equal(more.length, 0);
    assert.deepEqual(again?.body, delivered(messageId)[0]?.body, 'other bytes');
    assert.equal(again?.signatureValid, true);
    assert.match(await run(redrive), /^0 events sent again/m);
  });
}

test('an event that fails again becomes a new dead letter, which says that it was redriven', async () => {
  status = 410;
  await produce('m-again');
  await eventually(async () => {
    assert.equal((await letters('m-again')).length, 1);
  });
  const beforeMs = Date.now();
  await run(['dead-letters', 'redrive', '--reason', 'http-4xx']);
  const [first, second] = await eventually(async () => {
    const found = await letters('m-again');
    assert.equal(found.length, 2);
    return found;
  });
  assert.ok(first?.sentAgain !== null && first?.redriven === null);
  assert.ok(Date.parse(second?.redriven ?? '') >= beforeMs);
  assert.deepEqual([second?.attempts, second?.sentAgain], [1, null]);
});

test('an event that failed, and whose retry window ended while no worker ran, is given up as late', async () => {
  status = 500;
  await produce('m-late');
  await eventually(() => {
    assert.ok(delivered('m-late').length > 0, 'it has not been tried');
  });
  const [router = assert.fail(), delivery = assert.fail()] = roles;
  assert.equal(await delivery.kill('SIGTERM'), 0);
  const stoppedMs = Date.now();
  const attempts = delivered('m-late').length;
  status = 200;
  await eventually(() => {
    assert.ok(Date.now() > stoppedMs + retryWindowMs);
  });
  roles = [router, await postrider.start('delivery')];
  const [dead] = await eventually(async () => {
    const found = await letters('m-late');
    assert.equal(found.length, 1);
    return found;
  });
  assert.deepEqual([dead?.reason, dead?.attempts], ['expired-late', attempts]);
  assert.equal(delivered('m-late').length, attempts);
});
