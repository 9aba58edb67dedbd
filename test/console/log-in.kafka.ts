import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { install } from '../harness/postrider.ts';
import { Browser, tokensFile, twoTokens } from './access/stand.ts';

const resources = JSON.stringify([
  { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
  ...['crm', 'billing'].map((id) => ({
    kind: 'Destination',
    id,
    name: id,
    sources: ['shop'],
    webhooks: [{ url: `https://${id}.example/hook` }],
  })),
]);

const settings = {
  CONSOLE_DATA_DIR: mkdtempSync(path.join(tmpdir(), 'postrider-test-')),
  CONSOLE_SESSION_KEY: randomBytes(32).toString('base64'),
  CONSOLE_TOKENS_FILE: tokensFile(twoTokens),
};

test('staff log in by a token, and a customer by a link that console-link prints', async () => {
  const postrider = await install(settings);
  await postrider.run(['topics', '--create']);
  await postrider.run(['apply', '-f', '-'], { stdin: resources });
  const role = await postrider.start('console');
  try {
    const staff = new Browser(role.consoleUrl);
    assert.equal((await staff.get('/api/v1/destinations')).status, 401);
    await staff.submit('/login', { token: 'vera-token' });
    assert.match((await staff.get('/api/v1/destinations')).text, /"id":"billing"/);

    const env = { CONSOLE_URL: role.consoleUrl };
    const { code, stdout, stderr } = await postrider.run(['console-link', 'crm'], { env });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^anyone with this link can see destination crm until \d{4}-.*Z\n$/);
    const customer = new Browser(role.consoleUrl);
    assert.equal((await customer.get(stdout.trim())).status, 200);
    assert.match((await customer.get('/api/v1/destinations/crm')).text, /"id":"crm"/);
    for (const route of ['/destinations', '/destinations/billing', '/events?message=m'])
      assert.equal((await customer.get(`/api/v1${route}`)).status, 403, route);
  } finally {
    await role.kill('SIGTERM');
  }
});

test('console-link says what it lacks', async () => {
  const postrider = await install({ ...settings, CONSOLE_URL: 'https://console.shop.example' });
  await postrider.run(['topics', '--create']);
  await postrider.run(['apply', '-f', '-'], { stdin: resources });
  const said = async (args: string[], env = {}): Promise<string> => {
    const { code, stdout, stderr } = await postrider.run(['console-link', ...args], { env });
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    return stderr;
  };
  assert.match(await said(['crn']), /^postrider: there is no destination crn; did you mean crm\?/);
  assert.match(
    await said(['crm'], { CONSOLE_SESSION_KEY: '' }),
    /^postrider: CONSOLE_SESSION_KEY is not set, allowed: 32 bytes in base64/,
  );
  assert.match(
    await said(['crm'], { CONSOLE_URL: '' }),
    /^postrider: CONSOLE_URL is not set, allowed: /,
  );
  for (const expires of ['7', '0s', '91d', 'x'])
    assert.match(
      await said(['crm', '--expires', expires]),
      /Allowed: a duration such as 12h or 7d, from 1m to 90d\./,
    );
});

test('a console that others could reach without log-in does not start', async () => {
  const postrider = await install({
    CONSOLE_HOST: '0.0.0.0',
    CONSOLE_DATA_DIR: settings.CONSOLE_DATA_DIR,
  });
  await postrider.run(['topics', '--create']);
  const { code, stderr } = await postrider.run(['console']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^postrider: CONSOLE_HOST is 0\.0\.0\.0, which other machines can reach, and log-in is off/m,
  );
});
