import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { callTypes } from '../../../../src/event/call.ts';
import { maxBytesOf, parseCall } from '../../../../src/event/parse-call.ts';
import { withoutByteOrderMark } from '../../../../src/event/read-json.ts';
import { textOf } from '../../../../src/event/check-call.ts';
import { textFieldIn } from '../../../../src/event/text-field.ts';
import { batchItems } from '../../../../src/gateway/batch-items.ts';
import { prepareCalls } from '../../../../src/gateway/prepare-call.ts';
import { unpackBody } from '../../../../src/gateway/read-body.ts';
import { readRequest } from '../../../../src/gateway/read-request.ts';
import { statusOf } from '../../../../src/gateway/refusal.ts';
import type { Target } from '../engine/target.ts';

const origin = { topic: 'ingest', partition: 0, offset: 0, appendTimeMs: 0 };
const topics = { ingest: 'ingest', ingestRejected: 'rejected' };
const receipt = { receivedMs: 1_700_000_000_000, writeKey: 'wk', clientIp: () => '203.0.113.7' };
const encodings = [undefined, 'gzip', 'br', 'identity', ''];

/** The first byte: the path and the Content-Encoding. */
export const target: Target = {
  about:
    "a request's body: refused with a status of 4xx, or records that the router reads as calls, items of a batch as JSON.parse has them",
  seeds: [
    seed(
      0,
      '{"batch":[{"type":"track","userId":"u","event":"e"},7,{}],"sentAt":"2026-01-31T12:00:00Z","context":{"direct":true}}',
    ),
    seed(
      0,
      '{ "batch" : [ {"type":"page","userId":"u\\"]}"} , [1,[2]] ] , "integrations":{"All":false}, "batch":[ "a,b" ] }',
    ),
    seed(
      0,
      `{"b\\u0061tch":[{"type":"page","userId":"u","x":${'['.repeat(66)}${']'.repeat(66)}}],"writeKey":"wk","wr\\u0069teKey":"wk2"}`,
    ),
    seed(
      0,
      `{"batch":[{"type":"page","userId":"u","filler":"${'x'.repeat(33_000)}"},{"type":"page","userId":"v"}]}`,
    ),
    seed(1, '{"userId":"u","event":"e","timestamp":"2026-01-31","properties":null}'),
    Buffer.concat([Buffer.from([7]), gzipSync('{"batch":[{"type":"page","userId":"u"}]}')]),
  ],
  words: [
    ...['"batch"', '"batch":[', '"b\\u0061tch":', '"sentAt"', '"context"', '"integrations"', '{}'],
    ...[
      '"type":"page"',
      '"userId":"u"',
      '\\"',
      '\\\\',
      ']',
      '}',
      '[',
      '{',
      ',',
      ':',
      '"',
      '\ufeff',
    ],
    ...[
      '"writeKey":',
      '"writeKe\\u0079"',
      ':"wk"',
      '"__proto__":',
      '"proprties":{}',
      '\x1f\x8b\x08\0',
    ],
  ],
  mostBytes: 40_000,
  mostCpuMs: 1_000,
  check(input) {
    const [choice = 0] = input;
    const type = [undefined, undefined, ...callTypes][choice % (callTypes.length + 2)];
    const body = unpackBody(input.subarray(1), encodings[choice % encodings.length]);
    if (!Buffer.isBuffer(body)) {
      assertRefused(statusOf(body));
      return;
    }
    const { submission, refusal } = readRequest(body, type);
    if (refusal !== undefined) {
      assertRefused(statusOf(refusal));
      return;
    }
    const json = JSON.parse(withoutByteOrderMark(body.toString())) as { writeKey?: unknown };
    assert.equal(
      textFieldIn(body, 'writeKey'),
      textOf(json.writeKey),
      'the key is as JSON.parse has it',
    );
    if (type === undefined) {
      const items = batchItems(body).map((bytes) => JSON.parse(bytes.toString()) as unknown);
      assert.deepEqual(items, submission.calls);
    }
    const calls = submission.calls.length;
    const { records, rejections } = prepareCalls(submission, receipt, topics);
    let accepted = 0;
    for (const { topic, value, headers = {} } of records) {
      if (topic !== topics.ingest) continue;
      accepted += 1;
      const { rejected } = parseCall(Buffer.from(value ?? ''), origin, maxBytesOf(headers));
      assert.equal(rejected, undefined);
    }
    assert.equal(accepted + rejections.length, calls, 'every call is somewhere');
  },
};

function seed(choice: number, text: string): Buffer {
  return Buffer.concat([Buffer.from([choice]), Buffer.from(text)]);
}

function assertRefused(status: number): void {
  assert.ok(status >= 400 && status < 500, `status ${status}`);
}
