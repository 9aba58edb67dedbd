import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { mixedLoads, nameOf, runMixedLoad, urlOf } from './mixed-load.ts';
import type { Aftermath } from './mixed-load.ts';

const seeds = 8;

describe('among healthy, slow, hanging, failing and rate-limited endpoints at any rate', () => {
  const runs: Aftermath[] = [];

  before(async () => {
    for (const of of mixedLoads(seeds)) runs.push(await runMixedLoad(of));
  });

  /** With the mixture in the message, so that it can be run alone. */
  const always = (check: (run: Aftermath) => void): void => {
    assert.equal(runs.length, seeds);
    for (const run of runs) {
      try {
        check(run);
      } catch (error) {
        throw new Error(`in ${JSON.stringify(run.of)}`, { cause: error });
      }
    }
  };

  test('no event is lost, and none comes to two ends', () => {
    always(({ world, ids }) => {
      const ends = [...world.delivered, ...world.deadLetters.map(({ messageId }) => messageId)];
      const ended = new Set(ends);
      assert.equal(ids.filter((id) => !ended.has(id)).length, 0, 'lost');
      assert.equal(ends.length, ids.length, 'came to two ends');
      // Of each record that was taken, the offset; the world throws where one is finished again.
      assert.equal(world.finished.length, ids.length + world.retries.length);
      assert.ok(world.engine.isIdle);
    });
  });

  test("first attempts of one user's events at one destination follow one another, except those put off", () => {
    let pairs = 0;
    always(({ byUser, firstAttempts, deferred }) => {
      for (const events of byUser.values()) {
        let freeMs = 0;
        for (const id of events) {
          const attempt = firstAttempts.get(id);
          if (attempt === undefined) continue;
          assert.ok(attempt.startMs >= freeMs, `${id} before its predecessor's end`);
          if (deferred.has(id)) continue;
          freeMs = attempt.endMs;
          pairs += 1;
        }
      }
    });
    assert.ok(pairs > 3_000, `only ${pairs} events followed another`);
  });

  test('never more is in flight than the process and each destination may have', () => {
    const full = { process: 0, destination: 0 };
    always(({ of: { maxInFlight, loads }, world }) => {
      assert.ok(world.mostInFlightAtAll <= maxInFlight, `${world.mostInFlightAtAll} in flight`);
      if (world.mostInFlightAtAll === maxInFlight) full.process += 1;
      loads.forEach((load, index) => {
        const most = world.mostInFlight.get(urlOf(index)) ?? 0;
        assert.ok(most <= load.maxInFlight, `${most} in flight at ${nameOf(index)}`);
        if (most === load.maxInFlight) full.destination += 1;
      });
    });
    assert.ok(full.process > 0 && full.destination > 0, 'the limits were never reached');
  });

  test('nothing of a healthy endpoint is put off', () => {
    const putOff = { healthy: 0, others: 0 };
    always(({ of: { loads }, world }) => {
      const healthy = new Set(
        loads.flatMap(({ kind }, index) => (kind === 'healthy' ? [nameOf(index)] : [])),
      );
      const theirs = world.retries.filter(({ envelope }) => healthy.has(envelope.destinationId));
      assert.equal(theirs.length, 0);
      putOff.others += world.retries.length;
    });
    assert.ok(putOff.others > 0, 'nothing was put off at all');
  });
});
