import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../delivery/simulated-clock.ts';
import {
  answerOk,
  failsWith,
  hangs,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import type { Answer } from '../delivery/simulated-world.ts';

interface Cost {
  /** To retry topics during the outage, a record. */
  readonly writes: number;
  /** Of what arrived during the outage, what was attempted within max(1 min, half the outage) after it. */
  readonly attempted: number;
}

async function outage(minutes: number, answer: Answer, seed: number): Promise<Cost> {
  const world = new SimulatedWorld({ seed });
  world.addDestination('crm');
  const endMs = world.clock.now() + minutes * minuteMs;
  world.answer = (_url, _sending, nowMs) => (nowMs < endMs ? answer : answerOk);
  let published = 0;
  for (let second = 0; second < minutes * 60; second++) {
    for (let n = 0; n < 3; n++) world.publish('crm', `u${published++}`);
    await world.clock.pass(1_000);
  }
  const writes = world.retries.length / published;
  await world.clock.pass(Math.max(minuteMs, (minutes * minuteMs) / 2));
  const attempted = new Set(
    world.requests.filter(({ atMs }) => atMs >= endMs).map(({ messageId }) => messageId),
  );
  return { writes, attempted: attempted.size / published };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('an endpoint that is away', () => {
  for (const [minutes, seeds, mostWrites] of [
    [1, 8, 3.2],
    [10, 4, 3],
    [30, 2, 3.5],
    [120, 1, 6],
  ] as const) {
    test(`for ${minutes} min has its backlog soon after, for few writes`, async () => {
      const costs: Cost[] = [];
      for (let seed = 1; seed <= seeds; seed++)
        costs.push(await outage(minutes, seed % 2 === 0 ? hangs : failsWith(503), seed));
      const writes = mean(costs.map((cost) => cost.writes));
      const attempted = mean(costs.map((cost) => cost.attempted));
      assert.ok(writes <= mostWrites, `${writes} writes to retry topics a record`);
      assert.ok(attempted >= 0.95, `${attempted} of the backlog attempted`);
    });
  }

  test('for a minute has its backlog soon after, though the clock was set forward meanwhile', async () => {
    const world = new SimulatedWorld();
    world.addDestination('crm');
    world.answer = () => failsWith(503);
    let published = 0;
    for (let second = 0; second < 60; second++) {
      if (second === 30) world.clock.set(hourMs);
      for (let n = 0; n < 3; n++) world.publish('crm', `u${published++}`);
      await world.clock.pass(1_000);
    }
    world.answer = () => answerOk;
    await world.clock.pass(3 * minuteMs);
    assert.equal(world.delivered.length, published);
  });
});

/** So often, from so many minutes to so many: with what lies between them, 6.6 % of the time is an outage. */
const outages = [
  [60, 0.5, 2],
  [20, 2, 10],
  [8, 10, 40],
  [2, 60, 180],
  [1, 250, 330],
] as const;

test('over a distribution of outages, some longer than the window, what an oracle would deliver is delivered', async () => {
  const random = seededRandom(11);
  const durations = outages
    .flatMap(([times, from, to]) =>
      Array.from({ length: times }, () => (from + (to - from) * random()) * minuteMs),
    )
    .map((durationMs) => ({ durationMs, order: random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ durationMs }) => Math.round(durationMs));
  const downMs = durations.reduce((sum, durationMs) => sum + durationMs, 0);
  const gapMs = Math.round((downMs * 0.934) / 0.066 / durations.length);

  const world = new SimulatedWorld();
  world.addDestination('crm');
  const phases: { fromMs: number; untilMs: number }[] = [];
  let atMs = world.clock.now() + gapMs;
  for (const durationMs of durations) {
    phases.push({ fromMs: atMs, untilMs: atMs + durationMs });
    atMs += durationMs + gapMs;
  }
  let current = 0;
  const upAgainMs = (nowMs: number): number => {
    while ((phases[current]?.untilMs ?? Infinity) <= nowMs) current += 1;
    const phase = phases[current];
    return phase !== undefined && phase.fromMs <= nowMs ? phase.untilMs : nowMs;
  };
  world.answer = (_url, _sending, nowMs) => (upAgainMs(nowMs) > nowMs ? failsWith(503) : answerOk);
  let oracle = 0;
  let firstTries = 0;
  let published = 0;
  while (world.clock.now() < atMs) {
    const waitMs = upAgainMs(world.clock.now()) - world.clock.now();
    if (waitMs === 0) firstTries += 1;
    if (waitMs <= 4 * hourMs) oracle += 1;
    world.publish('crm', `u${published++}`);
    await world.clock.pass(15_000);
  }
  await world.clock.pass(5 * hourMs);
  assert.ok(Math.abs(firstTries / published - 0.934) < 0.002, `${firstTries / published} at once`);
  assert.ok(oracle < published, 'the oracle cannot deliver all');
  const share = world.delivered.length / oracle;
  assert.ok(share >= 0.999, `${share} of what the oracle delivers`);
});
