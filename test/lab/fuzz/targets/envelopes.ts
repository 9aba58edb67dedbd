import assert from 'node:assert/strict';
import { decodeAttemptLines } from '../../../../src/event/attempt-line.ts';
import { decodeStatus } from '../../../../src/event/destination-status.ts';
import {
  decodeEnvelope,
  encodeEnvelope,
  isFromNewerRelease,
} from '../../../../src/event/envelope.ts';
import { untriedText } from '../../../../src/event/last-answer.ts';
import { decodeOrigin, encodeOrigin } from '../../../../src/event/headers.ts';
import type { Target } from '../engine/target.ts';

const last = {
  atMs: 1_700_000_000_000,
  detail: 'answered 500',
  url: 'https://a/',
  body: 'no',
  retryAfterMs: 5_000,
};
const envelope = {
  ...{ destinationId: 'crm', sourceId: 'shop', messageId: 'm"1', type: 'track' as const },
  ...{ configOffset: 9, appendTimeMs: 1_700_000_000_000, attempts: 2 },
};
const line =
  '{"kind":"attempt","at":"2026-01-31T12:00:00.000Z","destination":"crm","messageId":"m","attempt":1,"outcome":"failed"}';

export const target: Target = {
  about:
    'headers and lines of our own topics, which anyone with the right may write: undefined, or what encodes to the same again',
  seeds: [
    encodeEnvelope(envelope),
    encodeEnvelope({
      ...envelope,
      previousId: 'p',
      isSync: true,
      redrivenMs: 5,
      deadlineMs: 6,
      dueMs: 7,
      lastAnswer: last,
    }),
    '{"v":9,"d":"crm"}',
    `${line}\n${line}\n`,
    '{"kind":"worker","worker":"w","at":"2026-01-31T12:00:00.000Z","topics":{}}',
    encodeOrigin({ topic: 'ingest', partition: 1, offset: 2, appendTimeMs: 3 }),
  ],
  words: [
    ...[
      '"v":1',
      '"n":',
      '"l":{',
      '"r":',
      '"t":',
      '"u":',
      '"x":',
      'null',
      '8640000000000001',
      '1e400',
    ],
    ...['"kind":"destination"', '"urls":[]', '{"kind":"attempt"}', '\n', '""', '-1', ':'],
  ],
  check(input) {
    assert.equal(typeof isFromNewerRelease(input), 'boolean');
    const decoded = decodeEnvelope(input);
    if (decoded !== undefined) {
      const text = encodeEnvelope(decoded);
      assert.deepEqual(decodeEnvelope(Buffer.from(text)), decoded);
      assert.equal(typeof untriedText('', decoded.attempts, decoded.lastAnswer), 'string');
    }
    for (const each of decodeAttemptLines(input) as Iterable<unknown>)
      assert.ok(
        typeof each === 'object' && each !== null && !Array.isArray(each),
        'a line is an object',
      );
    assert.equal(
      typeof decodeStatus(input)?.kind,
      decodeStatus(input) === undefined ? 'undefined' : 'string',
    );
    const origin = decodeOrigin(input);
    if (origin !== undefined)
      assert.deepEqual(decodeOrigin(Buffer.from(encodeOrigin(origin))), origin);
  },
};
