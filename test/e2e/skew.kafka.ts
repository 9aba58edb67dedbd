import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

/** Where the events of each source go, and after how long that answers. */
const answerMs: Readonly<Record<string, number>> = { busy: 20, instant: 0 };
/** By source, when each event arrived, in the order of arrival. */
const arrivals = new Map<string, { n: number; user: string; atMs: number }[]>();
let receiver: Receiver;
let postrider: Installation;
let roles: RunningRole[] = [];
let sequence = 0;

function destination(source: string): object {
  return {
    kind: 'Destination',
    id: source,
    name: source,
    sources: [source],
    webhooks: [{ url: `${receiver.url}/${source}` }],
  };
}

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: ({ path, body }) => {
      const source = path.slice(1);
      const { userId, event } = JSON.parse(body.toString()) as { userId: string; event: string };
      const arrival = { n: Number(event), user: userId, atMs: performance.now() };
      const known = arrivals.get(source);
      if (known === undefined) arrivals.set(source, [arrival]);
      else known.push(arrival);
      return { status: 200, delayMs: answerMs[source] ?? 0 };
    },
  });
  postrider = await install();
  const created = await postrider.run(['topics', '--create']);
  assert.equal(created.code, 0, created.stderr);
  const resources = [
    ...Object.keys(answerMs).map((id) => ({ kind: 'Source', id, name: id, writeKeys: [id] })),
    ...Object.keys(answerMs).map((id) => destination(id)),
  ];
  const applied = await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(resources) });
  assert.equal(applied.code, 0, applied.stderr);
  roles = await Promise.all(
    (['gateway', 'router', 'delivery'] as const).map((role) => postrider.start(role)),
  );
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await receiver.close();
});

/** Calls of these users, in turn. Returns when the gateway has them all. */
async function call(source: string, users: readonly string[], count: number): Promise<void> {
  const url = roles.find(({ gatewayUrl }) => gatewayUrl !== '')?.gatewayUrl ?? '';
  const authorization = `Basic ${Buffer.from(`${source}:`).toString('base64')}`;
  for (let sent = 0; sent < count; sent += 500) {
    const batch = Array.from({ length: Math.min(500, count - sent) }, () => {
      sequence += 1;
      return { type: 'track', userId: users[sequence % users.length], event: String(sequence) };
    });
    const answer = await fetch(`${url}/v1/batch`, {
      method: 'POST',
      headers: { authorization },
      body: JSON.stringify({ batch }),
    });
    assert.equal(answer.status, 200);
  }
}

async function deferrals(): Promise<number> {
  const texts = await Promise.all(
    roles.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()),
  );
  const found = texts.join('\n').matchAll(/^postrider_deferrals_total\{cause="lane"\} (\d+)$/gm);
  return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Of those of each user. */
function assertInOrder(source: string): void {
  const last = new Map<string, number>();
  for (const { n, user } of arrivals.get(source) ?? []) {
    assert.ok(n > (last.get(user) ?? 0), `${n} came after ${last.get(user)}`);
    last.set(user, n);
  }
}

/** From the first arrival to the last. */
function spanMs(source: string): number {
  const all = arrivals.get(source) ?? [];
  return (all.at(-1)?.atMs ?? NaN) - (all[0]?.atMs ?? NaN);
}

async function deliver(source: string, users: readonly string[], count: number): Promise<void> {
  arrivals.delete(source);
  await call(source, users, count);
  await eventually(() => {
    assert.equal(arrivals.get(source)?.length, count);
  }, 120_000);
  assert.equal(await deferrals(), 0);
  assertInOrder(source);
}

test('400 events of one user at once go out one after the other, and none is put off', async (t) => {
  await deliver('busy', ['u'], 400);
  t.diagnostic(`400 times ${answerMs['busy']} ms took ${spanMs('busy').toFixed(0)} ms`);
});

test('1,000 events of five users at once are delivered in their order, and none is put off', async (t) => {
  const many = Array.from({ length: 500 }, (_, n) => `u${n}`);
  await deliver('instant', many, 1_000);
  const manyMs = spanMs('instant');
  await deliver('instant', ['a', 'b', 'c', 'd', 'e'], 1_000);
  const share = manyMs / spanMs('instant');
  t.diagnostic(`${share.toFixed(2)} of the rate of 500 users, which take ${manyMs.toFixed(0)} ms`);
});
