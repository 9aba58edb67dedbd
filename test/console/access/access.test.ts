import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consoleAccess } from '../../../src/cli/console/access.ts';
import { CustomerLinks } from '../../../src/console/access/customer-link.ts';
import { createAccess } from '../../../src/console/access/access.ts';
import { systemClock } from '../../../src/ops/clock.ts';
import { silentLogger } from '../../../src/ops/log.ts';
import { describeSettings, readSettings } from '../../../src/settings/read.ts';
import { tokensFile, twoTokens } from './stand.ts';

const oidc = {
  CONSOLE_OIDC_ISSUER: 'https://login.shop.example/realms/shop',
  CONSOLE_OIDC_CLIENT_ID: 'console',
  CONSOLE_OIDC_CLIENT_SECRET: 'hush',
  CONSOLE_OIDC_OPERATORS: 'ops, on-call',
  CONSOLE_URL: 'https://console.shop.example/',
};

function isOpen(env: Record<string, string>): boolean {
  const settings = consoleAccess(readSettings(env));
  const identityOf = (): undefined => undefined;
  const given = { ...settings, brand: { name: 'Postrider', files: [] }, passesOn: false };
  return createAccess(given, {
    log: silentLogger,
    clock: systemClock,
    identityOf,
    customerLinks: { get: () => undefined, byToken: () => undefined },
    audit: { links: new CustomerLinks(), tell: () => undefined, tellSeldom: () => undefined },
  }).isOpen;
}

test('without log-in it is open, on loopback alone', () => {
  for (const host of ['127.0.0.1', '127.8.8.8', '::1', 'localhost', '::ffff:127.0.0.1'])
    assert.equal(isOpen({ CONSOLE_HOST: host }), true, host);
  assert.equal(isOpen({}), true);
  for (const host of ['0.0.0.0', '::', '10.0.0.5', 'console', 'localhost.evil.example', '127.1'])
    assert.throws(() => isOpen({ CONSOLE_HOST: host }), {
      code: 'setting-invalid',
      message: `CONSOLE_HOST is ${host}, which other machines can reach, and log-in is off: set CONSOLE_OIDC_ISSUER or CONSOLE_TOKENS_FILE, or leave CONSOLE_HOST at 127.0.0.1`,
    });
});

test('with log-in it is not open anywhere', () => {
  const file = tokensFile(twoTokens);
  assert.equal(isOpen({ CONSOLE_TOKENS_FILE: file }), false);
  assert.equal(isOpen({ CONSOLE_TOKENS_FILE: file, CONSOLE_HOST: '0.0.0.0' }), false);
  assert.throws(() => isOpen({ CONSOLE_TOKENS_FILE: '/nowhere/tokens.yaml' }), {
    code: 'setting-invalid',
    message: 'CONSOLE_TOKENS_FILE names "/nowhere/tokens.yaml", which cannot be read',
  });
});

test('OpenID Connect is set as a whole', () => {
  const settings = readSettings(oidc);
  assert.deepEqual(consoleAccess(settings), {
    host: '127.0.0.1',
    url: 'https://console.shop.example',
    sessionKey: undefined,
    tokensFile: undefined,
    oidc: {
      issuer: 'https://login.shop.example/realms/shop',
      clientId: 'console',
      clientSecret: 'hush',
      scope: 'openid profile email',
      roles: { claim: 'roles', operators: ['ops', 'on-call'], viewers: [] },
    },
    frameAncestors: [],
  });
  assert.equal(describeSettings(settings)['CONSOLE_OIDC_CLIENT_SECRET'], 'set');
  for (const [changes, sentence] of [
    [{ CONSOLE_OIDC_CLIENT_SECRET: '' }, /are allowed only together$/],
    [{ CONSOLE_URL: '' }, /^CONSOLE_URL is not set, allowed with CONSOLE_OIDC_ISSUER/],
    [{ CONSOLE_OIDC_OPERATORS: '' }, /so nobody could log in/],
    [{ CONSOLE_OIDC_ISSUER: 'http://login.shop.example' }, /^CONSOLE_OIDC_ISSUER is "http/],
    [{ CONSOLE_OIDC_ISSUER: 'http://127.0.0.1.evil.example' }, /^CONSOLE_OIDC_ISSUER is "http/],
    [{ CONSOLE_URL: 'https://shop.example/console' }, /^CONSOLE_URL is "https/],
    [{ CONSOLE_URL: 'console.shop.example' }, /^CONSOLE_URL is "console/],
    [{ CONSOLE_OIDC_SCOPE: 'profile' }, /^CONSOLE_OIDC_SCOPE is "profile"/],
    [{ CONSOLE_HOST: 'a b' }, /^CONSOLE_HOST is "a b"/],
  ] as const)
    assert.throws(() => readSettings({ ...oidc, ...changes }), { message: sentence });
});
