import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../harness/eventually.ts';
import { fetches, reading, until } from './fetch-scene.ts';
import { passTime } from './passing-time.ts';

describe('a replica in the reader’s zone', { concurrency: true }, () => {
  test('who is sent to a replica in its zone reads there', async (t) => {
    const { brokers, logs, owner } = reading(t, 2, { rack: 'b' });
    const [log] = logs;
    if (log === undefined) return;
    log.replica = 3;
    log.append('a');
    await until(owner, { 0: 'a' });
    log.append('b');
    await until(owner, { 0: 'a b' });
    const asked = fetches(brokers);
    assert.equal(asked.filter((each) => each === '1: 0').length, 1);
    assert.ok(asked.includes('3: 0'));
  });

  test('a replica that does not have an offset yet is no reason to settle for another one', async (t) => {
    const { logs, owner, brokers } = reading(t, 1, { rack: 'b' });
    const [log] = logs;
    if (log === undefined) return;
    log.replica = 3;
    log.append('a');
    await until(owner, { 0: 'a' });
    log.fetchError = 'OFFSET_OUT_OF_RANGE';
    await eventually(() => {
      assert.ok(fetches(brokers).filter((each) => each === '1: 0').length > 1);
    });
    log.fetchError = undefined;
    log.append('b');
    await until(owner, { 0: 'a b' });
    assert.deepEqual(owner.told, []);
  });

  for (const state of ['down', 'hangs'] as const)
    test(`when the replica ${state === 'down' ? 'is gone' : 'hangs'}, the leader is asked again`, async (t) => {
      const { logs, owner, brokers } = reading(t, 1, { rack: 'b' });
      const [log] = logs;
      if (log === undefined) return;
      log.replica = 3;
      log.append('a');
      await until(owner, { 0: 'a' });
      brokers.nodes.set(3, state);
      log.replica = undefined;
      log.append('b');
      await until(owner, { 0: 'a b' });
    });
});

test('a replica that hangs while the leader still names it is left alone for five minutes', async (t) => {
  const pass = passTime(t);
  const { logs, owner, brokers } = reading(t, 1, { rack: 'b' });
  const [log] = logs;
  if (log === undefined) return;
  log.replica = 3;
  log.append('a');
  await until(owner, { 0: 'a' });
  brokers.nodes.set(3, 'hangs');
  const toReplica = (): number => fetches(brokers).filter((each) => each === '3: 0').length;
  log.append('b');
  await until(owner, { 0: 'a b' });
  const before = toReplica();
  for (const value of ['c', 'd', 'e']) {
    log.append(value);
    await eventually(() => {
      assert.ok(owner.of(0).endsWith(value));
    });
  }
  assert.equal(toReplica(), before);
  brokers.nodes.set(3, 'up');
  pass(300_001);
  await eventually(() => {
    assert.ok(toReplica() > before);
  });
});

test('a replica is asked for five minutes, and then the leader whether it still is the nearest', async (t) => {
  const pass = passTime(t);
  const { logs, owner, brokers } = reading(t, 1, { rack: 'b' });
  const [log] = logs;
  if (log === undefined) return;
  log.replica = 3;
  log.append('a');
  await until(owner, { 0: 'a' });
  const toLeader = (): number => fetches(brokers).filter((each) => each === '1: 0').length;
  assert.equal(toLeader(), 1);
  pass(300_000);
  await eventually(() => {
    assert.equal(toLeader(), 2);
  });
});
