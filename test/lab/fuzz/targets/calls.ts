import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { buildBody } from '../../../../src/event/body.ts';
import { eventTypes } from '../../../../src/event/call.ts';
import { webhooksEnabled } from '../../../../src/event/integrations.ts';
import { parseCall } from '../../../../src/event/parse-call.ts';
import { rejectReasons } from '../../../../src/event/rejection.ts';
import { normalizeTimestamp } from '../../../../src/event/timestamp.ts';
import type { Target } from '../engine/target.ts';

const origin = { topic: 'ingest', partition: 3, offset: 7, appendTimeMs: 1_700_000_000_000 };

export const target: Target = {
  about:
    'a record as a call: rejected for a known reason, or a call whose body is a fixed point of JSON and which is parsed to the same call again',
  seeds: [
    '{"type":"track","userId":"u","event":"Order","properties":{"total":1.5e3},"timestamp":"2026-01-31T12:00:00Z"}',
    '{"type":"page","anonymousId":7,"name":"Home","category":"c","properties":{"name":null},"integrations":{"All":false,"Webhooks":true}}',
    '{"type":"screen","userId":"u","name":"S","messageId":"m"}',
    '{"type":"identify","userId":"u","traits":{"__proto__":{"a":1}},"context":{"integrations":{}}}',
    '{"type":"group","userId":"u","groupId":12,"traits":{}}',
    '\ufeff{"type":"alias","userId":"u","previousId":"p","originalTimestamp":"2026-01-31"}',
    '{"batch":[]}',
    `{"type":"page","userId":"u","properties":${'['.repeat(70)}${']'.repeat(70)}}`,
  ],
  words: [
    ...['"type"', '"userId"', '"event"', '"traits"', '"context"', '"messageId"', '"writeKey"'],
    ...['"__proto__"', '"constructor"', '"toJSON"', 'null', 'true', '1e999', '-0', '{}', '[]'],
    ...['"track"', '"page"', '"alias"', '\\u0000', '\\ud800', ',', ':', '"'],
  ],
  mostBytes: 40_000,
  check(input) {
    const { call, rejected } = parseCall(input, origin);
    if (call === undefined) {
      assert.ok(Object.hasOwn(rejectReasons, rejected.reason));
      assert.ok(rejected.detail.length > 0 && rejected.detail.length < 300);
      return;
    }
    assert.equal(normalizeTimestamp(call.timestamp), call.timestamp);
    assert.ok(eventTypes.includes(call.type) && call.messageId !== '');
    assert.equal(typeof webhooksEnabled(call), 'boolean');
    for (const payload of ['standard', 'full'] as const) {
      const body = buildBody(call, payload);
      assert.equal(JSON.stringify(JSON.parse(body)), body, 'a fixed point');
    }
    const json = JSON.stringify(call.fields);
    // JSON has no infinite number, as 1e999 is, and no negative zero.
    if (!isDeepStrictEqual(JSON.parse(json), call.fields)) return;
    assert.deepEqual(parseCall(Buffer.from(json), origin, Infinity).call, call);
  },
};
