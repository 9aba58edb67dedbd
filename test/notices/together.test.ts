import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minuteMs, Scene, startMs } from './scene.ts';

test('where many destinations fail together, each hook gets one notice that names how many', async () => {
  const scene = new Scene();
  for (let n = 0; n < 120; n++) scene.fails(`crm-${n}`, startMs + n * 10);
  scene.fails('notices:chat', startMs + minuteMs);
  const atMs = startMs + 17 * minuteMs;
  const { hooked, remembered } = await scene.look(atMs);
  assert.equal(remembered.length, 121);
  const notices = Object.values(hooked);
  assert.deepEqual(
    notices.map((each) => each.map(({ count, destinations }) => [count, destinations?.length])),
    [[[121, 100]], [[120, 100]]],
  );
  assert.equal(
    notices[1]?.[0]?.text,
    '120 destinations have failed for 15m, the first since 2026-01-01 00:00 UTC: crm-0, crm-1, crm-2, crm-3, crm-4 and 115 more.',
  );
  for (let n = 0; n < 120; n++) scene.works(`crm-${n}`, atMs + minuteMs);
  const after = await scene.look(atMs + minuteMs);
  assert.deepEqual(
    Object.values(after.hooked).map((each) => each.map(({ notice, count }) => [notice, count])),
    [[['well', 120]], [['well', 120]]],
  );
});

test('those that are found to fail a little later are told together, half a minute after the first', async () => {
  const scene = new Scene();
  scene.fails('first', startMs);
  const toldOf = async (afterMs: number): Promise<unknown> => {
    const { hooked } = await scene.look(startMs + 15 * minuteMs + afterMs);
    return Object.values(hooked)[0]?.map(({ destination, count }) => [destination, count]);
  };
  assert.deepEqual(await toldOf(0), [['first', undefined]]);
  for (let n = 0; n < 10; n++) scene.fails(`crm-${n}`, startMs + 1_000 + n);
  for (const afterMs of [5_000, 29_000]) assert.equal(await toldOf(afterMs), undefined);
  assert.deepEqual(await toldOf(30_000), [['crm-0', 10]]);
  assert.equal(await toldOf(90_000), undefined);
});

test('three are told each by itself', async () => {
  const scene = new Scene();
  for (const id of ['a', 'b', 'c']) scene.fails(id, startMs);
  const { hooked } = await scene.look(startMs + 16 * minuteMs);
  assert.deepEqual(
    Object.values(hooked).map((each) => each.map(({ destination }) => destination)),
    [
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ],
  );
});

test('nothing is told of a destination for what an earlier one of its id did', async () => {
  const scene = new Scene();
  const toldAt = async (atMs: number): Promise<unknown> => {
    const { hooked, remembered } = await scene.look(atMs);
    return [Object.values(hooked)[0]?.map(({ notice, uid }) => [notice, uid]), remembered];
  };
  scene.uid = 'former';
  scene.fails('crm', startMs);
  const atMs = startMs + 16 * minuteMs;
  assert.deepEqual(await toldAt(atMs), [[['failing', 'former']], ['crm']]);
  scene.uid = 'present';
  assert.deepEqual(await toldAt(atMs + minuteMs), [undefined, ['crm']], 'it is forgotten');
  scene.works('crm', atMs + 2 * minuteMs);
  assert.deepEqual(await toldAt(atMs + 2 * minuteMs), [undefined, []]);
  scene.fails('crm', atMs + 3 * minuteMs);
  assert.deepEqual(await toldAt(atMs + 19 * minuteMs), [[['failing', 'present']], ['crm']]);
});

test('an endpoint that answers 410 is paused, unless its destination has a rule for that answer', async () => {
  const scene = new Scene();
  const rules = {
    gone: undefined,
    other: { on: [409] },
    on: { on: [410] },
    up: { giveUpOn: [410] },
  };
  for (const [id, retry] of Object.entries(rules)) {
    scene.destinations.set(id, { enabled: true, ...(retry === undefined ? {} : { retry }) });
    scene.fails(id, startMs, 410);
  }
  const { paused } = await scene.look(startMs + 1_000);
  assert.deepEqual(paused.toSorted(), ['gone', 'other']);
});
