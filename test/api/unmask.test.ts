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
  const taken = { url: 'https://evil.example', headers: { Authorization: mask } };
  const moved = { ...shown, webhooks: [taken, shown.webhooks[0]] };
  assert.deepEqual(unmasked(moved, shown, real), { ...real, webhooks: [taken, real.webhooks[0]] });
});

test('of several webhooks each is known by its URL, so what is hidden never comes to another', () => {
  const urls = ['https://a.example.com/1', 'https://a.example.com/2', 'https://a.example.com/3'];
  const hook = (url: string, token: string): object => ({ url, headers: { token } });
  const tokens = new Map(urls.map((url) => [url, `token of ${url}`]));
  const before = { webhooks: urls.map((url) => hook(url, tokens.get(url) ?? '')) };
  const masked = { webhooks: urls.map((url) => hook(url, mask)) };
  const sent = (...given: readonly string[]): unknown =>
    (unmasked({ webhooks: given.map((url) => hook(url, mask)) }, masked, before) as typeof before)
      .webhooks;
  const [one = '', two = '', three = ''] = urls;
  for (const given of [[two, three], [three, one, two], [one], [three, one]])
    assert.deepEqual(
      sent(...given),
      given.map((url) => hook(url, tokens.get(url) ?? '')),
    );
  const other = 'https://a.example.com/other';
  // In its place, and a new one behind.
  assert.deepEqual(sent(one, other, three, 'https://a.example.com/new'), [
    hook(one, tokens.get(one) ?? ''),
    hook(other, tokens.get(two) ?? ''),
    hook(three, tokens.get(three) ?? ''),
    hook('https://a.example.com/new', mask),
  ]);
  // Nobody knows which one it was.
  assert.deepEqual(sent(other, three), [hook(other, mask), hook(three, tokens.get(three) ?? '')]);
});
