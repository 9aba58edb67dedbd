import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from '../harness/fast-check.ts';
import { Backlog } from '../../src/router/backlog.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test('a backlog gives what it was given, in order', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.constant('take'), fc.nat(9))), (steps) => {
      const backlog = new Backlog<number>();
      const model: number[] = [];
      for (const step of steps) {
        if (step === 'take') assert.equal(backlog.shift(), model.shift());
        else {
          backlog.push(step);
          model.push(step);
        }
        assert.equal(backlog.size, model.length);
      }
      assert.deepEqual(
        backlog.takeOut((item) => item > 4),
        model.filter((item) => item > 4),
      );
      const left = model.filter((item) => item <= 4);
      for (const item of [...left, undefined]) assert.equal(backlog.shift(), item);
    }),
  );
});

test('a backlog that is never empty does not keep what was taken', async () => {
  const backlog = new Backlog<object>();
  const taken: WeakRef<object>[] = [];
  backlog.push({});
  for (let i = 0; i < 1_000; i += 1) {
    backlog.push({});
    taken.push(new WeakRef(backlog.shift() ?? assert.fail()));
  }
  await nextTurn();
  collectGarbage();
  const kept = taken.filter((ref) => ref.deref() !== undefined).length;
  assert.ok(kept < 10, `${kept} kept`);
});
