import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OddOneOut, usualTurns } from '../../../src/delivery/lane/pace.ts';
import { answerOk, hangs, SimulatedWorld } from '../simulated-world.ts';

describe('the usual time until a turn', () => {
  /** For fresh events. */
  const usual = (turnsMs: number[], areSlots: boolean, isSomeLane: boolean): number =>
    usualTurns(served(turnsMs), { areSlots, isSomeLane }).freshMs;
  const served = (turnsMs: number[]): { isServed: true; longestTurnMs: number }[] =>
    turnsMs.map((longestTurnMs) => ({ isServed: true, longestTurnMs }));
  const usualOf = (...turnsMs: number[]): number => usual(turnsMs, false, true);

  test('is that of the lanes that are least behind, in whatever order they are', () => {
    assert.equal(usualOf(9_000, 8_000, 20, 10), 20);
    assert.equal(usualOf(10, 20, 8_000, 9_000), 20);
    assert.equal(usualOf(9_000, 10, 8_000), 10);
  });

  test('is that of the one lane that is least behind where slots are idle', () => {
    assert.equal(usual([9_000, 8_000, 20, 7_000, 9_000], true, false), 20);
    assert.equal(usual([9_000, 8_000, 9_000, 7_000], true, false), 7_000);
  });

  test('is none where slots are idle and another lane is, too', () => {
    assert.equal(usual([9_000, 8_000, 9_000, 7_000], true, true), 0);
    assert.equal(usual([9_000], true, true), 4_000);
  });
});

test('what has come back is compared with the usual lanes though slots are idle: it would only come back again', () => {
  const turnsMs = [9_000, 8_000, 20, 7_000, 9_000];
  const active = turnsMs.map((longestTurnMs) => ({ isServed: true, longestTurnMs }));
  const { returnedMs } = usualTurns(active, { areSlots: true, isSomeLane: true });
  assert.equal(returnedMs, 7_000);
});

test('a lane counts as behind once two looks in a row show that, and until it is well below the limit', () => {
  const odd = new OddOneOut();
  const afterTurnsOf = (...turnsMs: number[]): boolean[] =>
    turnsMs.map((turnMs) => {
      odd.tick(turnMs, 1_000);
      return odd.isOne;
    });
  assert.deepEqual(afterTurnsOf(9_000, 0, 9_000, 9_000), [false, false, false, true]);
  assert.deepEqual(afterTurnsOf(5_000, 3_000, 5_000), [true, false, false]);
});

test('a lane is seen to be behind beside one that has a single request on its way', async () => {
  const world = new SimulatedWorld();
  world.addDestination('behind', { maxInFlight: 1 });
  world.addDestination('other');
  world.answer = (url) => (url.includes('other') ? hangs : { ...answerOk, afterMs: 20 });
  world.publish('other');
  for (let n = 0; n < 1_000; n++) world.publish('behind', `u${n}`);
  await world.clock.pass(4_900);
  assert.equal(world.inFlightAt('https://other.example/hook'), 1);
  assert.ok((world.metrics.deferrals.get('lane') ?? 0) > 0);
});

test('a lane in which one user had many events is not taken to be behind for that afterwards', async () => {
  const world = new SimulatedWorld();
  world.addDestination('crm', { maxInFlight: 1 });
  world.addDestination('other');
  for (let n = 0; n < 500; n++) world.publish('crm', 'one');
  await world.clock.pass(11_000);
  assert.equal(world.delivered.length, 500);
  for (let n = 0; n < 1_000; n++) world.publish('crm', `u${n}`);
  await world.clock.pass(21_000);
  assert.equal(world.atRetry, 0);
  assert.equal(world.delivered.length, 1_500);
});
