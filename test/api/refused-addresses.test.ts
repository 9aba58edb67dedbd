import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scopes, type Caller } from '../../src/api/access/caller.ts';
import { requireAddresses } from '../../src/api/refused-addresses.ts';
import { ProblemError } from '../../src/http-api/problem.ts';

const everybody: Caller = { user: 'ops', scopes: new Set(scopes), customers: undefined };
const acme: Caller = { user: 'link 1', scopes: new Set(scopes), customers: new Set(['acme']) };

const inner = 'http://169.254.169.254/';
const outer = 'https://a.example.com/';
const refused = (url: string): Promise<string | undefined> =>
  Promise.resolve(url.startsWith(inner) ? 'is refused by DELIVERY_ALLOW_NETWORKS' : undefined);

async function problemsOf(body: unknown, caller: Caller = everybody): Promise<unknown> {
  try {
    await requireAddresses(body, caller, refused);
  } catch (error) {
    assert.ok(error instanceof ProblemError);
    return error.parts.errors;
  }
  return [];
}

test('a URL to an inner address is refused wherever a destination has one, and customers are not told of settings', async () => {
  const body = {
    webhooks: [{ url: outer }, { url: inner }, { url: outer, oauth2: { tokenUrl: inner } }],
    notify: { url: inner },
  };
  const pointers = ['/notify/url', '/webhooks/1/url', '/webhooks/2/oauth2/tokenUrl'];
  for (const [caller, detail] of [
    [everybody, 'is refused by DELIVERY_ALLOW_NETWORKS'],
    [acme, 'leads to an address that is not public'],
  ] as const)
    assert.deepEqual(
      await problemsOf(body, caller),
      pointers.map((pointer) => ({ pointer, detail })),
    );
});

test('all URLs that a destination can have are looked at, and what is no URL is left to the schema', async () => {
  const webhook = { url: outer, oauth2: { tokenUrl: outer } };
  const last = { url: outer, oauth2: { tokenUrl: inner } };
  const webhooks = [webhook, webhook, webhook, webhook, last];
  assert.deepEqual(await problemsOf({ webhooks, notify: { url: outer } }), [
    { pointer: '/webhooks/4/oauth2/tokenUrl', detail: 'is refused by DELIVERY_ALLOW_NETWORKS' },
  ]);
  for (const odd of [undefined, null, [], 'x', { webhooks: [null, 7, { url: 7 }], notify: null }])
    assert.deepEqual(await problemsOf(odd), []);
});
