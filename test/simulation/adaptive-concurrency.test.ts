import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../delivery/simulated-clock.ts';
import { answerOk } from '../delivery/simulated-world.ts';
import type { Answer } from '../delivery/simulated-world.ts';
import { Scene } from './scene.ts';

/** Works at so many requests at a time, for so long at each; others wait for their turn. */
class Endpoint {
  readonly tookMs: number[] = [];
  #freeMs: number[] = [];
  readonly #eachMs: number;

  constructor(parallel: number, eachMs: number) {
    this.#eachMs = eachMs;
    this.parallel = parallel;
  }

  set parallel(parallel: number) {
    const all = [...this.#freeMs, ...new Array<number>(parallel).fill(0)];
    this.#freeMs = all.toSorted((a, b) => b - a).slice(0, parallel);
  }

  answer(nowMs: number): Answer {
    const first = this.#freeMs.indexOf(Math.min(...this.#freeMs));
    const endMs = Math.max(nowMs, this.#freeMs[first] ?? 0) + this.#eachMs;
    this.#freeMs[first] = endMs;
    this.tookMs.push(endMs - nowMs);
    return { ...answerOk, afterMs: endMs - nowMs };
  }
}

/** There is always something waiting. */
async function underLoad(answer: (nowMs: number) => Answer): Promise<Scene> {
  const scene = new Scene();
  scene.addDestinations(1, 'crm');
  scene.world.answer = (_url, _sending, nowMs) => answer(nowMs);
  await load(scene, 1);
  return scene;
}

async function load(scene: Scene, forSeconds: number): Promise<void> {
  const { world } = scene;
  for (let second = 0; second < forSeconds; second++) {
    for (let left = world.engine.state().queued; left < 4_000; left++) scene.publish('crm-0');
    await world.clock.pass(1_000);
  }
}

function medianOf(tookMs: readonly number[]): number {
  return tookMs.toSorted((a, b) => a - b)[Math.floor(tookMs.length / 2)] ?? NaN;
}

describe('an endpoint that works at few requests at a time', () => {
  for (const parallel of [1, 8])
    test(`is found within a minute, and does not do less for it: ${parallel}`, async () => {
      const endpoint = new Endpoint(parallel, 20);
      const scene = await underLoad((nowMs) => endpoint.answer(nowMs));
      await load(scene, 45);
      endpoint.tookMs.length = 0;
      const before = scene.delivered();
      await load(scene, 10);
      const medianMs = medianOf(endpoint.tookMs);
      assert.ok(medianMs <= 30, `median of ${medianMs} ms`);
      const perSecond = (scene.delivered() - before) / 10;
      assert.ok(perSecond >= 0.9 * parallel * 50, `${perSecond} events/s`);
    });

  test('gets more again when it can take more', async () => {
    const endpoint = new Endpoint(8, 20);
    const scene = await underLoad((nowMs) => endpoint.answer(nowMs));
    await load(scene, 30);
    endpoint.parallel = 32;
    await load(scene, 40);
    const before = scene.delivered();
    await load(scene, 5);
    const perSecond = (scene.delivered() - before) / 5;
    assert.ok(perSecond >= 0.9 * 32 * 50, `${perSecond} events/s`);
  });
});

describe('an endpoint that answers well', () => {
  test('is not slowed where its answers take long', async () => {
    const scene = await underLoad(() => ({ ...answerOk, afterMs: 200 }));
    const before = scene.delivered();
    await load(scene, 40);
    const perSecond = (scene.delivered() - before) / 40;
    assert.ok(perSecond >= 0.95 * 64 * 5, `${perSecond} events/s`);
  });

  test('nor where they take now long and now short', async () => {
    const random = seededRandom(7);
    const scene = await underLoad(() => ({ ...answerOk, afterMs: Math.round(5 * 40 ** random()) }));
    const before = scene.delivered();
    await load(scene, 20);
    const perSecond = (scene.delivered() - before) / 20;
    // On average 53 ms.
    assert.ok(perSecond >= 0.9 * (64 / 0.053), `${perSecond} events/s`);
  });
});
