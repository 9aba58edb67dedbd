import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlotPool, type SlotTaker } from '../../../src/delivery/lane/slot-pool.ts';

test('a slow taker has every fourth turn while another always waits', () => {
  const pool = new SlotPool(1);
  const turns: string[] = [];
  const taker = (name: string, isSlow: boolean): SlotTaker => {
    const self: SlotTaker = {
      line: undefined,
      isSlow,
      inFlight: 0,
      takeSlot: () => {
        if (pool.take(self)) turns.push(name);
        return true;
      },
    };
    return self;
  };
  const [brisk, slow] = [taker('brisk', false), taker('slow', true)];
  for (const each of [brisk, brisk, slow]) each.takeSlot();
  for (let turn = 1; turn < 9; turn++) pool.release(turns.at(-1) === 'slow');
  const three = ['brisk', 'brisk', 'brisk'];
  assert.deepEqual(turns, ['brisk', ...three, 'slow', ...three, 'slow']);
});

test('takers behind one that has become slow while it waited get the slots that slow ones may not take', () => {
  const pool = new SlotPool(4);
  const served: string[] = [];
  const taker = (name: string): SlotTaker & { isSlow: boolean } => {
    const self = {
      line: undefined,
      isSlow: false,
      inFlight: 0,
      takeSlot: () => {
        if (pool.take(self)) served.push(name);
        return false;
      },
    };
    return self;
  };
  for (const name of ['a', 'b', 'c', 'd']) assert.ok(pool.take(taker(name)));
  // One of these is slow, and has all that slow ones may have.
  pool.moved(1, true);
  const [turned, behind] = [taker('turned'), taker('behind')];
  assert.ok(!pool.take(turned) && !pool.take(behind));
  turned.isSlow = true;
  pool.release(false);
  assert.deepEqual(served, ['behind']);
  pool.release(true);
  assert.deepEqual(served, ['behind', 'turned']);
});

test('a hundred thousand takers whose jobs are all dropped are served one after the other', () => {
  const pool = new SlotPool(1);
  let served = 0;
  const taker = (): SlotTaker => {
    const self: SlotTaker = {
      line: undefined,
      isSlow: false,
      inFlight: 0,
      takeSlot: () => {
        if (!pool.take(self)) return false;
        served += 1;
        pool.release(false);
        return false;
      },
    };
    return self;
  };
  const holder = taker();
  assert.ok(pool.take(holder));
  for (let n = 0; n < 100_000; n += 1) pool.take(taker());
  pool.release(false);
  assert.equal(served, 100_000);
});
