import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import type { RegisteredSchema } from '../../src/schemas/registered-schema.ts';
import { noRegistry, SchemaBook, unknownForMs } from '../../src/schemas/schema-book.ts';

const schema: RegisteredSchema = { type: 'AVRO', schema: '"string"', references: [] };
const unknown = new PostriderError('not-found', 'Schema not found');
const away = new PostriderError('registry-unavailable', 'ECONNREFUSED');

/** A book whose registry answers one after the other, and whose time the test moves. */
class Scene {
  nowMs = 0;
  asked = 0;
  failures = 0;
  readonly waitedMs: number[] = [];
  readonly #answers: (RegisteredSchema | PostriderError)[];
  readonly book: SchemaBook = new SchemaBook({
    fetchSchema: () => {
      this.asked += 1;
      const answer = this.#answers.shift() ?? assert.fail('asked once too often');
      return answer instanceof PostriderError ? Promise.reject(answer) : Promise.resolve(answer);
    },
    clock: {
      now: () => this.nowMs,
      after: (delayMs, callback) => {
        this.waitedMs.push(delayMs);
        setImmediate(callback);
        return { cancel: () => undefined };
      },
    },
    onFailure: () => {
      this.failures += 1;
    },
  });

  constructor(...answers: readonly (RegisteredSchema | PostriderError)[]) {
    this.#answers = [...answers];
  }
}

test('a schema is asked for once, however many wait for it, and kept', async () => {
  const scene = new Scene(schema);
  const { book } = scene;
  assert.equal(book.find(1), undefined);
  await Promise.all([book.settled(1), book.settled(1)]);
  assert.ok(book.find(1)?.decode !== undefined);
  assert.equal(scene.asked, 1);
});

test('while the registry is away it is asked again and again, more and more slowly', async () => {
  const scene = new Scene(...Array<PostriderError>(8).fill(away), schema);
  await scene.book.settled(1);
  assert.equal(scene.failures, 8);
  assert.deepEqual(scene.waitedMs, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  assert.ok(scene.book.find(1)?.decode !== undefined);
});

test('an unknown id is asked for twice, because it may be new, and then counts as unknown for a minute', async () => {
  const scene = new Scene(unknown, unknown, unknown, schema);
  await scene.book.settled(7);
  assert.equal(scene.book.find(7)?.rejection?.reason, 'unknown-schema');
  scene.nowMs = unknownForMs - 1;
  assert.equal(scene.asked, 2);
  assert.ok(scene.book.find(7) !== undefined);
  scene.nowMs = unknownForMs;
  assert.equal(scene.book.find(7), undefined);
  await scene.book.settled(7);
  assert.ok(scene.book.find(7)?.decode !== undefined);
  assert.equal(scene.failures, 0);
});

test('a schema that cannot be used names why', async () => {
  const { book } = new Scene({ type: 'AVRO', schema: '{"type":"odd"}', references: [] });
  await book.settled(3);
  const { reason, detail } = book.find(3)?.rejection ?? {};
  assert.equal(reason, 'unusable-schema');
  assert.match(detail ?? '', /^Schema 3 cannot be used: .*odd/);
});

test('without a registry every schema is a reason to reject', () => {
  assert.equal(noRegistry.find(1)?.rejection?.reason, 'no-registry');
});
