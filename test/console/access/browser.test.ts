import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import type { Session } from '../../../src/console/api/answers/deployment.ts';
import { inBrowser } from '../../harness/browser.ts';
import { testNeeding } from '../../harness/needs-program.ts';
import { programs } from '../../harness/programs.ts';
import { freePort } from '../../harness/free-ports.ts';
import { client, startProvider } from './provider.ts';
import { sessionKey, startStand, tokensFile, twoTokens, type Ending } from './stand.ts';

/** What only a browser does: it decides by itself which cookies and headers go where. */

/** Another site: `localhost` and `127.0.0.1` are different ones to a browser. */
async function otherSite(t: Ending, html: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(`<!doctype html>${html}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function testInBrowser(title: string, run: (t: Ending, page: Page) => Promise<void>): void {
  testNeeding([programs.chromium], title, async (executablePath) => {
    const ends: (() => unknown)[] = [];
    try {
      await inBrowser(executablePath, (page) => run({ after: (end) => void ends.push(end) }, page));
    } finally {
      for (const end of ends) await end();
    }
  });
}

function sessionIn(page: Page): Promise<Session | null> {
  return page.evaluate(async () => {
    const response = await fetch('/api/v1/session');
    return response.ok ? ((await response.json()) as Session) : null;
  });
}

/** Whether the cookie went along when the browser came to `path` by itself. */
async function cookieAt(
  page: Page,
  path: string | RegExp,
  go: () => Promise<void>,
): Promise<string> {
  const isThere = ({ pathname }: URL): boolean =>
    typeof path === 'string' ? pathname === path : path.test(pathname);
  const coming = page.waitForRequest((request) => isThere(new URL(request.url())));
  await go();
  const request = await coming;
  await page.waitForURL(isThere);
  return (await request.allHeaders())['cookie'] ?? '';
}

testInBrowser('somebody logs in with a token, and out', async (t, page) => {
  const stand = await startStand(t, { tokensFile: tokensFile(twoTokens) });
  await page.goto(`${stand.url}/login?next=/pipeline`);
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').getByText('This token is not known.').waitFor();
  await page.getByLabel('Token').fill('olga-token');
  const cookie = await cookieAt(page, '/pipeline', () =>
    page.getByRole('button', { name: 'Log in' }).click(),
  );
  assert.match(cookie, /^postrider=/);
  const session = await sessionIn(page);
  assert.equal(session?.user, 'olga');
  const status = await page.evaluate(async (csrf) => {
    const headers = { 'content-type': 'application/json', 'x-csrf-token': csrf };
    return (await fetch('/api/v1/redrives', { method: 'POST', headers, body: '{}' })).status;
  }, session.csrf);
  assert.equal(status, 200);
  assert.equal(await page.evaluate('document.cookie'), '');

  await page.goto(`${stand.url}/logout`);
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByRole('heading', { name: 'You are logged out' }).waitFor();
  assert.equal(await sessionIn(page), null);
});

testInBrowser(
  'somebody comes by a link of another site, and logs in at a third',
  async (t, page) => {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const provider = await startProvider(t, `${url}/login/callback`);
    provider.claims = { roles: ['support'] };
    const roles = { claim: 'roles', operators: [], viewers: ['support'] };
    const oidc = { ...client, issuer: provider.issuer, scope: 'openid', roles };
    await startStand(t, { url, sessionKey, oidc }, { port });
    await page.goto(await otherSite(t, `<a href="${url}/login?next=/pipeline">Look</a>`));
    await page.getByRole('link', { name: 'Look' }).click();
    await page.getByRole('link', { name: /^Log in with/ }).click();
    await page.locator('[name=login]').fill('anna');
    await page.locator('[name=password]').fill('x');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    const cookie = await cookieAt(page, '/pipeline', () =>
      page.getByRole('button', { name: 'Continue' }).click(),
    );
    assert.match(cookie, /^postrider=/);
    assert.equal((await sessionIn(page))?.role, 'viewer');
  },
);

testInBrowser(
  "a customer opens a link in a mail, and another site's form does nothing",
  async (t, page) => {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const settings = { url, sessionKey, tokensFile: tokensFile(twoTokens) };
    const stand = await startStand(t, settings, { port });
    const untilMs = Date.now() + 60_000;
    const shown = { destination: 'crm', uid: null, bodies: false, untilMs };
    const link = stand.linkTo(shown);
    await page.goto(await otherSite(t, `<a href="${link}">Look</a>`));
    const cookie = await cookieAt(page, /^\/c\/\w+$/, () =>
      page.getByRole('link', { name: 'Look' }).click(),
    );
    assert.match(cookie, /^postrider-\w+=/);
    assert.equal((await sessionIn(page))?.destination, 'crm');

    await page.goto(`${url}/login`);
    await page.getByLabel('Token').fill('olga-token');
    await cookieAt(page, '/', () => page.getByRole('button', { name: 'Log in' }).click());
    for (const [action, status] of [
      [`${url}/api/v1/destinations/crm/pause`, 401],
      [`${url}/login`, 403],
    ] as const) {
      const field = '<input name="token" value="vera-token">';
      await page.goto(
        await otherSite(
          t,
          `<form method="post" action="${action}">${field}<button>Win</button></form>`,
        ),
      );
      const answered = page.waitForResponse(action);
      await page.getByRole('button', { name: 'Win' }).click();
      assert.equal((await answered).status(), status);
    }
    assert.deepEqual(stand.done, []);
    await page.goto(`${url}/login`);
    assert.equal((await sessionIn(page))?.user, 'olga');
  },
);
