import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import CircuitBreaker from 'opossum';
import { EndpointBreaker } from '../../../src/delivery/lane/breaker.ts';
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
  readonly rotation: EventEmitter;
  readonly all: readonly EndpointBreaker[];
}

function makeBreakers(count: number): Breakers {
  const clock = new SimulatedClock();
  const rotation = new EventEmitter().setMaxListeners(0);
  const options = { clock, rotation, random: () => 0, onChange: () => undefined };
  const all = Array.from({ length: count }, () => new EndpointBreaker(options));
  return { clock, rotation, all };
}

test('a hundred breakers take no timer of their own, and share one that turns their buckets', () => {
  let rotation = new EventEmitter();
  let all: readonly EndpointBreaker[] = [];
  const made = timersMade(() => {
    ({ rotation, all } = makeBreakers(100));
    for (const breaker of all) {
      breaker.failed(false);
      breaker.succeeded();
    }
  });
  assert.equal(made, 0);
  assert.equal(rotation.listenerCount('rotate'), 100);
  for (const breaker of all) breaker.shutdown();
  assert.equal(rotation.listenerCount('rotate'), 0);
});

test('a probe takes none either, and what a breaker was before it opened is let go of', async () => {
  const { clock, rotation, all } = makeBreakers(100);
  for (const breaker of all) for (let i = 0; i < 5; i += 1) breaker.failed(true);
  await clock.pass(10_000);
  assert.ok(all.every(({ awaitsProbe }) => awaitsProbe));
  const made = timersMade(() => {
    for (const breaker of all) breaker.startProbe();
  });
  assert.equal(made, 0);
  assert.equal(rotation.listenerCount('rotate'), 100);
  for (const breaker of all) breaker.shutdown();
});

test('a breaker sorts no latencies when it looks at its failures', (context) => {
  const fire = context.mock.method(CircuitBreaker.prototype, 'fire');
  const { all } = makeBreakers(1);
  for (const breaker of all) breaker.failed(false);
  const [circuit] = fire.mock.calls.map((call) => call.this as CircuitBreaker);
  // What opossum has for a mean that it does not compute.
  assert.equal(circuit?.stats.latencyMean, -1);
});
