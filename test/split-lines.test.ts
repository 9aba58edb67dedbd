import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from './harness/fast-check.ts';
import { splitLines } from '../src/split-lines.ts';

async function linesOf(chunks: readonly string[], limitBytes: number): Promise<string[]> {
  const lines: string[] = [];
  async function* feed(): AsyncGenerator<Buffer> {
    for (const chunk of chunks) {
      await Promise.resolve();
      yield Buffer.from(chunk);
    }
  }
  for await (const batch of splitLines(feed(), limitBytes)) {
    for (const { number, bytes } of batch) {
      assert.equal(number, lines.length + 1);
      lines.push(bytes.toString());
    }
  }
  return lines;
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r\n'), maxLength: 40 });

test('lines are the same however the text is cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat(80)), async (whole, cuts) => {
      const places = [0, ...cuts.map((at) => Math.min(at, whole.length)), whole.length];
      places.sort((a, b) => a - b);
      const chunks = places.slice(1).map((end, i) => whole.slice(places[i], end));
      const expected = whole.split(/\r?\n/);
      if (expected.at(-1) === '') expected.pop();
      assert.deepEqual(await linesOf(chunks, 100), expected);
    }),
  );
});

test('a line of exactly the limit is whole, also before a carriage return', async () => {
  assert.deepEqual(await linesOf(['1234\r\n1234\n1234'], 4), ['1234', '1234', '1234']);
  assert.deepEqual(await linesOf(['12', '34\r', '\n1'], 4), ['1234', '1']);
});

test('a longer line is not mistaken for one of the limit where a carriage return follows that', async () => {
  const [cut] = await linesOf(['1234\rx\n'], 4);
  assert.equal(cut, '1234\rx');
});

test('a longer line is cut, but not to the limit, and the next line is whole', async () => {
  const [cut, next] = await linesOf(['123', '456789', '0'.repeat(1_000), '\nabc'], 4);
  assert.equal(cut?.slice(0, 5), '12345');
  assert.ok(cut.length <= 6);
  assert.equal(next, 'abc');
});
