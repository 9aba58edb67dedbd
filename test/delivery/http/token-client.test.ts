import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { describe, mock, test } from 'node:test';
import { Provider } from 'oidc-provider';
import type { TokenAnswer } from '../../../src/delivery/sender.ts';
import type { OAuth2 } from '../../../src/resources/schema/webhook-login.ts';
import { eventually } from '../../harness/eventually.ts';
import { RealEngine } from '../real-engine.ts';
import {
  closeAfterwards,
  closedPort,
  createSender,
  http,
  leadingTo,
  listen,
} from './sender-scene.ts';

const credentials = { clientId: 'postrider', clientSecret: 's3cr3t/+&=' } as const;
const sender = createSender({ timeoutMs: 1_000 });

function ask(tokenUrl: string, changes: Partial<OAuth2> = {}, by = sender): Promise<TokenAnswer> {
  return new Promise((resolve) => {
    by.fetchToken({ tokenUrl, ...credentials, auth: 'basic', ...changes }, resolve);
  });
}

/** Asks a server that answers so. */
async function answered(
  status: number,
  body: string,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Promise<TokenAnswer> {
  const url = await http((_request, response) => {
    response.writeHead(status, headers).end(body);
  });
  return ask(`${url}/token`);
}

interface RealProvider {
  readonly tokenUrl: string;
  /** How many tokens it has given. */
  given(): number;
  /** Whether a request carries a token that it has given, and that has not ended. */
  knows(request: IncomingMessage): Promise<boolean>;
}

async function startProvider(
  lifeS: number,
  auth: 'client_secret_basic' | 'client_secret_post',
): Promise<RealProvider> {
  // It warns of what suits a test.
  for (const method of ['info', 'warn'] as const) mock.method(console, method, () => undefined);
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  closeAfterwards(() => {
    server.closeAllConnections();
  });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: credentials.clientId,
        client_secret: credentials.clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: auth,
      },
    ],
    clientAuthMethods: [auth],
    scopes: ['events'],
    ttl: { ClientCredentials: lifeS },
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
  });
  let given = 0;
  provider.on('client_credentials.saved', () => (given += 1));
  const answer = provider.callback();
  server.on('request', (request, response) => void answer(request, response));
  return {
    tokenUrl: `${issuer}/token`,
    given: () => given,
    knows: async ({ headers: { authorization = '' } }) => {
      const found = await provider.ClientCredentials.find(authorization.replace(/^Bearer /, ''));
      return found?.isValid === true;
    },
  };
}

describe('a token', () => {
  for (const [auth, method] of [
    ['basic', 'client_secret_basic'],
    ['body', 'client_secret_post'],
  ] as const)
    test(`comes from a real authorization server, with the credentials by ${auth}`, async () => {
      const { tokenUrl } = await startProvider(600, method);
      const answer = await ask(tokenUrl, { auth, scope: 'events' });
      assert.ok(answer.kind === 'token');
      assert.equal(answer.lifeS, 600);
    });

  test('is renewed before its end, while an endpoint gets its events', async () => {
    const provider = await startProvider(3, 'client_secret_basic');
    const seen: boolean[] = [];
    const url = await http((request: IncomingMessage, response: ServerResponse) => {
      void provider.knows(request).then((isKnown) => {
        seen.push(isKnown);
        response.writeHead(isKnown ? 200 : 401).end();
      });
    });
    const { tokenUrl } = provider;
    const oauth2 = { tokenUrl, ...credentials, auth: 'basic' } as const;
    const real = new RealEngine(createSender());
    closeAfterwards(() => {
      real.stop();
    });
    real.apply('crm', { url, headers: {}, oauth2 });
    let published = 0;
    await eventually(() => {
      real.publish('crm');
      published += 1;
      assert.ok(provider.given() >= 3);
    });
    await eventually(() => {
      assert.equal(real.finished.length, published);
    });
    assert.deepEqual(real.written, []);
    assert.deepEqual(new Set(seen), new Set([true]));
    assert.equal(seen.length, published);
  });

  test('is asked for with scope and audience', async () => {
    let asked = '';
    const url = await http((request, response) => {
      request.on('data', (chunk: Buffer) => (asked += chunk.toString()));
      request.on('end', () => {
        response.setHeader('content-type', 'application/json');
        response.end('{"access_token":"t","token_type":"bearer"}');
      });
    });
    const answer = await ask(url, { scope: 'a b', audience: 'https://crm.example/' });
    assert.deepEqual(answer, { kind: 'token', token: 't', lifeS: undefined });
    const { grant_type, scope, audience } = Object.fromEntries(new URLSearchParams(asked));
    assert.deepEqual(
      [grant_type, scope, audience],
      ['client_credentials', 'a b', 'https://crm.example/'],
    );
  });
});

const token = '"access_token":"t","token_type":"Bearer"';

describe('an authorization server gives no token when it', () => {
  for (const [what, given, detail] of [
    ['fails', () => answered(500, 'oops'), /^it answered 500$/],
    [
      'does not know the client, and repeats its secret',
      () =>
        answered(
          401,
          JSON.stringify({
            error: 'invalid_client',
            error_description: `bad ${credentials.clientSecret}`,
          }),
          { 'content-type': 'application/json', 'www-authenticate': 'Basic' },
        ),
      /^it answered 401 with invalid_client: bad …$/,
    ],
    [
      'answers 200 with an error',
      () => answered(200, '{"error":"invalid_scope"}'),
      /^it answered 200 with invalid_scope$/,
    ],
    ['answers with a page', () => answered(200, '<html>'), /something that is no JSON object$/],
    ['answers without a token', () => answered(200, '{}'), /without an access_token$/],
    [
      'answers with a token of another kind',
      () => answered(200, '{"access_token":"t","token_type":"mac"}'),
      /unsupported `token_type`/,
    ],
    [
      'says that the token has ended',
      () => answered(200, `{${token},"expires_in":0}`),
      /has ended already: expires_in is 0$/,
    ],
    [
      'says that the token has ended in the past',
      () => answered(200, `{${token},"expires_in":-5}`),
      /expires_in/,
    ],
    [
      'gives a token that no header can carry',
      () => answered(200, '{"access_token":"a\\r\\nX: b","token_type":"Bearer"}'),
      /characters that a header cannot carry$/,
    ],
    [
      'gives a token that is too long for a header',
      () => answered(200, `{"access_token":"${'t'.repeat(9_000)}","token_type":"Bearer"}`),
      /has 9000 characters; a header takes at most 8192$/,
    ],
    [
      'answers with more than anybody reads',
      () => answered(200, `{${token},"more":"${'x'.repeat(100_000)}"}`),
      /^its answer has more than 65536 bytes$/,
    ],
    [
      'redirects',
      () => answered(307, '', { location: 'https://elsewhere.example/token' }),
      /^it answered 307, a redirect, which is not followed$/,
    ],
    ['hangs', async () => ask(await http(() => undefined)), /^no complete answer in time$/],
    [
      'begins an answer and does not end it',
      async () =>
        ask(
          await http((_request, response) => {
            response.writeHead(200, { 'content-type': 'application/json' });
            response.write('{');
          }),
        ),
      /^no complete answer in time$/,
    ],
    ['is away', async () => ask(await closedPort()), /^ECONNREFUSED/],
    [
      'has an address that is not public',
      () => ask('https://10.0.0.1/token'),
      /not a public address/,
    ],
    [
      'has a URL without https outside of the allowed networks',
      () =>
        ask('http://crm.example/token', {}, createSender({ resolver: leadingTo('93.184.216.34') })),
      /^the URL is not https, and DELIVERY_ALLOW_NETWORKS does not have its network$/,
    ],
  ] as const)
    test(what, async () => {
      const answer = await given();
      assert.ok(answer.kind === 'none');
      assert.match(answer.detail, detail);
    });

  test('does not keep an endpoint without a login from its events', async () => {
    const url = await http((_request, response) => response.end());
    const hanging = await http(() => undefined);
    const real = new RealEngine(createSender({ timeoutMs: 5_000 }));
    closeAfterwards(() => {
      real.stop();
    });
    real.apply('well', { url, headers: {} });
    const oauth2 = { tokenUrl: hanging, ...credentials, auth: 'basic' } as const;
    real.apply('crm', { url, headers: {}, oauth2 });
    for (let n = 0; n < 500; n++) {
      real.publish('crm');
      real.publish('well');
    }
    await eventually(() => {
      assert.equal(real.finished.length, 500);
    });
    assert.equal(real.metrics.requests.get('delivered'), 500);
  });
});
