import assert from 'node:assert/strict';
import { gunzipSync, gzipSync } from 'node:zlib';
import { gunzipIfNeeded } from '../../../../src/bulk-import/import-calls.ts';
import { splitLines } from '../../../../src/split-lines.ts';
import type { Target } from '../engine/target.ts';

const limitBytes = 20;

/** The first byte: into how large pieces the rest is cut. */
export const target: Target = {
  about:
    'NDJSON, plain or gzip, in pieces of any size: the lines that splitting all of it at once gives, each at most a little longer than the limit',
  seeds: [
    '\x03{"a":1}\n{"b":2}\r\n\n\r\nlast',
    `\x01${'long '.repeat(30)}\nshort\n`,
    Buffer.concat([Buffer.from([7]), gzipSync('one\ntwo\r\n')]),
    Buffer.concat([Buffer.from([1]), gzipSync('one\n'), gzipSync('two\n')]),
    '\x02\x1f',
  ],
  words: ['\n', '\r\n', '\r', '\x1f\x8b', '\x1f\x8b\x08\0'],
  async check(input) {
    const [size = 0] = input;
    const bytes = input.subarray(1);
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const text = isGzip ? unpacked(bytes) : bytes;
    const found: { number: number; bytes: Buffer }[] = [];
    try {
      for await (const lines of splitLines(
        gunzipIfNeeded(pieces(bytes, 1 + (size % 64))),
        limitBytes,
      ))
        found.push(...lines);
    } catch (error) {
      // zlib's own: an import reports it as it is.
      assert.match((error as NodeJS.ErrnoException).code ?? '', /^Z_/);
      assert.equal(text, undefined, 'only what cannot be unpacked is refused');
      return;
    }
    if (text === undefined) assert.fail('lines of what cannot be unpacked');
    const expected = text.toString('latin1').split('\n');
    if (expected.at(-1) === '') expected.pop();
    assert.equal(found.length, expected.length);
    expected.forEach((each, index) => {
      const line = found[index];
      const whole = each.endsWith('\r') ? each.slice(0, -1) : each;
      assert.equal(line?.number, index + 1);
      if (whole.length <= limitBytes) assert.equal(line.bytes.toString('latin1'), whole);
      else assert.ok(line.bytes.length > limitBytes && line.bytes.length <= limitBytes + 2);
    });
  },
};

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size)
    yield await Promise.resolve(bytes.subarray(at, at + size));
}

/** At most what the tests above can look at; undefined if it is not gzip. */
function unpacked(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}
