import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { withAdmin } from '../../src/kafka/admin.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { startReceiver, type Arrival, type Receiver } from '../../src/dev/receiver.ts';
import type { AttemptLine } from '../../src/event/attempt-line.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

const retryWindowMs = 4_000;

let status = 422;
/** Of `m-failing` and its like, whatever the others get. */
const statusOf = new Map<string, number>();
const arrivals: Arrival[] = [];
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];
let destination: object = {};

interface Listed {
  readonly partition: number;
  readonly offset: number;
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

async function apply(one: object): Promise<string> {
  const source = { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] };
  return run(['apply', '-f', '-'], JSON.stringify([source, one]));
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
      const answered = statusOf.get(String(arrival.headers['idempotency-key'])) ?? status;
      return answered === 200 ? { status: answered } : { status: answered, body: 'no such list' };
    },
  });
  postrider = await install({ RETRY_WINDOW: `${retryWindowMs}ms` });
  await run(['topics', '--create']);
  destination = {
    kind: 'Destination',
    id: 'crm',
    name: 'CRM',
    sources: ['shop'],
    sharedSecret: 'teehee',
    webhooks: [{ url: receiver.url }],
    idempotencyHeader: 'Idempotency-Key',
  };
  await apply(destination);
  roles = await Promise.all([postrider.start('router'), postrider.start('delivery')]);
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

for (const [failure, reason] of [
  [422, 'http-422'],
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
    assert.equal(again?.signature, 'valid');
    assert.match(await run(redrive), /^0 events sent again/m);
  });
}

test('an event that fails again becomes a new dead letter, which says that it was redriven', async () => {
  status = 422;
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
  await eventually(async () => {
    const shown = await run(['dead-letters', 'show', `${first.partition}:${first.offset}`]);
    assert.match(shown, /^sent again +\S+, a dead letter again$/m);
  });
});

test('a redrive says what became of what it sent, and a dead letter what its endpoint said', async () => {
  status = 422;
  const ids = ['m-fine', 'm-failing', 'm-gone', 'm-gone-too'];
  for (const id of ids) await produce(id);
  const sinceMs = await eventually(async () => {
    const found = await Promise.all(ids.map(letters));
    assert.ok(found.every(({ length }) => length === 1));
    return Date.now();
  });
  const [{ partition, offset } = assert.fail()] = await letters('m-gone');
  const shown = await run(['dead-letters', 'show', `${partition}:${offset}`]);
  assert.match(shown, /^answer +no such list$/m);

  status = 200;
  statusOf.set('m-failing', 500).set('m-gone', 422).set('m-gone-too', 422);
  // Long enough for any machine; it ends when all were tried.
  const places = (await Promise.all(ids.map(letters))).flat();
  const said = await run([
    'dead-letters',
    'redrive',
    '--wait',
    '60s',
    ...places.map((letter) => `${letter.partition}:${letter.offset}`),
  ]);
  assert.match(
    said,
    /^result so far: 1 delivered, 1 waiting for a retry, 2 dead letters again; dead-letters list --since \S+ shows these\nREASON +DESTINATION +EVENTS\nhttp-422 +crm +2\n$/m,
  );
  const again = ['dead-letters', 'redrive', '--message', 'm-gone', '-o', 'json', '--wait', '60s'];
  assert.partialDeepStrictEqual(JSON.parse(await run(again)), {
    sent: [{ reason: 'http-422', destination: 'crm', count: 1 }],
    soFar: {
      toBeTriedAgain: 0,
      givenUpAgain: [{ reason: 'http-422', destination: 'crm', count: 1 }],
    },
  });
  const since = /--since (\S+)/.exec(said)?.[1] ?? '';
  assert.ok(Date.parse(since) >= sinceMs);
  const listed = JSON.parse(
    await run(['dead-letters', 'list', '--since', since, '--reason', 'http-422', '-o', 'json']),
  ) as Listed[];
  assert.deepEqual(listed.map(({ messageId }) => messageId).sort(), [
    'm-gone',
    'm-gone',
    'm-gone-too',
  ]);
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

test('what has happened to an event can be asked for, across its redrive', async () => {
  const attempts = async (args: readonly string[]): Promise<AttemptLine[]> => {
    const text = await run(['attempts', ...args, '--since', '1h', '-o', 'json']);
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AttemptLine);
  };
  const byUser = ['crm', '--user', 'u1', '--message', 'm-422'];
  const lines = await eventually(async () => {
    const found = await attempts(byUser);
    assert.equal(found.length, 3);
    return found;
  });
  assert.partialDeepStrictEqual(lines, [
    { kind: 'attempt', attempt: 1, outcome: 'refused', status: 422, answer: 'no such list' },
    { kind: 'dead-letter', attempts: 1, reason: 'http-422' },
    { kind: 'attempt', attempt: 1, outcome: 'delivered', status: 200, destination: 'crm' },
  ]);
  assert.ok(lines[2]?.kind === 'attempt' && lines[2].redrivenAt !== undefined);
  assert.deepEqual(await attempts(['--message', 'm-422']), lines);
  const failed = await attempts(['crm', '--message', 'm-422', '--failed']);
  assert.deepEqual(failed, lines.slice(0, 2));
  const table = await run(['attempts', '--message', 'm-422', '--since', '1h', '--limit', '2']);
  assert.match(table, /^TIME +DESTINATION +MESSAGE +WHAT$/m);
  assert.match(table, /crm +m-422 +dead letter after 1 attempt: http-422: answered 422$/m);
  assert.doesNotMatch(table, /no such list/);
  assert.match(await run(['attempts', 'crm', '--message', 'nobody']), /^$/);
  const { code, stderr } = await postrider.run(['attempts', '--since', 'soon']);
  assert.equal(code, 2);
  assert.match(stderr, /a duration such as 10m/);
});

test('whoever follows the attempts sees what happens next', async () => {
  status = 200;
  const following = postrider.begin(['attempts', 'crm', '--message', 'm-next', '--follow']);
  await produce('m-next');
  let printed = '';
  await eventually(() => {
    printed = following.stdout();
    assert.match(printed, /crm +m-next +attempt 1 delivered, 200 in \d+ ms/);
  });
  following.kill('SIGTERM');
  const { code, stdout } = await following.ended;
  assert.equal(code, 0);
  assert.equal(stdout.match(/TIME/g)?.length, 1);
});

test('a destination that has the id of a deleted one gets neither what waits nor what was given up of that one, until somebody says so', async () => {
  status = 422;
  await produce('m-letter');
  await eventually(async () => {
    assert.equal((await letters('m-letter')).length, 1);
  });
  status = 500;
  const [router, former] = roles;
  assert.ok(router !== undefined && former !== undefined);
  await former.kill('SIGKILL');
  const patient = { RETRY_WINDOW: '1h' };
  const worker = await postrider.start('delivery', patient);
  roles = [router, worker];
  await produce('m-waits');
  await eventually(async () => {
    const said = await run(['attempts', 'crm', '--message', 'm-waits', '-o', 'json']);
    assert.match(said, /"kind":"retry"/);
  });
  await worker.kill('SIGKILL');
  await run(['delete', 'destination', 'crm', '--yes']);
  destination = { ...destination, webhooks: [{ url: `${receiver.url}/second` }] };
  await apply(destination);
  status = 200;
  roles = [router, await postrider.start('delivery', patient)];
  // Twice, if the worker was killed before it had committed that the event waits elsewhere.
  const waited = await eventually(async () => {
    const found = await letters('m-waits');
    assert.ok(found.length > 0);
    return found;
  });
  for (const { reason } of waited) assert.equal(reason, 'destination-deleted');

  const ofSecond = (): (string | string[] | undefined)[] => {
    const ids = arrivals
      .filter(({ path }) => path === '/second')
      .map(({ headers }) => headers['idempotency-key']);
    return [...new Set(ids)];
  };
  const redrive = ['dead-letters', 'redrive', '--destination', 'crm'];
  const refused = await postrider.run([...redrive, '--reason', 'http-4xx,destination-deleted']);
  assert.match(refused.stdout, /^0 events sent again/m);
  assert.match(
    refused.stderr,
    /left out, because they are of an earlier destination of this id: \d+ crm; --earlier sends them to the one that has it now$/m,
  );
  assert.deepEqual(ofSecond(), []);
  await run([...redrive, '--message', 'm-waits', '--earlier']);
  await eventually(() => {
    assert.deepEqual(ofSecond(), ['m-waits']);
  });
});

test('after the config topic was lost, what was given up is still of the destination that is applied again', async () => {
  status = 422;
  await produce('m-lost');
  await eventually(async () => {
    assert.equal((await letters('m-lost')).length, 1);
  });
  const { KAFKA_BROKERS = '', TOPIC_PREFIX = '' } = postrider.environment;
  const kafka = createKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'test' }, silentLogger);
  await withAdmin(kafka, (admin) => admin.deleteTopic(`${TOPIC_PREFIX}config`));
  await eventually(() => run(['topics', '--create']));
  const said = await apply(destination);
  assert.match(
    said,
    /^create Destination crm \(the config topic is empty: what is kept for the last destination of this id is for this one\)$/m,
  );
  status = 200;
  await eventually(async () => {
    const [again] = delivered('m-lost')
      .filter(({ path }) => path === '/second')
      .slice(1);
    if (again === undefined)
      await run(['dead-letters', 'redrive', '--message', 'm-lost', '--again', '--wait', '0s']);
    assert.ok(again !== undefined);
  });
});
