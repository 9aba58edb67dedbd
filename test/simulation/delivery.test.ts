import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { timedOut } from '../../src/delivery/outcome.ts';
import { seededRandom } from '../delivery/simulated-clock.ts';
import {
  answerOk,
  failsWith,
  hourMs,
  minuteMs,
  SimulatedWorld,
} from '../delivery/simulated-world.ts';
import type { Answer } from '../delivery/simulated-world.ts';

type Trouble = 'hangs' | 'fails' | 'refuses' | 'limits' | 'flaky';

interface Phase {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly trouble: Trouble;
}

const phase = fc
  .record({
    fromMs: fc.integer({ min: 0, max: 10 * minuteMs }),
    lastsMs: fc.integer({ min: 0, max: 30 * minuteMs }),
    trouble: fc.constantFrom<Trouble>('hangs', 'fails', 'refuses', 'limits', 'flaky'),
  })
  .map(({ fromMs, lastsMs, trouble }): Phase => ({ fromMs, untilMs: fromMs + lastsMs, trouble }));

const scenario = fc.record({
  seed: fc.nat(),
  /** Per destination, the phases of each of its URLs. */
  destinations: fc.array(
    fc.array(fc.array(phase, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
    {
      minLength: 1,
      maxLength: 4,
    },
  ),
  maxInFlight: fc.integer({ min: 1, max: 40 }),
});

function answerOf(trouble: Trouble | undefined, random: () => number): Answer {
  const afterMs = 5 + Math.floor(random() * 200);
  switch (trouble) {
    case undefined:
      return { ...answerOk, afterMs };
    case 'hangs':
      return { outcome: timedOut, afterMs: 5_000 };
    case 'fails':
      return { ...failsWith(503), afterMs };
    case 'refuses':
      return { ...failsWith(410), afterMs };
    case 'limits':
      return { ...failsWith(429, Math.floor(random() * 5 * minuteMs)), afterMs };
    case 'flaky':
      return random() < 0.5 ? { ...failsWith(500), afterMs } : { ...answerOk, afterMs };
  }
}

async function run(
  {
    seed,
    destinations,
    maxInFlight,
  }: { seed: number; destinations: Phase[][][]; maxInFlight: number },
  events: number,
): Promise<{ world: SimulatedWorld; ids: string[] }> {
  const world = new SimulatedWorld({ seed, maxInFlight });
  const random = seededRandom(seed);
  const startMs = world.clock.now();
  const phases = new Map<string, Phase[]>();
  destinations.forEach((urls, d) => {
    const webhooks = urls.map((of, u) => {
      const url = `https://d${d}.example/${u}`;
      phases.set(url, of);
      return { url, headers: {} };
    });
    world.addDestination(`d${d}`, { webhooks });
  });
  world.answer = (url, _sending, nowMs) => {
    const now = nowMs - startMs;
    const current = phases.get(url)?.find((p) => p.fromMs <= now && now < p.untilMs);
    return answerOf(current?.trouble, random);
  };
  const ids: string[] = [];
  for (let i = 0; i < events; i++) {
    const destination = Math.floor(random() * destinations.length);
    ids.push(world.publish(`d${destination}`, `u${Math.floor(random() * 20)}`));
    await world.clock.pass(Math.floor(random() * 3_000));
  }
  await world.clock.pass(6 * hourMs);
  return { world, ids };
}

describe('in any mixture of outages', () => {
  test('every event is delivered, or a dead letter where an endpoint refused it for good', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (of) => {
        const { world, ids } = await run(of, 120);
        const ended = new Set([...world.delivered, ...world.deadLetters.map((d) => d.messageId)]);
        assert.deepEqual(
          ids.filter((id) => !ended.has(id)),
          [],
        );
        // All troubles end well within the window.
        const otherReasons = world.deadLetters.filter(({ reason }) => reason !== 'http-410');
        assert.deepEqual(otherReasons, []);
        assert.ok(world.engine.isIdle);
        assert.equal(world.engine.state().queued, 0);
        if (of.destinations.every((urls) => urls.length === 1))
          assert.ok(world.mostInFlightAtAll <= of.maxInFlight);
      }),
      { numRuns: 15 },
    );
  });
});
