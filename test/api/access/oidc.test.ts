import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { tokenEntry, tokensFile, oidcOf, startApiStand, startKeyProvider } from '../stand.ts';

const nowS = (): number => Math.floor(Date.now() / 1_000);

function claimsFor(issuer: string, more: JWTPayload = {}): JWTPayload {
  const exp = nowS() + 600;
  return { iss: issuer, aud: 'postrider-api', sub: 'shop-1', exp, scope: 'openid read', ...more };
}

test('an access token gives the scopes and the customers of its claims', async (t) => {
  const provider = await startKeyProvider(t);
  const { issuer } = provider;
  const { ask } = await startApiStand(t, {
    oidc: oidcOf(provider, { customersClaim: 'shop.customers' }),
  });
  const asked = async (more: JWTPayload): Promise<Awaited<ReturnType<typeof ask>>> =>
    ask('/v1/may/read', { token: await provider.sign(claimsFor(issuer, more)) });
  const bound = await asked({ shop: { customers: ['acme'] }, email: 'shop@acme.example' });
  assert.deepEqual(bound.json, {
    user: `${issuer} shop-1`,
    name: 'shop@acme.example',
    scopes: ['read'],
    customers: ['acme'],
  });
  const one = await asked({ 'shop.customers': 'acme', scope: ['read', 'operate', 'other'] });
  assert.deepEqual(one.json['scopes'], ['read', 'operate']);
  assert.deepEqual(one.json['customers'], ['acme']);
  for (const shop of [undefined, { customers: [] }, { customers: [42] }, 'acme']) {
    const none = await asked({ shop });
    assert.equal(none.status, 403);
    assert.match(none.detail, /names no customer in its claim shop\.customers/);
  }
});

test('an access token that is wrong says what is wrong', async (t) => {
  const provider = await startKeyProvider(t);
  const { issuer } = provider;
  const { ask } = await startApiStand(t, { oidc: oidcOf(provider) });
  const claims = claimsFor(issuer);
  const strange = await generateKeyPair('ES256');
  const right = await provider.sign(claims);
  const [head = '', body = '', signature = ''] = right.split('.');
  const widened = Buffer.from(JSON.stringify({ ...claims, scope: 'operate' })).toString(
    'base64url',
  );
  const publicKey = await exportSPKI(strange.publicKey);
  const cases: Readonly<Record<string, readonly [string, RegExp]>> = {
    expired: [await provider.sign({ ...claims, exp: nowS() - 60 }), /^The token has expired\.$/],
    'without an end': [await provider.sign({ ...claims, exp: undefined }), /claim exp is missing/],
    'not valid yet': [await provider.sign({ ...claims, nbf: nowS() + 300 }), /not valid yet/],
    'of another audience': [
      await provider.sign({ ...claims, aud: 'postrider-api-2' }),
      /another audience/,
    ],
    'of no audience': [await provider.sign({ ...claims, aud: undefined }), /another audience/],
    'of another issuer': [
      await provider.sign({ ...claims, iss: `${issuer}/` }),
      /^The token is of another issuer\.$/,
    ],
    'of nobody': [await provider.sign({ ...claims, sub: undefined }), /claim sub is missing/],
    'not signed': [new UnsecuredJWT(claims).encode(), /not allowed; allowed: RS256/],
    'signed with a secret': [
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: '1' })
        .sign(Buffer.from(publicKey)),
      /not allowed; allowed: RS256/,
    ],
    'signed by somebody else': [
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: '1' })
        .sign(strange.privateKey),
      /signature is wrong/,
    ],
    'of an unknown key': [
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'unknown' })
        .sign(strange.privateKey),
      /signed with a key that http.* does not have/,
    ],
    'changed on the way': [`${head}.${widened}.${signature}`, /signature is wrong/],
    'cut off': [`${head}.${body}.`, /signature is wrong|no JSON Web Token/],
    'a request to log out': [
      await provider.sign(claims, { typ: 'logout+jwt' }),
      /neither an access token nor an ID token/,
    ],
  };
  for (const [name, [token, sentence]] of Object.entries(cases)) {
    const { status, detail, headers } = await ask('/v1/may/read', { token });
    assert.equal(status, 401, name);
    assert.match(detail, sentence, name);
    assert.equal(headers.get('www-authenticate'), 'Bearer error="invalid_token"', name);
  }
  assert.equal((await ask('/v1/may/read', { token: right })).status, 200);
});

test('an access token without a scope is for nothing', async (t) => {
  const provider = await startKeyProvider(t);
  const { ask } = await startApiStand(t, { oidc: oidcOf(provider) });
  // Scopes are compared, and never their beginnings.
  for (const scope of ['', 'reader read-all', ['read write'].map((text) => `x${text}`), 42]) {
    const token = await provider.sign(claimsFor(provider.issuer, { scope }));
    assert.equal((await ask('/v1/may/read', { token })).status, 403);
  }
});

test('whoever operates in the console does so here by the ID token of that log-in', async (t) => {
  const provider = await startKeyProvider(t);
  const { issuer } = provider;
  const operators = { clientId: 'console', roleClaim: 'realm.roles', values: ['postrider-admin'] };
  const { ask } = await startApiStand(t, {
    // The claim binds access tokens, and an operator's token has none.
    oidc: oidcOf(provider, { operators, customersClaim: 'customers' }),
  });
  const asked = async (more: JWTPayload): Promise<Awaited<ReturnType<typeof ask>>> =>
    ask('/v1/may/operate', {
      token: await provider.sign(claimsFor(issuer, { aud: 'console', ...more })),
    });
  const roles = { realm: { roles: ['postrider-admin'] } };
  const { status, json } = await asked({ ...roles, preferred_username: 'ines' });
  assert.equal(status, 200);
  assert.deepEqual(json, {
    user: `${issuer} shop-1`,
    name: 'ines',
    scopes: ['read', 'write', 'operate'],
  });
  // The scopes of an ID token are its person's own choice.
  assert.equal((await asked({ scope: 'read write operate' })).status, 403);
  assert.equal((await asked({ realm: { roles: ['postrider-admin-of-nothing'] } })).status, 403);
  const elsewhere = await asked({ ...roles, aud: ['console', 'wiki'], azp: 'wiki' });
  assert.equal(elsewhere.status, 401);
  assert.match(elsewhere.detail, /issued to somebody else than the console/);
  // Roles give nothing to a token that was made for programs.
  const program = await asked({ ...roles, aud: 'postrider-api', customers: ['acme'] });
  assert.equal(program.status, 403);
});

test('keys that the provider exchanges are found, and unknown ones make it asked no more than twice a minute', async (t) => {
  const provider = await startKeyProvider(t);
  const { ask } = await startApiStand(t, { oidc: oidcOf(provider) });
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  t.after(() => {
    mock.timers.reset();
  });
  const signed = (): Promise<string> => provider.sign(claimsFor(provider.issuer));
  const former = await signed();
  assert.equal((await ask('/v1/may/read', { token: former })).status, 200);
  await provider.rotate();
  const token = await signed();
  for (let each = 0; each < 20; each += 1)
    assert.equal((await ask('/v1/may/read', { token })).status, 401);
  assert.equal(provider.asked(), 1);
  mock.timers.tick(31_000);
  assert.equal((await ask('/v1/may/read', { token })).status, 200);
  assert.equal((await ask('/v1/may/read', { token: former })).status, 401);
  assert.equal(provider.asked(), 2);
});

test('while the provider does not answer, tokens of the file go on working', async (t) => {
  const provider = await startKeyProvider(t);
  const { ask, clock } = await startApiStand(t, {
    oidc: oidcOf(provider),
    tokensFile: tokensFile(tokenEntry('shop', 'scopes: [read]')),
  });
  const token = await provider.sign(claimsFor(provider.issuer));
  for (const answer of [
    { status: 503, body: '' },
    { status: 200, body: 'no JSON' },
    { status: 200, body: '{"keys": 1}' },
    { status: 200, body: `{"keys": [], "more": "${'x'.repeat(600_000)}"}` },
  ]) {
    provider.answersWith(answer);
    const { status, detail, headers } = await ask('/v1/may/read', { token });
    assert.equal(status, 503);
    assert.match(detail, /does not answer as it should/);
    assert.equal(headers.get('retry-after'), '5');
    clock.forward(5_000);
  }
  const before = provider.asked();
  provider.answersWith({ status: 500, body: '' });
  for (let each = 0; each < 5; each += 1) await ask('/v1/may/read', { token });
  assert.equal(provider.asked(), before + 1);
  assert.equal((await ask('/v1/may/read', { token: 'shop-token' })).status, 200);
  provider.answersWith(undefined);
  clock.forward(5_000);
  assert.equal((await ask('/v1/may/read', { token })).status, 200);
});
