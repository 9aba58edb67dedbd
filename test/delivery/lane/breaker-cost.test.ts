import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { test } from 'node:test';
import CircuitBreaker from 'opossum';
import { bucketMs, EndpointBreaker } from '../../../src/delivery/lane/breaker.ts';
import { collect } from '../../harness/old-garbage.ts';
import { SimulatedClock } from '../simulated-clock.ts';

/** How many timers are made meanwhile. Those that keep no process alive are no active resources. */
function timersMade(during: () => void): number {
  let made = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'Timeout') made += 1;
    },
  });
  hook.enable();
  during();
  hook.disable();
  return made;
}

interface Breakers {
  readonly clock: SimulatedClock;
  readonly all: readonly EndpointBreaker[];
}

function makeBreakers(count: number): Breakers {
  const clock = new SimulatedClock();
  const options = { clock, random: () => 0, onChange: () => undefined };
  const all = Array.from({ length: count }, () => new EndpointBreaker(options));
  return { clock, all };
}

function failEach(breakers: readonly EndpointBreaker[], times: number): void {
  for (const breaker of breakers) for (let i = 0; i < times; i += 1) breaker.failed(false);
}

/** Of the heap, for each of the breakers; the promises of opossum have settled. */
async function bytesOfEach({ clock, all }: Breakers, before: number): Promise<number> {
  await clock.pass(1);
  collect();
  return (process.memoryUsage().heapUsed - before) / all.length;
}

test('an endpoint whose requests succeed costs no circuit, however many there are', async () => {
  collect();
  const before = process.memoryUsage().heapUsed;
  const breakers = makeBreakers(500);
  const started = await bytesOfEach(breakers, before);
  for (const breaker of breakers.all) for (let n = 0; n < 40; n += 1) breaker.succeeded();
  assert.ok((await bytesOfEach(breakers, before)) < started + 500);
});

test('a breaker takes less than 4 KB before it counts many requests, while it is open, and when it awaits its probe', async () => {
  collect();
  const before = process.memoryUsage().heapUsed;
  const breakers = makeBreakers(500);
  const { clock, all } = breakers;
  failEach(all, 9);
  assert.ok((await bytesOfEach(breakers, before)) < 4_000);
  failEach(all, 11);
  assert.ok((await bytesOfEach(breakers, before)) < 4_000);
  assert.ok(all.every(({ state }) => state === 'open'));
  await clock.pass(10_000);
  assert.ok((await bytesOfEach(breakers, before)) < 4_000);
  assert.ok(all.every(({ awaitsProbe }) => awaitsProbe));
});

test('a breaker that has counted many requests lets go of them ten seconds after the last failure', async () => {
  collect();
  const before = process.memoryUsage().heapUsed;
  const breakers = makeBreakers(500);
  const { clock, all } = breakers;
  failEach(all, 10);
  for (let second = 0; second < 11; second += 1) {
    await clock.pass(bucketMs);
    for (const breaker of all) breaker.tick();
  }
  assert.ok((await bytesOfEach(breakers, before)) < 4_000);
});

test('a hundred breakers take no timer of their own before they open', () => {
  const made = timersMade(() => {
    const { all } = makeBreakers(100);
    failEach(all, 15);
    for (const breaker of all) breaker.succeeded();
    for (const breaker of all) breaker.shutdown();
  });
  assert.equal(made, 0);
});

test('a probe takes no timer either', async () => {
  const { clock, all } = makeBreakers(100);
  for (const breaker of all) for (let i = 0; i < 5; i += 1) breaker.failed(true);
  await clock.pass(10_000);
  const made = timersMade(() => {
    for (const breaker of all) breaker.startProbe();
  });
  assert.equal(made, 0);
  assert.ok(all.every(({ awaitsProbe }) => !awaitsProbe));
  for (const breaker of all) breaker.shutdown();
});

test('a breaker sorts no latencies when it looks at its failures', (context) => {
  const fire = context.mock.method(CircuitBreaker.prototype, 'fire');
  const { all } = makeBreakers(1);
  failEach(all, 11);
  const [circuit] = fire.mock.calls.map((call) => call.this as CircuitBreaker);
  // What opossum has for a mean that it does not compute.
  assert.equal(circuit?.stats.latencyMean, -1);
});
