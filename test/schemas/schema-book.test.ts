import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PostriderError } from '../../src/errors.ts';
import type { RegisteredSchema } from '../../src/schemas/registered-schema.ts';
import { SchemaBook, unknownForMs } from '../../src/schemas/schema-book.ts';
import { noRegistry } from '../../src/schemas/schemas.ts';

const schema: RegisteredSchema = { type: 'AVRO', schema: '"string"', references: [] };
const unknown = new PostriderError('not-found', 'Schema not found');
const away = new PostriderError('registry-unavailable', 'ECONNREFUSED');

/** A book whose registry answers one after the other, and whose time passes with its delays. */
class Scene {
  nowMs = 0;
  asked = 0;
  awake = false;
  readonly witnesses: (number | undefined)[] = [];
  readonly delays: string[] = [];
  readonly waitedMs: number[] = [];
  readonly #answers: (RegisteredSchema | PostriderError)[];
  readonly book: SchemaBook = new SchemaBook({
    fetchSchema: () => {
      this.asked += 1;
      const answer = this.#answers.shift() ?? assert.fail('asked once too often');
      return answer instanceof PostriderError ? Promise.reject(answer) : Promise.resolve(answer);
    },
    isAwake: (knownId) => {
      this.witnesses.push(knownId);
      return Promise.resolve(this.awake);
    },
    clock: {
      now: () => assert.fail('a clock that may be set decides nothing'),
      steadyNow: () => this.nowMs,
      after: (delayMs, callback) => {
        this.waitedMs.push(delayMs);
        this.nowMs += delayMs;
        setImmediate(callback);
        return { cancel: () => undefined };
      },
    },
    onDelay: (id, error) => {
      this.delays.push(`${id} ${(error as PostriderError).code}`);
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
  assert.deepEqual(scene.delays, Array<string>(8).fill('1 registry-unavailable'));
  assert.deepEqual(scene.waitedMs, [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  assert.ok(scene.book.find(1)?.decode !== undefined);
});

test('a registry that is awake is asked twice for an id, which may be new, and believed for a minute', async () => {
  const scene = new Scene(schema, unknown, unknown, schema);
  scene.awake = true;
  await scene.book.settled(9);
  await scene.book.settled(7);
  assert.equal(scene.book.find(7)?.rejection?.reason, 'unknown-schema');
  assert.deepEqual([scene.waitedMs, scene.witnesses], [[1_000], [9]]);
  assert.deepEqual(scene.delays, ['7 not-found']);
  scene.nowMs += unknownForMs - 1;
  assert.ok(scene.book.find(7) !== undefined);
  scene.nowMs += 1;
  assert.equal(scene.book.find(7), undefined);
  await scene.book.settled(7);
  assert.ok(scene.book.find(7)?.decode !== undefined);
});

test('a registry that has just started is asked again until it has read its schemas', async () => {
  const scene = new Scene(...Array<PostriderError>(12).fill(unknown), schema);
  await scene.book.settled(7);
  assert.ok(scene.book.find(7)?.decode !== undefined);
});

test('a registry that never shows that it is awake is believed after 15 seconds', async () => {
  const scene = new Scene(...Array<PostriderError>(16).fill(unknown));
  await scene.book.settled(7);
  assert.equal(scene.book.find(7)?.rejection?.reason, 'unknown-schema');
  assert.equal(scene.nowMs, 15_000);
});

test('a registry that was away meanwhile may have started again: the 15 seconds begin anew', async () => {
  const unknowns = (count: number): PostriderError[] => Array<PostriderError>(count).fill(unknown);
  const scene = new Scene(...unknowns(15), away, ...unknowns(15), schema);
  await scene.book.settled(7);
  assert.ok(scene.book.find(7)?.decode !== undefined);
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
