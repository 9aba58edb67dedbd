import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Session } from '../../../src/console/api/answers/deployment.ts';
import { passedOn } from '../../../src/console/manage/pass-on.ts';
import {
  Browser,
  loggedIn,
  sessionKey,
  startStand,
  tokensFile,
  twoTokens,
  type Ending,
  type Reply,
} from '../access/stand.ts';

const settings = { tokensFile: tokensFile(twoTokens), sessionKey };

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Stub {
  readonly url: string;
  readonly asked: Asked[];
}

/** An API on a real socket. */
async function startApi(
  t: Ending,
  answer: (response: ServerResponse, asked: Asked) => void = (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  },
): Promise<Stub> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const { method, url, headers } = request;
      const body = Buffer.concat(chunks as Buffer[]).toString();
      const each = { method, url, headers, body };
      asked.push(each);
      answer(response, each);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

type Send = (
  method: string,
  path: string,
  headers?: Record<string, string>,
  body?: string,
) => Promise<Reply>;

/** A page of a browser that is logged in: it sends the CSRF token of its session. */
async function pageOf(browser: Browser): Promise<Send> {
  const { csrf } = await browser.session();
  return (method, path, headers = {}, body) =>
    browser.send(method, `/api/v1/manage/${path}`, { 'x-csrf-token': csrf, ...headers }, body);
}

const json = { 'content-type': 'application/json' };

test('a request is passed on as it is, and so is its answer, with what is named and nothing else', async (t) => {
  const problem = { status: 412, detail: 'It was changed since.', errors: [{ pointer: '/name' }] };
  const api = await startApi(t, (response) => {
    response
      .writeHead(412, {
        'content-type': 'application/problem+json',
        etag: '"7"',
        'set-cookie': 'a=b',
        'access-control-allow-origin': '*',
        server: 'stub',
      })
      .end(JSON.stringify(problem));
  });
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const send = await pageOf(await loggedIn(stand, 'olga'));
  const body = '{"name":  "CRM", "webhooks": []}';
  const answer = await send(
    'PATCH',
    'destinations/crm?dryRun=true',
    {
      'content-type': 'application/merge-patch+json',
      'if-match': '"6"',
      'x-forwarded-for': '10.0.0.1',
      'x-other': 'told',
      'accept-language': 'de',
    },
    body,
  );
  assert.deepEqual([answer.status, JSON.parse(answer.text)], [412, problem]);
  assert.equal(answer.headers['etag'], '"7"');
  assert.equal(answer.headers['content-type'], 'application/problem+json');
  assert.equal(answer.headers['cache-control'], 'no-store');
  for (const name of ['access-control-allow-origin', 'server', 'set-cookie'])
    assert.equal(answer.headers[name], undefined, name);
  const [asked] = api.asked;
  assert.ok(asked !== undefined);
  assert.deepEqual(
    [asked.method, asked.url, asked.body],
    ['PATCH', '/v1/destinations/crm?dryRun=true', body],
  );
  const { host, connection, ...headers } = asked.headers;
  assert.ok(host !== undefined && connection !== undefined);
  assert.deepEqual(headers, {
    accept: 'application/json, application/problem+json',
    authorization: 'Bearer olga-token',
    'content-type': 'application/merge-patch+json',
    'content-length': String(body.length),
    'if-match': '"6"',
  });
});

test('each method is passed on, with the session of a browser or the token of a program', async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const send = await pageOf(await loggedIn(stand, 'olga'));
  for (const method of ['PUT', 'PATCH', 'POST', 'DELETE', 'GET']) {
    const hasBody = ['PUT', 'PATCH', 'POST'].includes(method);
    const sent = await send(
      method,
      'destinations/crm',
      hasBody ? json : {},
      hasBody ? '{}' : undefined,
    );
    assert.equal(sent.status, 200, method);
  }
  assert.equal((await send('POST', 'destinations/crm/test')).status, 200, 'without a body');
  const program = await new Browser(stand.url).send('DELETE', '/api/v1/manage/destinations/crm', {
    authorization: 'Bearer olga-token',
  });
  assert.equal(program.status, 200);
  assert.deepEqual(
    api.asked.map(({ method }) => method),
    ['PUT', 'PATCH', 'POST', 'DELETE', 'GET', 'POST', 'DELETE'],
  );
  for (const { headers } of api.asked) assert.equal(headers.authorization, 'Bearer olga-token');
});

test('without a right to change, or without being meant, nothing is passed on', async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const nobody = new Browser(stand.url);
  assert.equal((await nobody.send('PUT', '/api/v1/manage/destinations/crm')).status, 401);
  const vera = await loggedIn(stand, 'vera');
  assert.equal((await vera.session()).manage, undefined);
  assert.equal((await (await pageOf(vera))('GET', 'destinations/crm')).status, 403);
  const reader = new Browser(stand.url);
  await reader.get(stand.linkToCustomer('prl_read', 'acme'));
  assert.equal((await reader.session()).manage, undefined);
  const refused = await (await pageOf(reader))('DELETE', 'destinations/crm');
  assert.equal(refused.status, 403);
  assert.match(refused.text, /Nothing can be changed with this session\./);
  const olga = await loggedIn(stand, 'olga');
  const { csrf } = await olga.session();
  for (const headers of [
    {},
    { 'x-csrf-token': `${csrf}x` },
    { 'x-csrf-token': csrf, origin: 'https://evil.example' },
    { 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' },
  ] as Record<string, string>[]) {
    const { status } = await olga.send('DELETE', '/api/v1/manage/destinations/crm', headers);
    assert.equal(status, 403, JSON.stringify(headers));
  }
  assert.deepEqual(api.asked, []);
});

test('whatever a path or a query is, what is asked is below /v1/, and only named parameters are in it', async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const send = await pageOf(await loggedIn(stand, 'olga'));
  for (const path of [
    '',
    'destinations/',
    'destinations//crm',
    'destinations/%',
    'destinations/crm?user=x',
    'destinations/crm?dryRun=true&__proto__=1',
  ])
    assert.equal((await send('GET', path)).status, 400, path);
  // A browser, and this test's client, would follow these themselves.
  for (const path of ['%2e%2e/metrics', '../v2/x', 'destinations/%2E%2e/%2e./x', './x', 'a/..'])
    assert.throws(
      () =>
        passedOn({ method: 'GET', url: `/api/v1/manage/${path}`, headers: {}, body: null }, 'a'),
      { status: 400 },
      path,
    );
  for (const path of ['..%2f..%2fmetrics', 'users/a%2F..%2Fb/delete']) await send('GET', path);
  assert.deepEqual(
    api.asked.map(({ url }) => url),
    ['/v1/..%2F..%2Fmetrics', '/v1/users/a%2F..%2Fb/delete'],
  );
  assert.equal((await send('GET', 'destinations?customer=acme&limit=5&cursor=WzEs')).status, 200);
  assert.equal(api.asked.at(-1)?.url, '/v1/destinations?customer=acme&limit=5&cursor=WzEs');
});

test('a long body or one of another type does not reach the API', async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const send = await pageOf(await loggedIn(stand, 'olga'));
  const long = `{"name":"${'x'.repeat(300_000)}"}`;
  assert.equal((await send('PUT', 'destinations/crm', json, long)).status, 413);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'])
    assert.equal(
      (await send('PUT', 'destinations/crm', { 'content-type': type }, 'a')).status,
      415,
    );
  assert.deepEqual(api.asked, []);
});

test('while the API is away, a sentence says that nothing was changed, and what it says by a foreign answer stays unseen', async (t) => {
  const gone = await startApi(t);
  const closed = createTcpServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const away = await startStand(t, settings, { apiUrl: `http://127.0.0.1:${port}` });
  const refused = await (await pageOf(await loggedIn(away, 'olga')))('DELETE', 'destinations/crm');
  assert.deepEqual(
    [refused.status, refused.headers['content-type']],
    [503, 'application/problem+json'],
  );
  assert.match(refused.text, /because the API is not reached; nothing was changed\./);
  assert.doesNotMatch(refused.text, /127\.0\.0\.1|ECONNREFUSED/);

  const answers: ((response: ServerResponse) => void)[] = [
    (response) => response.destroy(),
    (response) => response.writeHead(302, { location: `${gone.url}/v1/x` }).end(),
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>secret'),
    (response) => {
      response.writeHead(200, json).end(`"${'x'.repeat(5 * 1024 * 1024)}"`);
    },
  ];
  const api = await startApi(t, (response) => answers.shift()?.(response));
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const send = await pageOf(await loggedIn(stand, 'olga'));
  const cut = await send('DELETE', 'destinations/crm');
  assert.equal(cut.status, 504);
  assert.match(cut.text, /may have been done or not; look before you try again\./);
  for (const what of ['a redirect', 'a page', 'too much']) {
    const { status, text } = await send('GET', 'destinations/crm');
    assert.equal(status, 502, what);
    assert.doesNotMatch(text, /secret/);
  }
  assert.deepEqual(gone.asked, [], 'no redirect is followed');
});

test("a customer's link that manages is passed on, and no session holds a credential that it does not need", async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const browser = new Browser(stand.url);
  const { text } = await browser.get(stand.linkToCustomer('prl_acme', 'acme', { manage: true }));
  const link = /url=\/c\/(\w+)/.exec(text)?.[1] ?? '';
  const session = await browser.session();
  assert.deepEqual([session.manage, session.customer, session.user], [true, 'acme', 'acme']);
  const sent = await (await pageOf(browser))('PUT', 'destinations/hook', json, '{}');
  assert.equal(sent.status, 200);
  assert.equal(api.asked[0]?.headers.authorization, 'Bearer prl_acme');

  const cookie = browser.jar.get(`postrider-${link}`) ?? '';
  const [, sealed = ''] = cookie.split('~');
  assert.doesNotMatch(decodeURIComponent(cookie), /prl_acme/);
  assert.doesNotMatch(Buffer.from(cookie.split('.')[0] ?? '', 'base64url').toString(), /prl_/);
  // Nobody's session carries another one's credential.
  const other = new Browser(stand.url);
  await other.get(stand.linkToCustomer('prl_beta', 'beta', { manage: true }));
  const [[name = '', own = ''] = []] = other.jar;
  other.jar.set(name, `${own.split('~')[0] ?? ''}~${sealed}`);
  const swapped: Session = await other.session();
  assert.deepEqual([swapped.customer, swapped.manage], ['beta', undefined]);

  const plain = await startStand(t, settings);
  const alone = new Browser(plain.url);
  await alone.get(plain.linkToCustomer('prl_acme', 'acme', { manage: true }));
  assert.equal((await alone.session()).manage, undefined);
  assert.doesNotMatch([...alone.jar.values()].join(), /~/);
  assert.equal((await alone.get('/api/v1/manage/destinations')).status, 404);
});

test('a link that was revoked has nothing passed on any more', async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, settings, { apiUrl: api.url });
  const browser = new Browser(stand.url);
  await browser.get(stand.linkToCustomer('prl_acme', 'acme', { manage: true }));
  const send = await pageOf(browser);
  stand.toCustomers.clear();
  assert.equal((await send('DELETE', 'destinations/crm')).status, 401);
  assert.deepEqual(api.asked, []);
});

test('without log-in there is no credential, and operators are told that they can change', async (t) => {
  const api = await startApi(t);
  const stand = await startStand(t, {}, { apiUrl: api.url });
  const browser = new Browser(stand.url);
  assert.equal((await browser.session()).manage, true);
  assert.equal((await (await pageOf(browser))('DELETE', 'destinations/crm')).status, 200);
  assert.equal(api.asked[0]?.headers.authorization, undefined);
});
