import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostInFlight } from '../../src/dead-letter/redrive.ts';
import { eventually } from '../harness/eventually.ts';
import { deadLetterRecord } from './letters.ts';
import { startLetterbox, type Letterbox } from './letterbox.ts';

const total = 400;
/** So that it takes two seconds, and is met in the middle. */
const redrive = ['redrive', '--yes', '--rate', '200/s'];

async function filled(context: { after(end: () => Promise<void>): void }): Promise<Letterbox> {
  const box = await startLetterbox();
  context.after(() => box.close());
  const users = Array.from({ length: total }, (_, i) => `u${i}`);
  await box.put(users.map((user) => deadLetterRecord({ destinationId: 'crm', user })));
  return box;
}

async function inTheMiddle(box: Letterbox): Promise<void> {
  await eventually(async () => {
    const [delivery = 0] = await box.written();
    assert.ok(delivery > total / 4, 'it has not got going yet');
  });
}

async function timesSent(box: Letterbox): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const record of await box.delivery()) {
    const { messageId } = box.envelopeOf(record);
    times.set(messageId, (times.get(messageId) ?? 0) + 1);
  }
  return times;
}

test('a redrive that is told to stop goes on when it is run again, and sends every letter once', async (t) => {
  const box = await filled(t);
  const first = box.begin(...redrive);
  await inTheMiddle(box);
  first.kill('SIGINT');
  const { code, stderr, stdout } = await first.ended;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: stopped early; the same command continues where this one stopped$/m,
  );
  const sent = Number(/^(\d+) events sent again/m.exec(stdout)?.[1]);
  assert.ok(sent > total / 4 && sent < total, `${sent} sent`);
  assert.equal((await box.written())[0], sent);

  const second = await box.run(...redrive);
  assert.match(second.stdout, new RegExp(`^${total - sent} events sent again`, 'm'));
  const times = await timesSent(box);
  assert.equal(times.size, total);
  assert.deepEqual(new Set(times.values()), new Set([1]));
});

test('a redrive that is killed goes on when it is run again, and repeats at most what was on its way', async (t) => {
  const box = await filled(t);
  const first = box.begin(...redrive);
  await inTheMiddle(box);
  first.kill('SIGKILL');
  await first.ended;
  const [before = 0, , marks = 0] = await box.written();
  assert.ok(before < total);

  await box.run(...redrive);
  const times = await timesSent(box);
  assert.equal(times.size, total, 'left out');
  const repeated = [...times.values()].reduce((sum, n) => sum + n, 0) - total;
  assert.equal(
    repeated,
    before - marks,
    'what was written down is sent again, or other letters are',
  );
  assert.ok(repeated <= mostInFlight(200), `${repeated} repeated`);
});

test('of two redrives at once for a destination the second is refused, and not one for others', async (t) => {
  const box = await filled(t);
  // Slow enough for the second command to start beside it, on any machine.
  const first = box.begin('redrive', '--destination', 'crm', '--rate', '20/s');
  await eventually(async () => {
    const [delivery = 0] = await box.written();
    assert.ok(delivery > 0, 'it has not got going yet');
  });
  const others = await box.end('redrive', '--destination', 'big,off');
  assert.equal(others.code, 0, others.stderr);
  for (const words of [redrive, ['redrive', '--destination', 'off,crm']]) {
    const second = await box.end(...words);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /^postrider: another redrive of these events is running$/m);
    assert.equal(second.stdout, '');
  }
  assert.equal((await first.ended).code, 0);
  const times = await timesSent(box);
  assert.equal(times.size, total);
  assert.deepEqual(new Set(times.values()), new Set([1]));
});

test('a redrive waits while delivery is behind with new events, and then goes on', async (t) => {
  const box = await filled(t);
  const live = Array.from({ length: 200 }, (_, i) => ({ key: `crm:live${i}`, value: '{}' }));
  const writeLive = (): Promise<void> => box.put(live, 'delivery');
  for (let i = 0; i < 10; i += 1) await writeLive();
  // Nobody reads: 2,000 records wait, and that no more come is no reason to wait for them.
  const redriving = box.begin('redrive', '--yes', '--rate', '40/s');
  await eventually(async () => {
    await writeLive();
    assert.match(redriving.stderr(), /^waiting until delivery has caught up with new events$/m);
  });
  const [, , marks = 0] = await box.written();
  assert.ok(marks < total);
  const { code, stderr } = await redriving.ended;
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^continuing$/m);
  assert.equal((await box.written())[2], total);
});

test('a redrive of rejected calls that is told to stop goes on when it is run again', async (t) => {
  const box = await startLetterbox('rejected');
  t.after(() => box.close());
  const calls = Array.from({ length: total }, (_, i) => ({
    key: `u${i}`,
    value: JSON.stringify({ type: 'identify', userId: `u${i}` }),
    headers: { reason: 'unknown-write-key', detail: '' },
  }));
  await box.put(calls, 'ingest.rejected');
  const first = box.begin(...redrive);
  await eventually(async () => {
    assert.ok((await box.count('ingest')) > total / 4, 'it has not got going yet');
  });
  first.kill('SIGINT');
  const { code, stderr } = await first.ended;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: stopped early; the same command continues where this one stopped$/m,
  );
  const sent = await box.count('ingest');
  assert.ok(sent < total);

  assert.match((await box.run(...redrive)).stdout, new RegExp(`^${total - sent} calls sent`, 'm'));
  const users = (await box.read('ingest')).map(({ key }) => String(key));
  assert.deepEqual(users.sort(), calls.map(({ key }) => key).sort());
});
