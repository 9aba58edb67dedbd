import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadPages } from '../../../src/console/build-pages.ts';
import { describeLine } from '../../../src/attempts/describe.ts';
import type { Session } from '../../../src/console/api/answers/deployment.ts';
import type { AttemptRow } from '../../../src/console/api/answers/destinations.ts';
import { deferralCauses } from '../../../src/delivery/retry-policy.ts';
import { deadLetterReasons } from '../../../src/event/dead-letter-reasons.ts';
import { destinationHealths } from '../../../src/event/destination-health.ts';
import { ourWords } from '../access/our-words.ts';
import { operator } from './fake-console.ts';
import { fakeData, hostile } from './fake-data.ts';
import { busy, failingOf, visiting } from './visiting.ts';

const nothing = fakeData(0);
const written = fakeData(60, hostile);
const axeSource = await readFile(fileURLToPath(import.meta.resolve('axe-core')), 'utf8');

function screensOf(data: typeof busy): readonly (readonly [path: string, heading: string])[] {
  const { id } = failingOf(data);
  return [
    ['/', 'Destinations'],
    [`/destinations/${encodeURIComponent(id)}`, 'Harbor Bank'],
    [`/events?message=${encodeURIComponent(data.story.messageId)}`, 'Events'],
    ['/events?user=user-4000', 'Events'],
    ['/dead-letters', 'Dead letters'],
    ['/runs', 'Runs'],
    ['/pipeline', 'Pipeline'],
    ['/rejected', 'Rejected calls'],
    ['/audiences', 'Audiences'],
    ['/configuration', 'Configuration'],
    ['/notices', 'Notices'],
    ['/audit', 'Audit'],
    ['/no-such-page', 'No such page'],
  ];
}

const pageFiles = await loadPages({ name: 'Postrider', files: [] });

/** What a browser loads before it shows anything: the script with what it imports, and the style. */
function bytesFor(part: 'staff' | 'customer'): number {
  const named = (name: string): (typeof pageFiles)[number] | undefined =>
    pageFiles.find(({ path }) => path.startsWith(`assets/${name}`));
  const loaded = new Set([named('main-'), named(`${part}-`)]);
  for (const file of loaded) {
    const imports = file?.content.toString().matchAll(/(?:from|import)"\.\/([^"]+)"/g) ?? [];
    for (const [, name = ''] of imports) loaded.add(named(name));
  }
  const style = pageFiles.find(({ path }) => path.endsWith('.css'));
  assert.ok(style && !loaded.has(undefined) && loaded.size > 2, 'the parts are loaded apart');
  return [...loaded, style].reduce((sum, file) => sum + (file?.gzip.length ?? 0), 0);
}

test('the first screen of staff is below 60 KB on its way, and that of customers below 55 KB', () => {
  for (const [part, most] of [
    ['staff', 60_000],
    ['customer', 55_000],
  ] as const)
    assert.ok(bytesFor(part) < most, `${part}: ${bytesFor(part)} bytes`);
});

visiting(
  'the first screen says at once how many destinations have a problem, the worst first',
  async ({ page, open }) => {
    await open('/');
    await page.getByText('5 destinations do not get events.').waitFor();
    await page.getByText('Postrider 1.2.3').waitFor();
    const rows = page.locator('tbody tr');
    assert.equal(await rows.count(), 50);
    const words = await rows.locator('.badge').allInnerTexts();
    assert.deepEqual(
      words.slice(0, 5).map((word) => word.trim()),
      ['Unreadable', 'Failing', 'Failing', 'Failing', 'Held'],
    );
    const harbor = rows.filter({ hasText: 'Harbor Bank warehouse' }).first();
    const text = await harbor.innerText();
    assert.match(text, /for 4 h 2\d min/);
    assert.match(text, /no answer within 10 s/);
    assert.match(text, /in \d+ min/);
    await page.getByText('connection refused, 203.0.113.7:443').waitFor();
  },
);

visiting('destinations are searched, filtered by state, and paged', async ({ page, open }) => {
  await open('/');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('51–100 of 5,000').waitFor();
  await page.getByRole('button', { name: '3 failing' }).click();
  await page.locator('tbody tr').nth(3).waitFor({ state: 'detached' });
  assert.equal(await page.locator('tbody tr').count(), 3);
  assert.match(page.url(), /state=failing/);
  await page.getByRole('searchbox').fill('harbor');
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
  assert.match(await page.locator('tbody').innerText(), /Harbor Bank/);
  await page.getByRole('searchbox').fill('nobody has this name');
  await page.getByText('Nothing matches.').waitFor();
  await page.getByText('5 destinations do not get events.').waitFor();
});

visiting(
  'whoever comes back finds the page of the list, its order and its place, without waiting',
  async ({ page, open, fake }) => {
    await open('/');
    await page.getByLabel('Sort by').selectOption('dead-letters');
    await page.getByText('Destinations, most dead letters first').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51–100 of 5,000').waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('101–150 of 5,000').waitFor();
    assert.match(page.url(), /sort=dead-letters&cursor=100&page=3$/);
    const last = page.locator('tbody tr .row-link').last();
    const name = await last.innerText();
    await last.scrollIntoViewIfNeeded();
    const top = await page.evaluate<number>('scrollY');
    assert.ok(top > 0);
    await last.click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByRole('button', { name: '24 hours' }).click();
    assert.match(page.url(), /range=24h$/);
    // Nothing is asked for: what was there is shown.
    fake.state = { ...fake.state, failure: { status: 503, detail: 'Kafka is away.' } };
    await page.goBack();
    await page.getByText('101–150 of 5,000').waitFor();
    await page.waitForFunction(`Math.abs(scrollY - ${top}) < 200`);
    fake.state = { data: fake.state.data, session: fake.state.session };
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('51–100 of 5,000').waitFor();
    await page.goto(`${fake.origin}/?sort=dead-letters&cursor=100&page=3`);
    await page.getByText('101–150 of 5,000').waitFor();
    await page.getByRole('button', { name: 'Previous' }).click();
    await page.getByText('1–50 of 5,000').waitFor();
  },
);

visiting('events of a user say how they ended, and are found by it', async ({ page, open }) => {
  await open('/events?user=user-4000');
  const rows = page.locator('tbody tr');
  const all = await rows.count();
  await page.getByLabel('Outcome').selectOption('dead-letter');
  await rows.nth(all - 1).waitFor({ state: 'detached' });
  const words = await rows.locator('.badge').allInnerTexts();
  assert.deepEqual([...new Set(words.map((word) => word.trim()))], ['Dead letter']);
  assert.match(page.url(), /user=user-4000&outcome=dead-letter$/);
  await page.getByLabel("Destination's id").fill('crm');
  await page.waitForURL(/destination=crm/);
});

visiting(
  "an event's times are all of one zone, which is said once, and its ids can be copied",
  async ({ page, open }) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await open(`/events?message=${encodeURIComponent(busy.story.messageId)}`);
    const text = await page.locator('main').innerText();
    assert.equal(text.match(/All times are those of your time zone, \S+\./g)?.length, 1);
    assert.match(text, /waits until \d+ \w+ \d\d:\d\d:\d\d, given up at \d+ \w+ \d\d:\d\d:\d\d/);
    assert.doesNotMatch(text, /\dT\d\d:\d\d/);
    for (const what of ['Message id', 'User']) {
      await page.getByRole('button', { name: `Copy ${what}` }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('status').filter({ hasText: 'Copied' }).first().waitFor();
    }
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.equal(copied, busy.story.user);
  },
);

visiting('the id of a run can be copied from the list of runs', async ({ page, open }) => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await open('/runs');
  const row = page.locator('tbody tr').nth(1);
  await row.getByRole('button', { name: 'Copy the id of the run' }).click();
  await row.getByRole('status').filter({ hasText: 'Copied' }).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  assert.equal(copied, busy.runs[1]?.id);
});

visiting(
  'the story of an event that was given up has a button that sends it again, to that destination only',
  async ({ page, fake, open }) => {
    const { messageId, user, destinations } = busy.story;
    const givenUp = destinations.find(({ state }) => state === 'dead-letter');
    await open(`/events?message=${encodeURIComponent(messageId)}`);
    await page.getByRole('button', { name: 'Send again…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(messageId).waitFor();
    assert.equal(await dialog.getByLabel('Given up in').count(), 0);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: /^Send [\d,]+ events again$/ }).click();
    await page.getByText(/events were sent again\./).waitFor();
    const chosen = { destination: givenUp?.destination, message: messageId, user, rate: '100/s' };
    assert.deepEqual(
      fake.posted.map(({ path, body }) => [path, body]),
      [true, false].map((dryRun) => ['/redrives', { ...chosen, dryRun }]),
    );
  },
);

visiting('the configuration comes in pages, by kind and by a search', async ({ page, open }) => {
  await open('/configuration?kind=Destination');
  const rows = page.locator('.resources > li');
  assert.equal(await rows.count(), 100);
  await page.getByRole('button', { name: 'All 402' }).waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('Page 2').waitFor();
  await page.getByRole('searchbox').fill('big spenders');
  await page.getByText('Nothing matches.').waitFor();
  await page.getByRole('button', { name: 'All 402' }).click();
  await rows.filter({ hasText: 'Big spenders' }).waitFor();
  assert.equal(await rows.count(), 1);
});

const unsafe =
  '{"userId": 9007199254740993,"properties":{"total":41.50,"ids":[7,{}],"note":"\\u00e9 {a: [1,2]}"}}';

visiting(
  'a rejected call is shown with the digits that it has',
  async ({ page, open }) => {
    await open('/rejected');
    await page.getByText('The call, 212 bytes').first().click();
    const shown = await page.locator('pre.lines').first().innerText();
    assert.deepEqual(shown.split('\n'), [
      '{',
      '  "userId": 9007199254740993,',
      '  "properties": {',
      '    "total": 41.50,',
      '    "ids": [',
      '      7,',
      '      {}',
      '    ],',
      '    "note": "\\u00e9 {a: [1,2]}"',
      '  }',
      '}',
    ]);
  },
  { data: { ...busy, rejected: busy.rejected.map((call) => ({ ...call, sample: unsafe })) } },
);

visiting('without a mouse: skip link, menu, a row, a dialog and back', async ({ page, open }) => {
  const focused = (): Promise<string> => page.evaluate('document.activeElement.innerText ?? ""');
  await open('/');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the content');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate('document.activeElement.type'), 'search');
  await page.getByRole('link', { name: 'Harbor Bank warehouse' }).first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: /Harbor Bank warehouse/ }).waitFor();
  await page.getByRole('button', { name: 'Pause…' }).focus();
  await page.keyboard.press('Enter');
  await page
    .getByRole('dialog')
    .getByText('kept for 14 days')
    .or(page.getByRole('dialog').getByText('for 14 days'))
    .first()
    .waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(await focused(), 'Pause…');
});

visiting('after a link the heading has the focus, and going back works', async ({ page, open }) => {
  await open('/');
  await page.getByRole('link', { name: 'Pipeline' }).click();
  await page.getByRole('heading', { level: 1, name: 'Pipeline' }).waitFor();
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1');
  assert.equal(await page.title(), 'Pipeline · Postrider');
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Destinations' }).waitFor();
});

visiting(
  'a refresh that changes the order takes the focus from nobody',
  async ({ page, fake, open }) => {
    // Not every browser can move an element and leave it the focus.
    await page.addInitScript('delete Element.prototype.moveBefore');
    await page.clock.install();
    await open('/');
    // Of two that change places a browser moves at least one.
    const few = busy.destinations.slice(0, 13);
    for (const [name, destinations] of [
      ['Lumen Energy warehouse', few.toReversed()],
      ['Orchid Beauty warehouse', few],
      ['Lumen Energy warehouse', few.toReversed()],
    ] as const) {
      await page.getByRole('link', { name }).first().focus();
      fake.state = { ...fake.state, data: { ...busy, destinations } };
      await page.clock.fastForward(6_000);
      await page
        .locator('tbody tr')
        .first()
        .getByText(destinations[0]?.name ?? '')
        .waitFor();
      assert.equal(await page.evaluate('document.activeElement.innerText'), name);
    }
  },
);

visiting(
  'what others wrote appears as text, on every screen',
  async ({ page, open }) => {
    for (const [path] of screensOf(written)) {
      if (path === '/no-such-page' || path.includes('user=')) continue;
      await open(path);
      for (const closed of await page.locator('main details:not([open]) > summary').all()) {
        if (await closed.isVisible()) await closed.click();
      }
      const text = await page.locator('main').innerText();
      assert.ok(
        text.includes('<script>globalThis.harmed=1</script><img src=x'),
        `shown on ${path}`,
      );
      assert.ok(text.includes('\\u202eevil'), `escaped on ${path}`);
      assert.ok(!text.includes('\u202e'), `turns no text on ${path}`);
      assert.equal(await page.locator('main script, main img').count(), 0);
      assert.equal(await page.evaluate('globalThis.harmed'), undefined);
    }
  },
  { data: written },
);

visiting(
  'a redrive is previewed, confirmed, watched, and says what came of it',
  async ({ page, fake, open }) => {
    await open(`/destinations/${encodeURIComponent(failingOf(busy).id)}`);
    await page.getByRole('button', { name: 'Redrive…' }).click();
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('Counting: 800 events so far.').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Send 800 events again' }).isDisabled());
    await page.getByText('1,204 events would be sent again.').waitFor();
    await page.getByText('3 events left out').waitFor();
    await page.getByRole('button', { name: 'Send 1,204 events again' }).click();
    await page.getByText('600 of 1,204 events sent again.').waitFor();
    await page.getByText('All 1,204 events were sent again.').waitFor();
    const dialog = page.getByRole('dialog');
    assert.match(await dialog.innerText(), /Still on their way\s+204/);
    assert.equal(await dialog.getByRole('link', { name: 'Runs' }).count(), 1);
    await dialog.getByText('1,190').waitFor();
    assert.match(
      await dialog.innerText(),
      /Given up again\s+14\s+Waiting\s+0\s+Still on their way\s+0/,
    );
    const asked = fake.posted.map(({ path, csrf, body }) => [
      path,
      csrf,
      (body as { dryRun: boolean }).dryRun,
    ]);
    assert.deepEqual(asked, [
      ['/redrives', 'csrf-1', true],
      ['/redrives', 'csrf-1', false],
    ]);
    const [preview, run] = fake.posted.map(({ body }) => body as Record<string, unknown>);
    assert.equal(run?.['destination'], failingOf(busy).id);
    assert.deepEqual({ ...run, dryRun: true }, preview, 'what was counted is what is sent');
  },
);

visiting(
  "the dead letters of all of a customer's destinations are sent again from the customer's list",
  async ({ page, fake, open }) => {
    await open('/?customer=acme');
    await page.getByRole('button', { name: 'Redrive…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('all destinations of customer').waitFor();
    await dialog.getByRole('button', { name: 'Preview' }).click();
    await dialog.getByRole('button', { name: 'Send 1,204 events again' }).click();
    await dialog.getByText('All 1,204 events were sent again.').waitFor();
    for (const { body } of fake.posted)
      assert.equal((body as Record<string, unknown>)['customer'], 'acme');
    assert.equal(fake.posted.length, 2);
  },
);

visiting(
  'dead letters and rejected calls are narrowed to a group, and to the time that was chosen',
  async ({ page, open }) => {
    for (const [path, list] of [
      ['/dead-letters', 'Dead letters, the newest first'],
      ['/rejected', 'Rejected calls, the newest first'],
    ] as const) {
      await open(path);
      await page.getByRole('button', { name: '30 days' }).click();
      const group = page.locator('tbody tr.linked').first();
      const reason = await group.locator('strong').innerText();
      const letters = page.getByRole('table', { name: list }).locator('tbody tr');
      await letters.filter({ hasNotText: reason }).first().waitFor();
      await group.getByRole('link').click();
      await letters.filter({ hasNotText: reason }).first().waitFor({ state: 'detached' });
      assert.ok((await letters.count()) > 0);
      assert.match(page.url(), /(?:destination|source)=.*&reason=.*&days=30/);
      await page.getByRole('button', { name: 'Show all again' }).click();
      await letters.filter({ hasNotText: reason }).first().waitFor();
    }
  },
);

visiting(
  'letters and rejected calls are chosen one by one, with a pace, and sent again',
  async ({ page, fake, open }) => {
    for (const [path, noun, pace] of [
      ['/dead-letters', 'events', '10/s'],
      ['/rejected', 'calls', '2000/s'],
    ] as const) {
      await open(path);
      const none = page.getByRole('button', { name: `Send chosen ${noun} again…` });
      assert.ok(await none.isDisabled());
      const boxes = page.getByRole('checkbox', { name: /^Choose \d+:\d+$/ });
      await boxes.nth(0).check();
      await boxes.nth(1).check();
      await page.getByRole('button', { name: `Send 2 ${noun} again…` }).click();
      await page.getByText(`2 chosen ${noun}`).waitFor();
      await page.getByLabel('Pace, at most').selectOption(pace);
      await page.getByLabel('Also what was sent again before').check();
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('button', { name: /^Send 1,204/ }).click();
      await page.getByText(/were sent again/).waitFor();
      const { path: asked, body } = fake.posted.at(-1) ?? assert.fail();
      const { places, ...how } = body as { readonly places: readonly string[] };
      assert.equal(asked, path === '/rejected' ? '/rejected/redrives' : '/redrives');
      assert.equal(places.length, 2);
      assert.deepEqual(how, { rate: pace, again: true, dryRun: false });
      await page.keyboard.press('Escape');
    }
    await page.getByRole('button', { name: 'Send again…' }).click();
    await page.getByLabel('Rejected in').selectOption('own');
    await page.getByLabel('From').fill('2026-01-30T10:00');
    await page.getByLabel('To').fill('2026-01-30T11:00');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText(/would be sent again/).waitFor();
    const { since, until } = fake.posted.at(-1)?.body as Record<string, string>;
    assert.equal(Date.parse(until ?? '') - Date.parse(since ?? ''), 3_600_000);
  },
);

visiting(
  'an attempt is opened, with all that is kept of it, and the next one from there',
  async ({ page, open }) => {
    await open(`/destinations/${encodeURIComponent(failingOf(busy).id)}`);
    const failed = page.locator('tbody tr').filter({ hasText: /Failed[\s\S]*503/ });
    await failed
      .first()
      .getByRole('button', { name: /^attempt \d+$/ })
      .click();
    const dialog = page.getByRole('dialog');
    const first = await dialog.innerText();
    assert.match(
      first,
      /Attempt \d+\s+Failed[\s\S]*URL[\s\S]*https:[\s\S]*How the answer begins; the rest/,
    );
    assert.match(first, /503 Service Unavailable \(retry\.on\)[\s\S]*Rule\s+retry\.on/);
    assert.match(first, /server\s+edge[\s\S]*x-request-id\s+r-\d+/);
    assert.equal(await dialog.getByRole('button', { name: 'Copy the answer' }).count(), 1);
    await dialog.getByRole('button', { name: 'Older' }).click();
    assert.notEqual(await dialog.innerText(), first);
    await dialog.getByRole('button', { name: 'Newer' }).click();
    assert.equal(await dialog.innerText(), first);
  },
);

visiting(
  'a test is sent after a question, and its answer is shown',
  async ({ page, fake, open }) => {
    await open(`/destinations/${encodeURIComponent(failingOf(busy).id)}`);
    await page.getByRole('button', { name: 'Send a test…' }).click();
    assert.deepEqual(fake.posted, []);
    await page.getByRole('button', { name: 'Send the test' }).click();
    await page.getByRole('dialog').getByText('503 Service Unavailable').waitFor();
    assert.match(await page.getByRole('dialog').innerText(), /down\nfor now/);
    assert.equal(fake.posted.length, 1);
  },
);

visiting(
  'an operator makes a link for a customer, who sees it once, and revokes another',
  async ({ page, fake, open }) => {
    const { id } = failingOf(busy);
    await open(`/destinations/${encodeURIComponent(id)}`);
    await page.getByRole('button', { name: 'Links…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('with bodies, made by Ines (issuer 7)').waitFor();
    await dialog.getByRole('combobox').selectOption('30d');
    await dialog.getByRole('button', { name: 'Make a link' }).click();
    await dialog.getByText(`${fake.origin}/l/made-once`).waitFor();
    await dialog.getByRole('button', { name: 'Revoke the link d4e5f6…' }).click();
    assert.equal(fake.posted.length, 1);
    await dialog.getByRole('button', { name: 'End it for everybody who has it' }).click();
    await dialog.getByText('No link works now.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    assert.deepEqual(
      fake.posted.map(({ path, body }) => [path, body]),
      [
        [`/destinations/${encodeURIComponent(id)}/links`, { expires: '30d', bodies: false }],
        ['/links/d4e5f6/revoke', {}],
      ],
    );
  },
);

visiting(
  'a resume that may have left events is told, and can be repeated; so is the end of a former secret',
  async ({ page, open }) => {
    const left = busy.destinations.find(({ resumedSince }) => resumedSince !== undefined);
    await open(`/destinations/${encodeURIComponent(left?.id ?? '')}`);
    await page.getByText('events that were kept for it may be left').waitFor();
    await page.getByText('signed with the former secret as well; that ends').waitFor();
    await page.getByRole('button', { name: 'Pause…' }).waitFor();
    await page.getByRole('button', { name: 'Resume…' }).click();
    await page.getByRole('heading', { name: 'Resume this destination?' }).waitFor();
  },
);

visiting(
  'a retry says what the endpoint answered, and what becomes of the others',
  async ({ page, open, fake }) => {
    const { id } = failingOf(busy);
    await open(`/destinations/${encodeURIComponent(id)}`);
    await page.getByRole('button', { name: 'Retry now…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('If not, they stay where they are.').waitFor();
    assert.deepEqual(fake.posted, []);
    await dialog.getByRole('button', { name: 'Retry now' }).click();
    await dialog
      .getByText('What waits stays where it is until the endpoint takes an event.')
      .waitFor();
    await dialog.getByText('503').first().waitFor();
    assert.deepEqual(
      fake.posted.map(({ path }) => path),
      [`/destinations/${encodeURIComponent(id)}/retry`],
    );
  },
);

visiting(
  'a viewer sees no buttons that do something',
  async ({ page, open }) => {
    await open(`/destinations/${encodeURIComponent(failingOf(busy).id)}`);
    assert.equal(await page.getByRole('button', { name: '…' }).count(), 0);
    await open('/dead-letters');
    assert.equal(await page.getByRole('button', { name: 'Redrive' }).count(), 0);
  },
  { session: { ...operator, role: 'viewer' } },
);

const customer: Session = {
  ...operator,
  role: 'customer',
  destination: failingOf(busy).id,
  bodies: false,
};

visiting(
  'a customer sees the own destination, whatever the address, and nothing else',
  async ({ page, open }) => {
    const event = `/events?message=${encodeURIComponent(busy.story.messageId)}`;
    for (const path of [
      '/',
      '/c/0123456789ab',
      '/c/0123456789ab/pipeline',
      '/pipeline',
      '/destinations/acorn-analytics-warehouse-0',
      event,
    ]) {
      await open(path);
      await page.getByRole('heading', { level: 1, name: /Harbor Bank/ }).waitFor();
      assert.equal(await page.getByRole('navigation', { name: 'Sections' }).count(), 0);
      assert.equal(await page.getByRole('button', { name: '…' }).count(), 0);
      assert.deepEqual(await page.locator('main a').allInnerTexts(), []);
      assert.equal(await page.getByText('Configuration').count(), 0);
    }
  },
  { session: customer },
);

visiting(
  "a customer sees the vendor's name, and when the link ends",
  async ({ page, open }) => {
    await open('/c/0123456789ab');
    await page.locator('.bar .brand').getByText('Harbor & Sons').waitFor();
    assert.match(await page.title(), / · Harbor & Sons$/);
    await page.getByText('Your link works until 7 Feb 2026').waitFor();
    const way = await page.getByRole('link', { name: 'Log out' }).getAttribute('href');
    assert.equal(way, '/logout?link=0123456789ab');
    await page.setViewportSize({ width: 390, height: 800 });
    assert.ok(await page.getByText('Your link works until').isVisible());
    await page.locator('.url-line .badge').first().waitFor();
    assert.doesNotMatch(await page.locator('body').innerText(), /Postrider/);
  },
  {
    session: { ...customer, until: '2026-02-07T12:00:00.000Z' },
    brand: { name: 'Harbor & Sons', files: [] },
  },
);

/** The story is one of an event that is among the customer's attempts and dead letters. */
const withOwnStory = ofCustomer(busy, failingOf(busy).id);

function ofCustomer(data: typeof busy, id: string): typeof busy {
  const { story, deadLetters } = data;
  const [first] = story.destinations;
  const own = <T extends { readonly destination: string }>(each: T): T =>
    each.destination === first?.destination ? { ...each, destination: id } : each;
  const messageId = deadLetters.find(({ destination }) => destination === id)?.messageId;
  assert.ok(messageId);
  const { destinations, copies = [] } = story;
  const told = { messageId, destinations: destinations.map(own), copies: copies.map(own) };
  return { ...data, story: { ...story, ...told } };
}

visiting(
  'a customer whose link shows bodies opens an event, reads its body and goes back',
  async ({ page, open }) => {
    await open('/c/0123456789ab');
    const { messageId } = withOwnStory.story;
    // As an attempt, and as a dead letter.
    const links = page.getByRole('link', { name: messageId, exact: true });
    await links.nth(1).waitFor();
    assert.equal(await links.count(), 2);
    await links.first().click();
    assert.match(page.url(), /\/c\/0123456789ab\/events\?message=/);
    await page.getByRole('heading', { level: 1, name: 'Event', exact: true }).waitFor();
    await page.getByText('Headers and body, as they are sent').click();
    await page.getByText('"event": "Order Completed"').waitFor();
    const text = await page.locator('main').innerText();
    assert.doesNotMatch(text, /Received|ingest|Search/);
    assert.deepEqual(await page.locator('.story h3 a').allInnerTexts(), [customer.destination]);
    await page.locator('.crumb a').click();
    assert.match(page.url(), /\/c\/0123456789ab$/);
    await page.getByRole('heading', { level: 1, name: /Harbor Bank/ }).waitFor();
    for (const path of ['/events', '/events?user=user-4000', '/dead-letters']) {
      await open(path);
      await page.getByRole('heading', { level: 1, name: /Harbor Bank/ }).waitFor();
    }
  },
  { session: { ...customer, bodies: true }, data: withOwnStory },
);

/** With all that the real one says of an event, and of letters. */
function withOurWords(data: typeof busy): typeof busy {
  const { attempts, deadLetters, story } = data;
  const [first] = attempts;
  assert.ok(first !== undefined && 'messageId' in first);
  const deferrals = deferralCauses.map((cause): AttemptRow => ({
    ...first,
    kind: 'deferred',
    attempts: 1,
    cause,
  }));
  const reasons = [...Object.keys(deadLetterReasons), 'http-451'];
  const detail = 'not tried again since 2026-01-31T12:00Z (breaker); last answer 500';
  const own = deadLetters.filter(({ destination }) => destination === customer.destination);
  const letters = reasons.map((reason, n) => ({ ...own[0], ...own[n], reason, detail }));
  const given = reasons.map((reason): AttemptRow => ({
    ...first,
    kind: 'dead-letter',
    attempts: 9,
    reason,
    detail,
  }));
  const happened = [...deferrals, ...given].map((line) => ({
    at: line.at,
    what: describeLine(line),
  }));
  const [told, ...others] = story.destinations;
  assert.ok(told);
  return {
    ...data,
    attempts: [...deferrals, ...given, ...attempts].map((line, n) => ({
      ...line,
      seq: `seq-${n}`,
    })),
    deadLetters: letters as unknown as typeof deadLetters,
    story: { ...story, destinations: [{ ...told, happened, state: 'dead-letter' }, ...others] },
  };
}

visiting(
  'no screen of a customer, nor what a screen reader says of it, has a word of ours',
  async ({ page, open, fake }) => {
    const check = async (where: string): Promise<void> => {
      const spoken = await page.evaluate<string[]>(
        `[...document.querySelectorAll('[title], [aria-label], caption')].map((each) =>
          [each.getAttribute('title'), each.getAttribute('aria-label'), each.textContent].join(' '))`,
      );
      const seen = await page.locator('body').innerText();
      const found = [seen, ...spoken].flatMap((text) => ourWords.exec(text)?.[0] ?? []);
      assert.deepEqual(found, [], `${where}: ${seen}`);
    };
    for (const state of destinationHealths) {
      const [row] = fake.state.data.destinations.filter(({ id }) => id === customer.destination);
      assert.ok(row);
      const destinations = [{ ...row, state }];
      fake.state = { ...fake.state, data: { ...fake.state.data, destinations } };
      await open('/c/0123456789ab');
      await page.locator('.url-line .badge').first().waitFor();
      await check(state);
    }
    await page
      .getByRole('button', { name: /^attempt \d+$/ })
      .first()
      .click();
    await check('an attempt');
    await open(
      `/c/0123456789ab/events?message=${encodeURIComponent(withOwnStory.story.messageId)}`,
    );
    await page.locator('.story').waitFor();
    await check('an event');
  },
  {
    session: { ...customer, bodies: true },
    data: withOurWords(withOwnStory),
    brand: { name: 'Harbor & Sons', files: [] },
  },
);

visiting(
  'when the console fails, what was seen stays, with a sentence and what to do',
  async ({ page, fake, open }) => {
    await page.clock.install();
    await open('/');
    fake.state = {
      ...fake.state,
      failure: { status: 503, detail: 'Kafka cannot be reached at broker:9092.' },
    };
    await page.clock.fastForward(6_000);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match(
      await alert.innerText(),
      /Kafka cannot be reached at broker:9092\. Delivery does not depend on the console/,
    );
    await page.getByText('Lumen Energy warehouse').first().waitFor();
    await page.getByText(/What you see is from/).waitFor();
    fake.state = { data: busy, session: operator };
    await page.clock.fastForward(61_000);
    await alert.waitFor({ state: 'detached' });
  },
);

visiting(
  'a destination that does not exist, and a session that has ended',
  async ({ page, fake, open }) => {
    await open('/destinations/nobody');
    await page.getByRole('alert').getByText('There is no such thing.').waitFor();
    fake.state = { ...fake.state, failure: { status: 401, detail: 'no session' } };
    await page.goto(`${fake.origin}/`);
    await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    assert.equal(
      await page.getByRole('link', { name: 'Log in' }).getAttribute('href'),
      '/login?next=%2F',
    );
  },
);

visiting(
  'with nothing yet, each screen says so and what brings something',
  async ({ page, open }) => {
    await open('/');
    await page.getByText('There are no destinations yet.').waitFor();
    await open('/events');
    await page.getByText('No event is chosen.').waitFor();
  },
  { data: nothing },
);

/** Of each screen, in their order. */
const shown = [
  /5 destinations do not get events/,
  /The first event becomes a dead letter[\s\S]*503 Service Unavailable[\s\S]*Configuration/,
  /to 3 of 4 destinations[\s\S]*attempt 1 failed[\s\S]*Dead letter/,
  /order-/,
  /by destination and reason[\s\S]*It was retried until its time was over/,
  /600 events sent[\s\S]*Still on their way: 90[\s\S]*No end is known/,
  /Delivery holds the flow back[\s\S]*postrider-worker-1/,
  /no known source[\s\S]*No source has this write key/,
  /182,400 users[\s\S]*more than 30 %/,
  /encrypted with the key 7f31c2[\s\S]*big-spenders/,
  /has failed everything for 30 minutes/,
  /ines@example.com[\s\S]*1,204 events/,
  /There is no page at this address/,
];

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

visiting(
  'every screen shows its data, violates no rule of accessibility in light, in dark and at 360 px, and is no wider than its window',
  async ({ page, open }) => {
    const check = async (where: string, options: object): Promise<void> => {
      const asked = JSON.stringify({ resultTypes: ['violations'], preload: false, ...options });
      const result = await page.evaluate<AxeResult>(`axe.run(${asked})`);
      const found = result.violations.map(
        ({ id, nodes }) =>
          `${where}: ${id}: ${nodes[0]?.html ?? ''} ${nodes[0]?.failureSummary ?? ''}`,
      );
      assert.deepEqual(found, []);
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      assert.ok(over <= 0, `${where} is ${over} px too wide`);
    };
    const checkAll = async (where: string): Promise<void> => {
      await page.evaluate(axeSource);
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.emulateMedia({ colorScheme: 'light' });
      await check(`${where} in light`, {});
      await page.emulateMedia({ colorScheme: 'dark' });
      // No other rule is about colors.
      await check(`${where} in dark`, { runOnly: ['color-contrast'] });
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 360, height: 740 });
      await check(`${where} at 360 px`, { rules: { 'color-contrast': { enabled: false } } });
    };
    for (const [index, [path, heading]] of screensOf(busy).entries()) {
      await open(path);
      assert.match(await page.locator('main h1').innerText(), new RegExp(heading));
      assert.match(await page.locator('main').innerText(), shown[index] ?? /^$/, path);
      await checkAll(path);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(`/destinations/${encodeURIComponent(failingOf(busy).id)}`);
    await page.getByRole('button', { name: 'Redrive…' }).click();
    await checkAll('the redrive dialog');
    await page.keyboard.press('Escape');
    await page
      .getByRole('button', { name: /^attempt \d+$/ })
      .first()
      .click();
    await checkAll('an attempt');
  },
);
