import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mistakeOf } from '../../../../../src/console/web/screens/manage/mistakes.ts';

for (const [mistake, answer] of [
  ['signature', { status: 401 }],
  ['signature', { status: 403 }],
  ['path', { status: 404 }],
  ['moved', { status: 308 }],
  ['body', { status: 418 }],
  ['busy', { status: 429 }],
  ['crashed', { status: 502 }],
  ['timeout', { detail: 'no complete answer in time' }],
  ['timeout', { detail: 'no connection in time' }],
  ['tls', { detail: 'CERT_HAS_EXPIRED: certificate has expired' }],
  ['tls', { detail: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE: the intermediate one is missing' }],
  ['unreachable', { detail: 'ECONNREFUSED: connect ECONNREFUSED 192.0.2.1:443' }],
  ['unreachable', { detail: 'ENOTFOUND: getaddrinfo ENOTFOUND nobody.example' }],
  ['inner', { detail: '10.1.2.3: not a public address; DELIVERY_ALLOW_NETWORKS can allow it' }],
  ['other', { detail: 'something new' }],
] as const)
  test(`a test that ends with ${JSON.stringify(answer)} is the mistake ${mistake}`, () => {
    assert.equal(mistakeOf({ outcome: 'failed', ...answer }), mistake);
    assert.equal(mistakeOf({ outcome: 'delivered', ...answer }), undefined);
  });
