import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExistingTopics } from '../../src/dead-letter/existing-topics.ts';
import { PostriderError, type ErrorCode } from '../../src/errors.ts';

/** @param answers one for each look; undefined: it exists */
function open(...answers: (ErrorCode | undefined)[]) {
  const looks: string[] = [];
  const topics = new ExistingTopics((topic) => {
    looks.push(topic);
    const code = answers.shift();
    return code === undefined
      ? Promise.resolve()
      : Promise.reject(new PostriderError(code, `no ${topic}`));
  });
  return { looks, topics };
}

test('a topic is looked for once, whether it exists or not', async () => {
  const { looks, topics } = open(undefined, 'not-found');
  for (let i = 0; i < 3; i += 1) {
    assert.equal(await topics.objection('a'), undefined);
    assert.deepEqual(await topics.objection('b'), {
      why: 'because their topic does not exist',
      name: 'b',
      remedy: '`postrider topics --create` creates it',
    });
  }
  assert.deepEqual(looks, ['a', 'b']);
});

test('while Kafka is away no topic is missing, and each is looked for again', async () => {
  const { looks, topics } = open('kafka-unavailable', 'not-found');
  assert.equal(await topics.objection('a'), undefined);
  assert.notEqual(await topics.objection('a'), undefined);
  assert.deepEqual(looks, ['a', 'a']);
});

test('a topic that may not be seen is not called missing', async () => {
  const { topics } = open('kafka-refused');
  assert.equal(await topics.objection('a'), undefined);
});
