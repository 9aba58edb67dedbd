import assert from 'node:assert/strict';
import type { DestinationDetail } from '../../../src/console/api/answers/destinations.ts';
import type { FakeData } from './fake-data.ts';
import { busy, visiting } from './visiting.ts';

const [worst] = busy.destinations;
assert.ok(worst);
/** The first of a few is as told, and the others are well. */
function fewWith(told: Partial<DestinationDetail>): FakeData {
  const well = busy.destinations.filter(({ state }) => state === 'ok').slice(0, 3);
  return { ...busy, destinations: [{ ...worst, ...told } as DestinationDetail, ...well] };
}

for (const [what, headline, told] of [
  ['loses events', '1 destination loses some events.', { state: 'losing' }],
  [
    'fails at one of two URLs',
    '1 destination gets events by another URL only.',
    { state: 'failing', byOtherUrl: true },
  ],
  ['is not known', '1 destination is not known.', { state: 'unknown' }],
  ['is slow', 'No destination has a problem. 1 more is under strain.', { state: 'slow' }],
  ['is paused', 'No destination has a problem.', { state: 'paused' }],
] as const)
  visiting(
    `the headline of four destinations of which one ${what}: ${headline}`,
    async ({ page, open }) => {
      await open('/');
      const headlineNow = page.locator('.headline');
      await headlineNow.waitFor();
      assert.equal((await headlineNow.innerText()).trim(), headline);
    },
    { data: fewWith(told) },
  );

visiting(
  'while what is shown may not be true, each screen says so, since when, and what to do',
  async ({ page, fake, open }) => {
    const since = new Date(Date.now() - 60_000).toISOString();
    const away = {
      kind: 'kafka-away',
      text: 'Kafka does not answer.',
      advice: 'Look at it.',
    } as const;
    fake.state = { ...fake.state, concerns: [{ ...away, since }] };
    for (const path of ['/', '/pipeline', '/dead-letters']) {
      await open(path);
      await page.getByText(/Kafka does not answer\. This is since .* Look at it\./).waitFor();
    }
    fake.state = { ...fake.state, concerns: [] };
    await page.getByText('Kafka does not answer.').waitFor({ state: 'detached' });
  },
);

visiting(
  'dead letters that were never sent again are told apart from those of the day',
  async ({ page, open }) => {
    await open(`/destinations/${encodeURIComponent(worst.id)}`);
    const figures = page.locator('dl.figures div');
    assert.match(await figures.filter({ hasText: 'Dead letters' }).innerText(), /\s12$/);
    assert.match(await figures.filter({ hasText: 'Never sent again' }).innerText(), /\s345$/);
  },
  { data: fewWith({ deadLetters: 12, openDeadLetters: 345 }) },
);

visiting(
  'a paused destination says how many events are kept for it',
  async ({ page, open }) => {
    await open(`/destinations/${encodeURIComponent(worst.id)}`);
    await page.getByText('79 events kept.').waitFor();
    assert.equal(await page.getByText('Everything was sent').count(), 0);
    await open('/');
    assert.match(await page.locator('tbody tr').first().innerText(), /79\s+kept/);
  },
  {
    data: fewWith({
      state: 'paused',
      waiting: 0,
      kept: 79,
      pause: { since: '2026-01-31T12:00:00Z' },
    }),
  },
);

const long = `https://hooks.example/${'a-long-path-without-an-end'.repeat(20)}`;
const cut = 'cut\ud83d';
/** What anybody may send, and any endpoint answer. */
const odd = fewWith({
  state: 'failing',
  urls: [
    {
      url: long,
      breaker: 'open',
      lastAnswer: {
        at: '2026-01-31T12:00:00Z',
        outcome: 'failed',
        detail: 'DEPTH_ZERO_SELF_SIGNED_CERT',
      },
    },
    { url: `${long}/second`, breaker: 'closed' },
  ],
  lastAnswer: {
    at: '2026-01-31T12:00:00Z',
    outcome: 'failed',
    status: 500,
    answer: 'line one\nline two',
  },
});
const oddAttempts = busy.attempts
  .filter((line) => line.kind === 'attempt')
  .map((line) => ({ ...line, messageId: cut, url: long, answer: 'a\n  b' }));
const oddLetters = busy.deadLetters.map((letter) => ({
  ...letter,
  destination: worst.id,
  messageId: cut,
  user: cut,
}));

visiting(
  'a long URL, half an emoji and lines of an answer break nothing, at 390 px too',
  async ({ page, open }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const path of ['/', `/destinations/${encodeURIComponent(worst.id)}`, '/dead-letters']) {
      await open(path);
      await page.locator('tbody tr').first().waitFor();
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      assert.ok(over <= 0, `${path} is ${over} px too wide`);
      assert.doesNotMatch(await page.locator('main').innerText(), /u000a/);
    }
    await open(`/destinations/${encodeURIComponent(worst.id)}`);
    await page.getByText('a b').first().waitFor();
    await page.getByText('line one line two').first().waitFor();
    assert.equal((await page.locator('a[href*="cut%EF%BF%BD"]').count()) > 1, true);
  },
  { data: { ...odd, attempts: oddAttempts, deadLetters: oddLetters } },
);

visiting(
  'after a link to what is still loading, and after a dialog has done its work, the focus is kept',
  async ({ page, open }) => {
    await open('/');
    await page.getByRole('link', { name: 'Harbor Bank warehouse' }).first().click();
    await page.getByRole('heading', { level: 1, name: /Harbor Bank warehouse/ }).waitFor();
    await page.getByRole('button', { name: 'Send a test…' }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1');
    await page.getByRole('button', { name: 'Send a test…' }).click();
    await page.getByRole('button', { name: 'Send the test' }).click();
    await page.getByText('The test was sent.').waitFor();
    assert.equal(await page.evaluate('document.activeElement.closest("dialog") !== null'), true);
  },
);
