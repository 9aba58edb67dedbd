import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { ourWords } from '../access/our-words.ts';
import { linkPath, manager, ownOf, teach, vendor } from './customers.ts';
import { madeSecret, problem } from './fake-api.ts';
import { operator } from './fake-console.ts';
import { busy, failingOf, visiting } from './visiting.ts';

const own = ownOf(busy);
const [managed = '', fromFiles = ''] = own;
const pathOf = (id: string): string => `${linkPath}/destinations/${encodeURIComponent(id)}`;
/** Of a link that only reads. */
const reader = Object.fromEntries(
  Object.entries(manager).filter(([name]) => name !== 'manage'),
) as typeof manager;
const theirs = { session: manager, own, brand: vendor };

visiting(
  'a customer walks from a URL to an endpoint that has taken an event',
  async ({ page, open, fake }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    fake.api.tests = [{ status: 401, detail: 'answered 401', answer: 'bad signature' }];
    await open(linkPath);
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByRole('heading', { name: 'Step 1 of 4: URL' }).waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('Enter the URL of your endpoint.').waitFor();
    const url = page.getByLabel('URL', { exact: true });
    await page.waitForFunction('document.activeElement?.getAttribute("aria-invalid") === "true"');
    await url.fill('https://hooks.acme.example/events');
    await url.press('Enter');
    await page.getByRole('heading', { name: 'Step 2 of 4: Events' }).waitFor();
    await page.getByLabel('Two ids of one user').uncheck();
    await page.getByLabel('Only these names').check();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByText('Choose one at least, or add one.').waitFor();
    await page.getByText('Example', { exact: true }).click();
    await page.getByText('"revenue": 39.95').waitFor();
    await page.getByLabel(/^Order Completed/).check();
    await page.getByLabel('Another name').fill('Trial*');
    await page.getByLabel('Another name').press('Enter');
    await page.getByLabel('Trial*').waitFor();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();

    await page.getByRole('heading', { name: 'Step 3 of 4: Secret and code' }).waitFor();
    await page.getByRole('button', { name: 'Copy the secret' }).click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), madeSecret);
    for (const [language, part] of [
      ['Python', 'from flask import'],
      ['Go', 'package main'],
      ['Node.js', 'import express'],
    ] as const) {
      await page.getByRole('button', { name: language }).click();
      await page.locator('.receiver pre').getByText(part).waitFor();
    }
    await page.getByRole('button', { name: 'I have stored the secret' }).click();

    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Your endpoint takes the signature for wrong.').waitFor();
    await page.getByText('401 Unauthorized in 132 ms').waitFor();
    await page.getByText('bad signature').waitFor();
    await page.getByRole('button', { name: 'Send another test' }).click();
    await page.getByText('Your endpoint has taken the test event. It is ready.').waitFor();
    await page.getByRole('link', { name: 'To the endpoint' }).waitFor();

    const [created, ...tests] = fake.api.asked;
    assert.match(created?.path ?? '', /^\/destinations\/hooks-acme-example-[a-z0-9]{6}$/);
    const id = created?.path.split('/').at(-1);
    assert.deepEqual(
      { ...created, path: '' },
      {
        method: 'PUT',
        path: '',
        csrf: 'csrf-7',
        ifMatch: undefined,
        ifNoneMatch: '*',
        body: {
          id,
          name: 'hooks.acme.example',
          webhooks: [{ url: 'https://hooks.acme.example/events' }],
          signature: 'standard',
          events: ['track', 'page', 'screen', 'identify', 'group'],
          eventNames: ['Order Completed', 'Trial*'],
        },
      },
    );
    assert.deepEqual(
      tests.map(({ method, path, csrf }) => [method, path, csrf]),
      Array(2).fill(['POST', `/destinations/${id}/test`, 'csrf-7']),
    );
  },
  theirs,
);

visiting(
  "what the API refuses stands at its field, in the API's words",
  async ({ page, open, fake }) => {
    const inner = 'leads to 10.0.0.7, which is not a public address';
    const errors = [
      { pointer: '/webhooks/0/url', detail: inner },
      { pointer: '/rateLimit', detail: 'may not be set here' },
    ];
    fake.api.refusal = problem(422, 'Two fields cannot be used.', { errors });
    await open(`${linkPath}/new`);
    await page.getByLabel('URL', { exact: true }).fill('https://inner.example');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByRole('heading', { name: 'Step 1 of 4: URL' }).waitFor();
    const field = page.locator('.field').filter({ has: page.getByLabel('URL', { exact: true }) });
    await field.getByText(inner).waitFor();
    await page.getByText('rateLimit: may not be set here').waitFor();
    await page.getByText('Some entries cannot be used.').waitFor();
    // What was entered is there still.
    assert.equal(
      await page.getByLabel('URL', { exact: true }).inputValue(),
      'https://inner.example',
    );
  },
  theirs,
);

visiting(
  'a customer sees where its notices go, on the page of the endpoint and where it is changed',
  async ({ page, open, fake }) => {
    teach(fake);
    const { notify = '' } = failingOf(busy);
    assert.match(notify, /^https:.*notices$/);
    await open(pathOf(managed));
    await page.getByText(`If it fails for long, that is told at ${notify}.`).waitFor();
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('URL for notices');
    assert.equal(await field.inputValue(), notify);
    await field.fill('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('It is saved, and in force within seconds.').waitFor();
    assert.deepEqual(fake.api.asked.at(-1)?.body, { notify: null });
  },
  theirs,
);

visiting(
  'of two people who change an endpoint at once, the later one sees what the other did, and saves once more',
  async ({ page, open, fake }) => {
    teach(fake);
    await open(pathOf(managed));
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('URL', { exact: true }).fill('https://mine.example/in');
    const { document = {} } = fake.api.destinations.get(managed) ?? {};
    const other = { ...document, name: 'Their name', events: ['page'] };
    fake.api.destinations.set(managed, { version: 2, document: other });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Somebody else has changed it meanwhile.').waitFor();
    await dialog.getByText('Somebody else changed it to: Their name').waitFor();
    await dialog.getByText('Somebody else changed it to: page').waitFor();
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'Their name');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('It is saved, and in force within seconds.').waitFor();
    const { ifMatch, body } = fake.api.asked.findLast(({ method }) => method === 'PATCH') ?? {};
    assert.equal(ifMatch, '"2"');
    assert.deepEqual(body, {
      webhooks: [{ url: 'https://mine.example/in', headers: { 'X-Token': '(secret)' } }],
    });
  },
  theirs,
);

visiting(
  'a customer pauses an endpoint, makes a new secret, sends events again, and deletes it, each after a question',
  async ({ page, open, fake }) => {
    teach(fake);
    await open(pathOf(managed));
    const dialog = page.getByRole('dialog');
    const writes = (): readonly string[] =>
      fake.api.asked
        .filter(({ method }) => method !== 'GET')
        .map(({ method, path }) => `${method} ${path.split('/').slice(3).join('/')}`);
    await page.getByRole('button', { name: 'Pause…' }).click();
    assert.deepEqual(writes(), []);
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText('It is paused.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'New secret…' }).click();
    await dialog.getByText('for 24 h, with the present one too').waitFor();
    await dialog.getByRole('button', { name: 'Make a new secret' }).click();
    await dialog.getByText(madeSecret).waitFor();
    await dialog.getByText('The former one signs as well until 7 Feb 2026').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'Send again…' }).click();
    await dialog.getByLabel('Given up in').selectOption('the last 3 days');
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByText('12 events would be sent again. Nothing was sent yet.').waitFor();
    await dialog.getByRole('button', { name: 'Send them again' }).click();
    await dialog.getByText('12 events were sent again.').waitFor();
    const [counted, sent] = fake.api.asked.flatMap(({ path, body }) =>
      path.endsWith('/redrive') ? [body] : [],
    );
    assert.deepEqual(counted, { ...sent, dryRun: true });
    await dialog.getByRole('button', { name: 'Close' }).click();

    await page.getByRole('button', { name: 'Delete…' }).click();
    await dialog.getByText('what waits for it is given up').waitFor();
    await dialog.getByRole('button', { name: 'Delete it for good' }).click();
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    assert.deepEqual(writes(), [
      'POST pause',
      'POST secret',
      'POST redrive',
      'POST redrive',
      'DELETE ',
    ]);
  },
  theirs,
);

visiting(
  'a customer gives an endpoint a second URL, mends it where it is refused, and removes the first',
  async ({ page, open, fake }) => {
    teach(fake);
    const [first] = failingOf(busy).urls;
    await open(pathOf(managed));
    await page.getByRole('button', { name: 'Change…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add another URL' }).click();
    const second = dialog.getByLabel('URL 2', { exact: true });
    await page.waitForFunction('document.activeElement?.value === ""');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Enter the URL of your endpoint.').waitFor();
    assert.equal(await second.getAttribute('aria-invalid'), 'true');
    const inner = 'leads to an address that is not public';
    fake.api.refusal = problem(422, 'x', {
      errors: [{ pointer: '/webhooks/1/url', detail: inner }],
    });
    await second.fill('https://inner.example');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('.url-line').nth(1).getByText(inner).waitFor();
    await second.fill('https://second.example/in');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('It is saved, and in force within seconds.').waitFor();
    const headers = { 'X-Token': '(secret)' };
    const webhooksSent = (): unknown =>
      fake.api.asked.findLast(({ method }) => method === 'PATCH')?.body;
    assert.deepEqual(webhooksSent(), {
      webhooks: [{ url: first?.url, headers }, { url: 'https://second.example/in' }],
    });

    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Change…' }).click();
    await dialog.getByRole('button', { name: 'Remove URL 1' }).click();
    assert.equal(
      await dialog.getByLabel('URL', { exact: true }).inputValue(),
      'https://second.example/in',
    );
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('It is saved, and in force within seconds.').waitFor();
    assert.deepEqual(webhooksSent(), { webhooks: [{ url: 'https://second.example/in' }] });
  },
  theirs,
);

visiting(
  'a customer sends what was given up at all endpoints again, counted before',
  async ({ page, open, fake }) => {
    teach(fake);
    await open(linkPath);
    await page.getByRole('button', { name: 'Send again…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Send events of all endpoints again' });
    fake.api.refusal = { status: 200, body: { id: 'c', state: 'failed', found: 0, sent: 0 } };
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByText('They could not be counted. Try once more.').waitFor();
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByText('12 events would be sent again. Nothing was sent yet.').waitFor();
    await dialog.getByRole('button', { name: 'Send them again' }).click();
    await dialog.getByText('12 events were sent again.').waitFor();
    const [, counted, sent] = fake.api.asked.filter(({ method }) => method === 'POST');
    assert.equal(sent?.path, '/customers/acme/redrive');
    assert.deepEqual(counted, { ...sent, body: { ...sent.body, dryRun: true } });
  },
  theirs,
);

visiting(
  'when the API limits, is away or does not answer in time, the page says what to do',
  async ({ page, open, fake }) => {
    teach(fake);
    await open(pathOf(managed));
    await page.getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog');
    for (const [refusal, words] of [
      [{ ...problem(429, 'x'), headers: { 'retry-after': '90' } }, /Try again in 1 min/],
      [problem(503, 'x'), /no answer at the moment\. Nothing was changed/],
      [problem(403, 'x'), /Your link does not allow this/],
      [problem(401, 'x'), /Your session has ended/],
    ] as const) {
      fake.api.refusal = refusal;
      await dialog.getByRole('button', { name: 'Pause' }).click();
      await dialog.getByRole('alert').getByText(words).waitFor();
    }
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText('It is paused.').waitFor();
  },
  theirs,
);

visiting(
  'an endpoint of files can be tried and paused, and says who changes it; a link that only reads has no buttons',
  async ({ page, open, fake }) => {
    teach(fake);
    await open(pathOf(fromFiles));
    await page.getByText('It is set up by the sender, who can change it.').waitFor();
    const buttons = await page.locator('.page-actions button').allInnerTexts();
    assert.deepEqual(buttons, ['Send a test…', 'Resume…', 'Send again…']);
    fake.state = { ...fake.state, session: reader };
    await open(linkPath);
    await page.getByText('read only').waitFor();
    await page.locator('tbody tr').first().waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send again…' }).count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Add an endpoint' }).count(), 0);
    await open(`${linkPath}/new`);
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
    await open(pathOf(managed));
    assert.equal(await page.locator('.page-actions button').count(), 0);
  },
  theirs,
);

visiting(
  'operators change what the API manages in the same dialogs, and are told where the others come from',
  async ({ page, open, fake }) => {
    fake.state = { ...fake.state, own };
    teach(fake);
    await open(`/destinations/${encodeURIComponent(managed)}`);
    await page.getByRole('button', { name: 'Change…' }).click();
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('Renamed');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('It is saved, and in force within seconds.').waitFor();
    assert.deepEqual(fake.api.asked.at(-1)?.body, { name: 'Renamed' });
    await open(`/destinations/${encodeURIComponent(fromFiles)}`);
    await page.getByText('It comes from files: change them, and run').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Change…' }).count(), 0);
  },
  { session: { ...operator, manage: true } },
);

const german = { ...theirs, locale: 'de-AT' };

visiting(
  'a browser that speaks German gets German, with its numbers and plurals, until English is chosen',
  async ({ page, open, fake }) => {
    teach(fake);
    await open(linkPath);
    await page.getByRole('heading', { level: 1, name: 'Endpunkte' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'de');
    const row = page.locator('tbody tr').filter({ hasText: 'Harbor Bank' });
    assert.match(await row.innerText(), /Fehlerhaft[\s\S]*4\.418/);
    await open(pathOf(managed));
    await page.getByRole('button', { name: 'Ändern …' }).waitFor();
    assert.match(await page.locator('.lead').innerText(), /4\.418 Ereignisse warten/);
    await page.getByLabel('Sprache').selectOption('en');
    await page.getByRole('button', { name: 'Change…' }).waitFor();
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    await open(linkPath);
    await page.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
  },
  german,
);

const axeSource = await readFile(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

/** Of accessibility and width, in light, dark and at 360 px; and no word of ours. */
async function check(page: Page, where: string): Promise<void> {
  await page.evaluate(axeSource);
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
  ] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    const wrong = await page.evaluate<readonly string[]>(
      `axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ' ' + nodes[0].html + ' ' + nodes[0].failureSummary))`,
    );
    assert.deepEqual(wrong, [], `${where}, ${scheme}, ${width} px`);
    const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    assert.ok(over <= 0, `${where} is ${over} px too wide at ${width} px`);
  }
  const word = ourWords.exec(await page.locator('body').innerText());
  assert.deepEqual(word, null, where);
}

for (const [language, given] of [
  ['English', theirs],
  ['German', german],
] as const)
  visiting(
    `every screen of a customer who manages is accessible, fits 360 px and wears the vendor's colors, in ${language}`,
    async ({ page, open, fake }) => {
      teach(fake);
      await open(linkPath);
      await page.locator('tbody tr').first().waitFor();
      assert.equal(await page.locator('.brand-logo').getAttribute('src'), '/brand/logo.svg');
      assert.equal(
        await page.evaluate(
          'getComputedStyle(document.querySelector("a.primary")).backgroundColor',
        ),
        'rgb(122, 46, 143)',
      );
      await check(page, 'the list');
      await page.locator('.page-actions button').click();
      await page.getByRole('dialog').locator('button').last().waitFor();
      await check(page, 'the dialog of the list');
      await page.keyboard.press('Escape');
      await open(pathOf(managed));
      await page.locator('.page-actions button').nth(5).waitFor();
      for (const index of [0, 1, 2, 3, 4, 5]) {
        await page.locator('.page-actions button').nth(index).click();
        await page.getByRole('dialog').locator('button').last().waitFor();
        await check(page, `dialog ${index}`);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      await open(`${linkPath}/new`);
      await page.locator('.walk input').first().waitFor();
      await check(page, 'the first step');
      await page.locator('.walk [type=submit]').click();
      await page.locator('.field-problem').waitFor();
      await check(page, 'a field that is refused');
      await page.locator('.walk input').first().fill('https://hooks.acme.example');
      await page.locator('.walk [type=submit]').click();
      await page.locator('.walk [type=radio]').nth(1).click();
      await page.locator('.name-list input').first().check();
      await check(page, 'the events');
      await page.locator('.walk [type=submit]').click();
      await page.locator('.receiver pre').waitFor();
      await check(page, 'the secret');
      fake.api.tests = [{ status: 404, detail: 'answered 404', answer: 'nothing here' }];
      await page.locator('.walk > .dialog-actions .primary').click();
      await page.locator('.live-test button').click();
      await page.locator('.advice').waitFor();
      await check(page, 'the test');
    },
    given,
  );
