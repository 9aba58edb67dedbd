import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiTokens } from '../../../src/api/access/api-tokens.ts';
import { parseTokens } from '../../../src/http-api/tokens.ts';

test('a file of tokens that is wrong is told with its line', () => {
  const hash = 'a'.repeat(64);
  const entry = (fields: string): string => `- name: a\n  sha256: ${hash}\n  ${fields}`;
  for (const [text, sentence] of [
    [
      entry('scopes: [admin]'),
      /^tokens\.yaml:3: scopes\[0\]: must be one of read, write, operate$/,
    ],
    [entry('scopes: read'), 'tokens.yaml:3: scopes: must be a list'],
    [entry('scopes: []'), 'tokens.yaml:3: scopes: must name at least one of read, write, operate'],
    [
      entry('scopes: [read]\n  customers: []'),
      'tokens.yaml:4: customers: must name at least one customer; without the field, the token is for all',
    ],
    [
      entry('scopes: [read]\n  customers: [42]'),
      /^tokens\.yaml:4: customers\[0\]: must be text, in quotes$/,
    ],
    [
      entry("scopes: [read]\n  customers: ['acme ']"),
      /^tokens\.yaml:4: customers\[0\]: must be 1 to 128 printable characters/,
    ],
    [
      entry('scopes: [read]\n  customer: acme'),
      /^tokens\.yaml:4: customer: unknown field; allowed: name, scopes, sha256, customers/,
    ],
    [`- name: a\n  scopes: [read]`, /^tokens\.yaml:1: sha256: must be text, in quotes$/],
  ] as const)
    assert.throws(
      () => parseTokens(apiTokens, 'tokens.yaml', text),
      { code: 'setting-invalid', message: sentence },
      text,
    );
});
