import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { compareFields } from '../../src/resources/apply/field-changes.ts';
import {
  decodeResource,
  encodeResource,
  maskResource,
  openResource,
} from '../../src/resources/config/stored.ts';
import { formatPath } from '../../src/resources/problem.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { parseResource } from '../../src/resources/schema/schema.ts';
import { presentOne } from '../../src/resources/present.ts';
import { exampleDestination, exampleKeys } from './examples.ts';

const url = 'https://crm.example.com/events';
const oauth2 = {
  tokenUrl: 'https://auth.example.com/token?key=zq1',
  clientId: 'postrider',
  clientSecret: 'zq2',
};

function crm(login: object = oauth2): Destination {
  return exampleDestination({ webhooks: [{ url, oauth2: login }] });
}

/** What is wrong with the destination's first webhook. */
function issues(webhook: object): string[] {
  const parsed = parseResource({ ...crm(), webhooks: [{ url, ...webhook }] });
  return 'issues' in parsed
    ? parsed.issues.map(({ path, reason }) => `${formatPath(path.slice(2))}: ${reason}`)
    : [];
}

function stored(destination: Destination): string {
  return encodeResource(destination, exampleKeys);
}

describe('oauth2 of a webhook', () => {
  test('sends its credentials by Basic unless it says otherwise', () => {
    assert.equal(crm().webhooks[0]?.oauth2?.auth, 'basic');
    assert.equal(crm({ ...oauth2, auth: 'body' }).webhooks[0]?.oauth2?.auth, 'body');
  });

  for (const [what, webhook, expected] of [
    [
      'without a client secret',
      { oauth2: { tokenUrl: oauth2.tokenUrl, clientId: 'a' } },
      ['oauth2.clientSecret: is missing'],
    ],
    [
      'with the mask of `get` in place of the secret',
      { oauth2: { ...oauth2, clientSecret: '(set, not shown)' } },
      [
        'oauth2.clientSecret: is what `get` prints instead of a secret; give the secret itself, e.g. as ${NAME}',
      ],
    ],
    [
      'with a token URL that is none',
      { oauth2: { ...oauth2, tokenUrl: 'ldap://auth' } },
      ['oauth2.tokenUrl: must be a URL that starts with http:// or https://'],
    ],
    [
      'with scopes in a list',
      { oauth2: { ...oauth2, scope: 'a,  b' } },
      ['oauth2.scope: must be scopes separated by single spaces'],
    ],
    [
      'with a misspelt field',
      { oauth2: { ...oauth2, scopes: 'a' } },
      [
        'oauth2.scopes: is not a known field; did you mean scope? Allowed: tokenUrl, clientId, clientSecret, scope, audience, auth',
      ],
    ],
    [
      'beside a header that it sets itself',
      { headers: { authorization: 'x' }, oauth2 },
      ['headers.authorization: is set by oauth2; remove one of them'],
    ],
  ] as const)
    test(`is refused ${what}`, () => {
      assert.deepEqual(issues(webhook), expected);
    });

  test('is stored with an encrypted secret, and read again as it was', () => {
    const value = stored(crm());
    assert.ok(!value.includes('zq2'));
    const sealed = decodeResource({ kind: 'Destination', id: 'crm' }, value);
    assert.deepEqual(openResource(sealed, exampleKeys), crm());
  });

  test('cannot be made to send its secret elsewhere by changing the record', () => {
    const value = stored(crm()).replace('auth.example.com', 'evil.example.com');
    const sealed = decodeResource({ kind: 'Destination', id: 'crm' }, value);
    assert.throws(() => openResource(sealed, exampleKeys), {
      message:
        'Destination crm: webhooks[0].oauth2.clientSecret was altered in the config topic; apply the resource again',
    });
  });

  test('shows no secret in `get` and `diff`', () => {
    const shown = maskResource({ sealed: crm() });
    assert.match(presentOne(shown, 'yaml'), /clientSecret: \(set, not shown\)/);
    assert.doesNotMatch(presentOne(shown, 'json'), /zq2/);
    const after = crm({ ...oauth2, clientSecret: 'zq3', clientId: 'other' });
    assert.deepEqual(compareFields(crm(), after), [
      { path: 'webhooks[0].oauth2.clientId', values: { before: 'postrider', after: 'other' } },
      { path: 'webhooks[0].oauth2.clientSecret', isSecret: true },
    ]);
    assert.deepEqual(compareFields(crm(), crm({ ...oauth2, tokenUrl: `${oauth2.tokenUrl}0` })), [
      { path: 'webhooks[0].oauth2.tokenUrl', isSecret: true },
    ]);
  });
});
