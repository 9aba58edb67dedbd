import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KnownKeys } from '../../src/gateway/known-keys.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { exampleSource } from '../resources/examples.ts';
import { FakeConfig } from '../router/fakes.ts';

/** A configuration whose looks at Kafka end when the test says so. */
class Scene {
  readonly clock = new SimulatedClock();
  readonly config = new FakeConfig(exampleSource());
  readonly looks: PromiseWithResolvers<void>[] = [];
  readonly keys: KnownKeys;

  constructor() {
    this.config.caughtUp = () => {
      const look = Promise.withResolvers<undefined>();
      this.looks.push(look as PromiseWithResolvers<void>);
      return look.promise;
    };
    this.keys = new KnownKeys(this.config, this.clock);
  }

  /** Ends the look under way. */
  async end(): Promise<void> {
    this.looks.at(-1)?.resolve();
    await this.clock.pass(0);
  }
}

function codeOf(answer: Awaited<ReturnType<KnownKeys['findCurrent']>>): string {
  return typeof answer === 'string' ? answer : answer.code;
}

test('a key is known if a source has it', () => {
  const { keys } = new Scene();
  assert.equal(keys.find('wk_shop'), 'wk_shop');
  assert.equal(keys.find('wk_other'), undefined);
  assert.equal(keys.find(undefined), undefined);
});

test('one look at Kafka answers all that wait for it', async () => {
  const scene = new Scene();
  const answers = ['a', 'b', 'c'].map((key) => scene.keys.findCurrent(key));
  await scene.clock.pass(0);
  await scene.end();
  await scene.end();
  assert.deepEqual((await Promise.all(answers)).map(codeOf), [
    'unknown-write-key',
    'unknown-write-key',
    'unknown-write-key',
  ]);
  assert.equal(scene.looks.length, 2);
});

test('a key that was added after a look began is found by the next one', async () => {
  const scene = new Scene();
  const early = scene.keys.findCurrent('wk_early');
  await scene.clock.pass(0);
  const late = scene.keys.findCurrent('wk_late');
  await scene.end();
  assert.equal(codeOf(await early), 'unknown-write-key');
  scene.config.put(exampleSource({ id: 'late', writeKeys: ['wk_late'] }));
  await scene.end();
  assert.equal(await late, 'wk_late');
});

test('a look that Kafka does not answer is not waited for longer than a client waits', async () => {
  const scene = new Scene();
  const answer = scene.keys.findCurrent('wk_other');
  await scene.clock.pass(10_000);
  assert.equal(codeOf(await answer), 'kafka-unavailable');
});

test('a look that fails says nothing about the key', async () => {
  const scene = new Scene();
  const answer = scene.keys.findCurrent('wk_other');
  await scene.clock.pass(0);
  scene.looks[0]?.reject(new Error('stopped'));
  await scene.clock.pass(0);
  assert.equal(codeOf(await answer), 'kafka-unavailable');
});

test('while a look takes too long, requests are answered at once, and nothing is kept of them', async () => {
  const scene = new Scene();
  const first = scene.keys.findCurrent('wk_first');
  await scene.clock.pass(1_000);
  const behind = scene.keys.findCurrent('wk_behind');
  await scene.clock.pass(1_000);
  assert.equal(codeOf(await first), 'kafka-unavailable');
  let late = '';
  void scene.keys.findCurrent('wk_late').then((answer) => {
    late = codeOf(answer);
  });
  await scene.clock.pass(0);
  assert.equal(late, 'kafka-unavailable');
  await scene.clock.pass(1_000);
  assert.equal(codeOf(await behind), 'kafka-unavailable');
  await scene.end();
  assert.equal(scene.looks.length, 1, 'a look for requests that have their answers');
});

test('a look that ends after all makes room for the next one', async () => {
  const scene = new Scene();
  void scene.keys.findCurrent('wk_late');
  await scene.clock.pass(10_000);
  await scene.end();
  const again = scene.keys.findCurrent('wk_late');
  await scene.clock.pass(0);
  scene.config.put(exampleSource({ id: 'late', writeKeys: ['wk_late'] }));
  await scene.end();
  assert.equal(await again, 'wk_late');
});

test('a request that came while a slow look was in time is answered by the next one', async () => {
  const scene = new Scene();
  void scene.keys.findCurrent('wk_first');
  await scene.clock.pass(1_500);
  const behind = scene.keys.findCurrent('wk_behind');
  await scene.clock.pass(1_000);
  await scene.end();
  await scene.end();
  assert.equal(codeOf(await behind), 'unknown-write-key');
});
