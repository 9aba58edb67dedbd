import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mock } from 'node:test';
import { Provider, type Configuration } from 'oidc-provider';
import { Browser, type Ending } from './stand.ts';

/** A real identity provider, in which one logs in as anybody whose name one gives. */
export interface TestProvider {
  readonly issuer: string;
  /** Of the next log-ins; put into the ID token, or `userinfo` alone. */
  claims: Readonly<Record<string, unknown>>;
  close(): Promise<void>;
}

export const client = { clientId: 'console', clientSecret: 'console-secret' } as const;

export async function startProvider(
  t: Ending,
  callback: string,
  {
    claimsIn = 'id-token',
    port = 0,
    auth = 'client_secret_basic' as const,
  }: {
    readonly claimsIn?: 'id-token' | 'userinfo';
    readonly port?: number;
    readonly auth?: 'client_secret_basic' | 'client_secret_post';
  } = {},
): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
      server.closeAllConnections();
    });
  const provider: TestProvider = { issuer, claims: {}, close };
  const configuration: Configuration = {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [callback],
        token_endpoint_auth_method: auth,
      },
    ],
    clientAuthMethods: [auth],
    claims: {
      openid: ['sub', 'roles', 'https://shop.example/roles', 'realm_access'],
      email: ['email', 'email_verified'],
      profile: ['preferred_username'],
    },
    conformIdTokenClaims: claimsIn === 'userinfo',
    pkce: { required: () => true },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...provider.claims }),
    }),
    features: { devInteractions: { enabled: true } },
    cookies: { keys: ['test'] },
  };
  // It warns of what suits a test.
  for (const method of ['info', 'warn'] as const) mock.method(console, method, () => undefined);
  t.after(() => {
    mock.restoreAll();
  });
  const answer = new Provider(issuer, configuration).callback();
  server.on('request', (request, response) => void answer(request, response));
  t.after(close);
  return provider;
}

/**
 * Goes through the provider's own pages as somebody would, and gives the address that it sends them back to.
 * @param start where the console has sent them
 */
export async function logInAt(start: string, login: string): Promise<string> {
  const { origin } = new URL(start);
  const browser = new Browser(origin);
  let address = start;
  for (let steps = 0; steps < 10; steps += 1) {
    const { status, headers, text } = await browser.get(address);
    if (status === 200) {
      const action = /<form[^>]*action="([^"]+)"/.exec(text)?.[1] ?? '';
      const prompt = /name="prompt" value="([^"]+)"/.exec(text)?.[1] ?? '';
      const sent = await browser.submit(action, { prompt, login, password: 'x' });
      address = String(sent.headers['location']);
    } else address = String(headers['location']);
    address = new URL(address, origin).href;
    if (new URL(address).origin !== origin) return address;
  }
  throw new Error(`the provider goes round and round, at ${address}`);
}
