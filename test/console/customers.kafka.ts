import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium, type Locator, type Page } from 'playwright-core';
import { signatureProblem } from '../../src/client/verify.ts';
import { startReceiver } from '../../src/dev/receiver.ts';
import { newSigningSecret } from '../../src/resources/signing-secret.ts';
import { freePort } from '../harness/free-ports.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { install, type Installation } from '../harness/postrider.ts';
import { programs } from '../harness/programs.ts';
import { tokensFile, twoTokens } from './access/stand.ts';

const source = JSON.stringify({ kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] });
const appToken = 'app-token';
const appTokens = `- { name: app, scopes: [read, write, operate], sha256: '${createHash('sha256').update(appToken).digest('hex')}' }\n`;

/** The customer's endpoint, as its developer leaves it from one step to the next. */
interface Endpoint {
  secret: string;
  isBroken: boolean;
  readonly taken: string[];
}

testNeeding(
  [programs.chromium],
  'a customer adds an endpoint, mends its signature check, sees events arrive, breaks it, and sends again what was given up; an operator sees who did what',
  async (executablePath) => {
    const endpoint: Endpoint = { secret: newSigningSecret(), isBroken: false, taken: [] };
    const receiver = await startReceiver({
      port: 0,
      answer: ({ body, headers }) => {
        if (signatureProblem(endpoint.secret, body, headers) !== undefined)
          return { status: 401, body: 'bad signature' };
        if (endpoint.isBroken) return { status: 422, body: 'closed for today' };
        endpoint.taken.push((JSON.parse(body.toString()) as { userId: string }).userId);
        return { status: 200 };
      },
    });
    const [consolePort, apiPort] = [await freePort(), await freePort()];
    const consoleUrl = `http://127.0.0.1:${consolePort}`;
    const postrider = await install({
      CONSOLE_PORT: String(consolePort),
      CONSOLE_URL: consoleUrl,
      CONSOLE_API_URL: `http://127.0.0.1:${apiPort}`,
      CONSOLE_DATA_DIR: mkdtempSync(path.join(tmpdir(), 'postrider-test-')),
      CONSOLE_SESSION_KEY: randomBytes(32).toString('base64'),
      CONSOLE_TOKENS_FILE: tokensFile(twoTokens),
      CONSOLE_BRAND_NAME: 'Harbor & Sons',
      API_PORT: String(apiPort),
      API_TOKENS_FILE: tokensFile(appTokens),
    });
    await postrider.run(['topics', '--create']);
    assert.equal((await postrider.run(['apply', '-f', '-'], { stdin: source })).code, 0);
    const roles = (['router', 'delivery', 'api', 'console'] as const).map((role) =>
      postrider.start(role),
    );
    const browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
    });
    try {
      await Promise.all(roles);
      const page = await (await browser.newContext({ locale: 'en-US' })).newPage();
      page.setDefaultTimeout(60_000);
      await page.goto(await linkFor('acme', `http://127.0.0.1:${apiPort}`));
      await page.waitForURL(/\/c\/\w+$/);
      await addedEndpoint(page, `${receiver.url}/events`, endpoint);
      await brokenAndMended(page, endpoint, postrider);
      await page.goto(`${consoleUrl}/login?next=/audit`);
      await page.getByLabel('Token').fill('olga-token');
      await page.getByRole('button', { name: 'Log in' }).click();
      await seenInTheAudit(page);
    } finally {
      await browser.close();
      await Promise.allSettled(roles.map(async (role) => (await role).kill('SIGTERM')));
      await receiver.close();
    }
  },
);

/** The application asks for a link, for whoever is logged in there. */
async function linkFor(customer: string, apiUrl: string): Promise<string> {
  const response = await fetch(`${apiUrl}/v1/customers/${customer}/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${appToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ manage: true, bodies: true, expires: '1h' }),
  });
  const { url } = (await response.json()) as { readonly url: string };
  assert.equal(response.status, 201);
  return url;
}

async function addedEndpoint(page: Page, url: string, endpoint: Endpoint): Promise<void> {
  await page.getByText('No endpoint yet.').waitFor();
  await page.getByRole('link', { name: 'Add an endpoint' }).click();
  await page.getByLabel('URL', { exact: true }).fill(url);
  await page.getByLabel('Name', { exact: true }).fill('Our orders');
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  const secret = await page.locator('.secret .id').innerText();
  await page.getByRole('button', { name: 'I have stored the secret' }).click();

  // Its program has another secret.
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('Your endpoint takes the signature for wrong.').waitFor();
  await page.getByText('bad signature').waitFor();
  endpoint.secret = secret;
  await untilTaken(page, page.getByRole('button', { name: 'Send another test' }));
  await page.getByRole('link', { name: 'To the endpoint' }).click();
  await page.getByRole('heading', { level: 1, name: /Our orders/ }).waitFor();
}

/** One test a second can be sent to a destination. */
async function untilTaken(page: Page, button: Locator): Promise<void> {
  const green = page.getByText('Your endpoint has taken the test event. It is ready.');
  const refused = page.getByRole('alert');
  await button.click();
  await green.or(refused).waitFor();
  if (!(await green.isVisible())) await untilTaken(page, button);
}

async function brokenAndMended(
  page: Page,
  endpoint: Endpoint,
  postrider: Installation,
): Promise<void> {
  const happens = async (userId: string): Promise<void> => {
    const call = JSON.stringify({
      type: 'track',
      event: 'Order Completed',
      userId,
      messageId: userId,
    });
    assert.equal((await postrider.run(['produce', '--source', 'shop'], { stdin: call })).code, 0);
  };
  const attempts = page.getByRole('group', { name: 'Attempts, the newest first' });
  await happens('ada');
  await attempts
    .locator('tr')
    .filter({ hasText: /Delivered[\s\S]*200 OK[\s\S]*ada/ })
    .waitFor();

  endpoint.isBroken = true;
  await happens('grace');
  const failed = attempts.locator('tr').filter({ hasText: /Refused[\s\S]*422[\s\S]*grace/ });
  await failed.getByText('closed for today').waitFor();
  const given = page.getByRole('group', { name: 'Events given up, the last 1' });
  await given.getByText('closed for today').waitFor();

  endpoint.isBroken = false;
  await page.getByRole('button', { name: 'Send again…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Count them' }).click();
  await dialog.getByText('1 event would be sent again. Nothing was sent yet.').waitFor();
  await dialog.getByRole('button', { name: 'Send them again' }).click();
  await dialog.getByText('1 event was sent again.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await attempts
    .locator('tr')
    .filter({ hasText: /Delivered[\s\S]*grace/ })
    .waitFor();
  assert.deepEqual(
    endpoint.taken.filter((user) => user !== 'postrider-test'),
    ['ada', 'grace'],
  );
}

async function seenInTheAudit(page: Page): Promise<void> {
  const rows = page.locator('tbody tr');
  for (const [who, what] of [
    ['app', 'make-link'],
    ['link', 'put-destination'],
    ['link', 'send-test'],
    ['link', 'redrive'],
  ] as const)
    await rows
      .filter({ hasText: new RegExp(`${who}[\\s\\S]*${what}`) })
      .first()
      .waitFor();
  const added = await rows.filter({ hasText: 'put-destination' }).first().innerText();
  assert.match(added, /Our orders/);
  assert.doesNotMatch(await page.locator('main').innerText(), /whsec_/);
}
