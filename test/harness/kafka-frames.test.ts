import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from './fast-check.ts';
import { answeredRequest, FrameSplitter, produceKey, requestHead } from './kafka-frames.ts';

function frame(content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(4 + content.length);
  bytes.writeInt32BE(content.length);
  bytes.set(content, 4);
  return bytes;
}

test('frames come out as they went in, however the stream is cut into pieces', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 })),
      fc.array(fc.nat({ max: 50 })),
      (contents, lengths) => {
        const frames = contents.map(frame);
        const splitter = new FrameSplitter();
        const found: Buffer[] = [];
        let stream = Buffer.concat(frames);
        for (const length of [...lengths, stream.length]) {
          found.push(...splitter.take(stream.subarray(0, length)));
          stream = stream.subarray(length);
        }
        assert.deepEqual(found, frames);
      },
    ),
  );
});

test('a produce request and its answer are known by their heads', () => {
  const request = frame(Buffer.from('00000009000001f40003616263', 'hex'));
  assert.deepEqual(requestHead(request), {
    apiKey: produceKey,
    apiVersion: 9,
    correlationId: 500,
  });
  assert.equal(answeredRequest(frame(Buffer.from('000001f4ff', 'hex'))), 500);
});
