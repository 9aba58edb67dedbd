import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { DestinationList } from '../../../src/console/api/answers/destinations.ts';
import { eventually } from '../../harness/eventually.ts';
import { install, type Installation, type RunningRole } from '../../harness/postrider.ts';
import { Browser, sessionKey, tokenEntry, tokensFile } from '../access/stand.ts';

/** A customer's pages and the API behind them, as processes on a real broker. */

const operatorToken = 'olga-token';
const sha256 = createHash('sha256').update(operatorToken).digest('hex');

let postrider: Installation;
let [api, console]: [RunningRole?, RunningRole?] = [];

before(async () => {
  postrider = await install({
    CONSOLE_TOKENS_FILE: tokensFile(tokenEntry('olga', 'operator')),
    CONSOLE_SESSION_KEY: sessionKey.toString('base64'),
    API_TOKENS_FILE: tokensFile(
      `- { name: olga, scopes: [read, write, operate], sha256: '${sha256}' }\n`,
    ),
  });
  assert.equal((await postrider.run(['topics', '--create'])).code, 0);
  const filed = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk_shop'] },
    {
      kind: 'Destination',
      id: 'filed',
      name: 'Filed',
      sources: ['shop'],
      webhooks: [{ url: 'https://filed.example.com' }],
    },
  ];
  const applied = await postrider.run(['apply', '-f', '-'], { stdin: JSON.stringify(filed) });
  assert.equal(applied.code, 0, applied.stderr);
  api = await postrider.start('api');
  console = await postrider.start('console', { CONSOLE_API_URL: api.apiUrl, SECRET_KEY: '' });
});

after(async () => {
  await console?.kill('SIGKILL');
  await api?.kill('SIGKILL');
});

/** @param customer undefined: by the operator, who logs in */
async function browserOf(customer?: string): Promise<{ browser: Browser; csrf: string }> {
  const browser = new Browser(console?.consoleUrl ?? '');
  if (customer === undefined) await browser.submit('/login', { token: operatorToken });
  else {
    const made = await fetch(`${api?.apiUrl ?? ''}/v1/customers/${customer}/links`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${operatorToken}` },
      body: JSON.stringify({ manage: true, expires: '1h' }),
    });
    assert.equal(made.status, 201);
    const { path } = (await made.json()) as { readonly path: string };
    await eventually(async () => {
      assert.equal((await browser.get(path)).status, 200);
    });
  }
  const { csrf, manage } = await browser.session();
  assert.equal(manage, true);
  return { browser, csrf };
}

test('a customer adds a destination by their link, sees it, changes it and deletes it, and nobody else can', async () => {
  const acme = await browserOf('acme');
  const other = await browserOf('other');
  const send = (
    { browser, csrf }: typeof acme,
    method: string,
    body?: object,
    headers: Record<string, string> = {},
  ) =>
    browser.send(
      method,
      '/api/v1/manage/destinations/hook',
      { 'x-csrf-token': csrf, 'content-type': 'application/json', ...headers },
      body === undefined ? undefined : JSON.stringify(body),
    );
  const hook = { name: 'Hook', webhooks: [{ url: 'https://hook.example.com/in' }] };
  const made = await send(acme, 'PUT', hook);
  assert.equal(made.status, 201, made.text);
  assert.match(made.text, /"sharedSecret":"whsec_/);
  assert.match(String(made.headers['postrider-config-offset']), /^\d+$/);
  const etag = String(made.headers['etag']);

  const idsOf = async ({ browser }: typeof acme): Promise<readonly string[]> => {
    const { text } = await browser.get('/api/v1/destinations');
    return (JSON.parse(text) as DestinationList).items.map(({ id }) => id);
  };
  await eventually(async () => {
    assert.deepEqual(await idsOf(acme), ['hook']);
  });
  assert.deepEqual(await idsOf(other), []);
  const olga = await browserOf();
  assert.deepEqual([...(await idsOf(olga))].sort(), ['filed', 'hook']);

  const named = { name: 'The hook' };
  assert.equal((await send(acme, 'PATCH', named, { 'if-match': '"1"' })).status, 412);
  assert.equal((await send(acme, 'PATCH', named, { 'if-match': etag })).status, 200);
  for (const method of ['GET', 'PATCH', 'DELETE'])
    assert.equal((await send(other, method, method === 'PATCH' ? named : undefined)).status, 404);
  assert.equal((await send(other, 'PUT', hook)).status, 409);
  const wrong = await send(acme, 'PATCH', { webhooks: [{ url: 'nowhere' }] });
  assert.equal(wrong.status, 422, wrong.text);
  assert.match(wrong.text, /"pointer":"\/webhooks\/0\/url"/);
  assert.equal((await send(olga, 'PATCH', { name: 'Hook of acme' })).status, 200);
  assert.equal((await send(acme, 'DELETE')).status, 204);
  await eventually(async () => {
    assert.deepEqual(await idsOf(acme), []);
  });
});

test('a link that was revoked changes nothing any more, and an API that is away is told', async () => {
  const acme = await browserOf('acme');
  const { subject = '' } = await acme.browser.session();
  const revoked = await postrider.run(['console-link', '--revoke', subject.replace('link ', '')]);
  assert.equal(revoked.code, 0, revoked.stderr);
  await eventually(async () => {
    assert.equal((await acme.browser.get('/api/v1/destinations')).status, 401);
  });
  const olga = await browserOf();
  await api?.kill('SIGTERM');
  const { status, text } = await olga.browser.send('DELETE', '/api/v1/manage/destinations/hook', {
    'x-csrf-token': olga.csrf,
  });
  assert.equal(status, 503, text);
  assert.match(text, /nothing was changed/);
});
