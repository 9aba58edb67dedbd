import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unmasked } from '../../src/api/unmask.ts';

const mask = '(set, not shown)';
const real = {
  sharedSecret: 'teehee',
  webhooks: [
    {
      url: 'https://a.example.com/in',
      headers: { Authorization: 'Bearer 1' },
      oauth2: { tokenUrl: 'https://login.example.com/token', clientSecret: 'cs' },
    },
  ],
};
const shown = {
  sharedSecret: mask,
  webhooks: [
    {
      url: 'https://a.example.com/in',
      headers: { Authorization: mask },
      oauth2: { tokenUrl: 'https://login.example.com/token', clientSecret: mask },
    },
  ],
};

function withWebhook(change: object): unknown {
  return { ...shown, webhooks: [{ ...shown.webhooks[0], ...change }] };
}

test('what comes back as it was shown is what it was', () => {
  assert.deepEqual(unmasked(shown, shown, real), real);
  const elsewhereOnHost = unmasked(
    withWebhook({ url: 'https://a.example.com/other' }),
    shown,
    real,
  );
  assert.match(JSON.stringify(elsewhereOnHost), /Bearer 1/);
});

test('a new value replaces, and a mask stands for nothing where nothing was', () => {
  const changed = unmasked({ sharedSecret: 'new', name: mask }, shown, real);
  assert.deepEqual(changed, { sharedSecret: 'new', name: mask });
});

test('what is sent along goes to no other host, by whatever field', () => {
  for (const url of [
    'https://evil.example/in',
    'http://a.example.com/in',
    'https://a.example.com:8443/in',
  ]) {
    const text = JSON.stringify(unmasked(withWebhook({ url }), shown, real));
    assert.doesNotMatch(text, /Bearer 1/, url);
  }
  const oauth2 = { tokenUrl: 'https://evil.example/token', clientSecret: mask };
  assert.doesNotMatch(JSON.stringify(unmasked(withWebhook({ oauth2 }), shown, real)), /"cs"/);
  const moved = {
    ...shown,
    webhooks: [{ url: 'https://evil.example', headers: {} }, shown.webhooks[0]],
  };
  assert.doesNotMatch(JSON.stringify(unmasked(moved, shown, real)), /Bearer 1/);
});
