import assert from 'node:assert/strict';
import { nextPath } from '../../../../src/console/access/log-in-routes.ts';
import { sessionMs, Sessions } from '../../../../src/console/access/sessions.ts';
import { consoleTokens } from '../../../../src/console/access/tokens.ts';
import { parseTokens } from '../../../../src/http-api/tokens.ts';
import { PostriderError } from '../../../../src/errors.ts';
import { systemClock } from '../../../../src/ops/clock.ts';
import { decodeCursor, encodeCursor } from '../../../../src/http-api/cursor.ts';
import { ProblemError } from '../../../../src/http-api/problem.ts';
import type { Target } from '../engine/target.ts';

const sessions = new Sessions(Buffer.alloc(32, 1), systemClock);
const good = sessions.begin({ user: 'u', role: 'viewer', untilMs: Date.now() + sessionMs });
const here = 'https://console.example';

export const target: Target = {
  about:
    "the console's cursors, cookies, paths after a log-in, and token files: refused, or what encodes to the same again; no path leads elsewhere",
  seeds: [
    encodeCursor([1_700_000_000_000, 'crm']),
    encodeCursor([1, -2]),
    good,
    '/destinations/crm?range=1h#top',
    '/.//elsewhere.example',
    `- {name: a, role: viewer, sha256: "${'ab'.repeat(32)}"}\n`,
  ],
  words: [
    '/',
    '\\',
    '//',
    '.',
    '%2f',
    '\t',
    '@',
    ':',
    'http://',
    '[',
    ']',
    '"',
    'toString: 1',
    'name: ',
  ],
  mostBytes: 1_000,
  check(input) {
    const text = input.toString('latin1');
    for (const types of [
      ['number', 'string'],
      ['number', 'number'],
    ] as const) {
      try {
        const place = decodeCursor(text, ...types);
        if (place === undefined) assert.fail('a cursor was given');
        assert.deepEqual(decodeCursor(encodeCursor(place), ...types), place);
      } catch (error) {
        assert.ok(error instanceof ProblemError, String(error));
      }
    }
    const claims = sessions.read(text);
    if (claims !== undefined) assert.equal(text.split('.')[0], good.split('.')[0]);
    const path = nextPath(text);
    assert.equal(new URL(path, here).origin, here);
    assert.equal(nextPath(path), path, 'a fixed point');
    try {
      for (const { sha256 } of parseTokens(consoleTokens, 't.yaml', text))
        assert.match(sha256, /^[0-9a-f]{64}$/);
    } catch (error) {
      assert.ok(error instanceof PostriderError && error.code === 'setting-invalid', String(error));
    }
  },
};
