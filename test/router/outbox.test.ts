import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import type { IncomingRecord } from '../../src/kafka/record.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { incoming, TestRouter } from './fakes.ts';

/** What is for B goes to its own topic, and what is for A to the shared one. */
function routerOfTwo(): TestRouter {
  return new TestRouter(
    exampleSource({ id: 'sa', writeKeys: ['wk_a'] }),
    exampleSource({ id: 'sb', writeKeys: ['wk_b'] }),
    exampleDestination({ id: 'a', sources: ['sa'] }),
    exampleDestination({ id: 'b', sources: ['sb'], topic: 'dedicated' }),
  );
}

function calls(from: number, count: number, writeKey: string): IncomingRecord[] {
  return Array.from({ length: count }, (_, n) =>
    incoming({ type: 'identify', userId: `u${n}`, writeKey }, { offset: from + n }),
  );
}

/** Acknowledges what went to the topic. */
function acknowledge(router: TestRouter, topic: string): number {
  const theirs = router.written.filter(({ record }) => record.topic === topic);
  router.written.splice(
    0,
    Infinity,
    ...router.written.filter(({ record }) => record.topic !== topic),
  );
  for (const { done } of theirs) done();
  return theirs.length;
}

const copiesAtOnce = 5_000;

test('a topic that cannot be written holds up the calls for others for a second, and then no more', async () => {
  const router = routerOfTwo();
  router.take(...calls(0, copiesAtOnce - 1, 'wk_b'));
  for (let second = 0; second < 2; second += 1) {
    router.take(...calls(10_000 + second * 100, 1, 'wk_a'));
    acknowledge(router, 'p.delivery');
    await router.clock.pass(900);
  }
  router.take(...calls(20_000, 1_000, 'wk_a'));
  assert.equal(acknowledge(router, 'p.delivery'), 1_000);
  assert.equal(router.aside.length, copiesAtOnce - 1, 'they take no room in their windows');
  assert.equal(router.isIdle, false);
  acknowledge(router, 'p.delivery.b');
  assert.equal(router.isIdle, true);
  assert.equal(router.finished.length, copiesAtOnce - 1 + 1_002);
});

test('while Kafka acknowledges nothing at all, no more is read for it', async () => {
  const router = routerOfTwo();
  router.take(...calls(0, copiesAtOnce + 100, 'wk_a'));
  await router.clock.pass(60_000);
  assert.equal(router.written.length, copiesAtOnce);
  assert.deepEqual(router.aside, []);
});

test('an event whose dedicated topic cannot be written goes to the shared topic, as it is', () => {
  const router = routerOfTwo();
  router.take(...calls(0, 1, 'wk_b'));
  const [own] = router.written.splice(0);
  assert.equal(own?.record.topic, 'p.delivery.b');
  assert.ok((own.record.elsewhereAfterMs ?? 0) > 12_000, 'longer than an election takes');
  own.done(new PostriderError('unwritable', 'topic p.delivery.b cannot be written'));
  const [detour] = router.written;
  const { elsewhereAfterMs, ...record } = detour?.record ?? assert.fail();
  assert.equal(elsewhereAfterMs, undefined);
  const { elsewhereAfterMs: waits, ...asked } = own.record;
  assert.equal(typeof waits, 'number');
  assert.deepEqual(record, { ...asked, topic: 'p.delivery' });
  assert.deepEqual(router.finished, []);
  acknowledge(router, 'p.delivery');
  assert.deepEqual([router.finished, router.metrics.detoured], [[0], 1]);
});
