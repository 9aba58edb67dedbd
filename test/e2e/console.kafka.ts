import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium, type Page } from 'playwright-core';
import type { AuditEntry } from '../../src/event/audit-entry.ts';
import type { Session } from '../../src/console/api/answers/deployment.ts';
import type { Story } from '../../src/console/api/answers/events.ts';
import type { Redrive } from '../../src/console/api/answers/actions.ts';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { eventually } from '../harness/eventually.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';
import { programs } from '../harness/programs.ts';

/** An operator's day in the console: everything behind it is real. */

const arrived: string[] = [];
let isMended = false;
let receiver: Receiver;
let postrider: Installation;
let dir: string;
let shown: RunningRole;
let roles: RunningRole[] = [];

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'postrider-test-'));
  receiver = await startReceiver({
    port: 0,
    answer: ({ path: to, body }) => {
      if (to === '/crm' && !isMended) return { status: 422, body: 'who are you?' };
      arrived.push(`${to} ${body.toString()}`);
      return { status: 200 };
    },
  });
  postrider = await install({ CONSOLE_DATA_DIR: dir });
  await run(['topics', '--create']);
  const resources = [
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    ...['crm', 'ads'].map((id) => ({
      kind: 'Destination',
      id,
      name: `The ${id}`,
      sources: ['shop'],
      sharedSecret: 'teehee',
      webhooks: [{ url: `${receiver.url}/${id}`, headers: { 'X-Team': 'growth' } }],
    })),
  ];
  await run(['apply', '-f', '-'], JSON.stringify(resources));
  roles = [await postrider.start('router'), await postrider.start('delivery')];
  shown = await postrider.start('console');
  const calls = Array.from({ length: 20 }, (_, index) =>
    JSON.stringify({ type: 'identify', userId: `u${index}`, messageId: `m${index}` }),
  );
  await run(['produce', '--source', 'shop'], calls.join('\n'));
});

after(async () => {
  await Promise.all([shown, ...roles].map((role) => role.kill('SIGKILL')));
  await receiver.close();
  await rm(dir, { recursive: true, force: true });
});

async function post(route: string, headers: Record<string, string>): Promise<number> {
  const url = `${shown.consoleUrl}/api/v1${route}`;
  return (await fetch(url, { method: 'POST', headers, body: '{}' })).status;
}

test('a page of somebody else cannot act', async () => {
  const json = { 'content-type': 'application/json' };
  for (const headers of [{}, json, { ...json, 'x-csrf-token': 'guessed' }])
    assert.equal(await post('/destinations/crm/pause', headers), 403);
  assert.doesNotMatch(await run(['status', 'crm']), /paused/);
});

async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
}

testNeeding(
  [programs.chromium],
  'an operator finds the failing customer, reads the answer, mends, sends again, and sees it delivered',
  async (executablePath) => {
    const browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
    });
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(30_000);
      await page.goto(`${shown.consoleUrl}/`);
      // The worst is first.
      const first = page.locator('main tbody tr').first();
      await first.getByText('The crm').waitFor();
      await first.getByText(/422/).waitFor();
      await first.getByRole('link').first().click();
      await page.getByText('who are you?').first().waitFor();

      await press(page, 'Send a test…');
      await press(page, 'Send the test');
      await page.getByRole('dialog').getByText(/422/).waitFor();
      await press(page, 'Close');

      isMended = true;
      await press(page, 'Redrive…');
      await press(page, 'Preview');
      await page.getByText('20 events').first().waitFor();
      await press(page, 'Send 20 events again');
      await page.getByText('All 20 events were sent again.').waitFor();
      await eventually(() => {
        assert.equal(arrived.filter((each) => each.startsWith('/crm')).length, 20);
      });
      const delivered = page.locator('dl.outcome div').filter({ hasText: 'Delivered' });
      await delivered.getByText('20').waitFor();
      await press(page, 'Close');

      await press(page, 'Pause…');
      await press(page, 'Pause');
      await page.getByText('It is paused.').waitFor();
      await press(page, 'Close');
      await eventually(async () => {
        assert.match(await run(['status', 'crm']), /^crm is paused/m);
      });
      await press(page, 'Resume…');
      await press(page, 'Resume');
      await page.getByText(/^All \d+ events? were sent again\./).waitFor();
    } finally {
      await browser.close();
    }
    const event = await fetch(`${shown.consoleUrl}/api/v1/events?message=m3`);
    const { copies = [] } = (await event.json()) as Story;
    const copy = copies.find(({ destination }) => destination === 'crm');
    assert.match(copy?.body ?? '', /"userId":"u3"/);
    assert.deepEqual(copy?.headers, {
      'Content-Type': 'application/json',
      'X-Signature': '(not shown)',
      'X-Team': '(set, not shown)',
    });
    const answer = await fetch(`${shown.consoleUrl}/api/v1/audit`);
    const { items } = (await answer.json()) as { items: AuditEntry[] };
    const begun = items
      .toReversed()
      .filter(
        ({ via, action, began }) =>
          via === undefined && action !== 'read-bodies' && began === undefined,
      );
    assert.deepEqual(
      begun.map(({ user, action, destination }) => [user, action, destination]),
      ['send-test', 'redrive', 'pause', 'resume'].map((action) => ['local', action, 'crm']),
    );
    const again = await redriveCrm();
    assert.equal(again.sent, 0);
    assert.match(again.detail ?? '', /^20 events left out, sent again before/);
  },
);

/** By the API, to its end. */
async function redriveCrm(): Promise<Redrive> {
  const api = `${shown.consoleUrl}/api/v1`;
  const { csrf } = (await (await fetch(`${api}/session`)).json()) as Session;
  const begun = await fetch(`${api}/redrives`, {
    method: 'POST',
    headers: { 'x-csrf-token': csrf, 'content-type': 'application/json' },
    body: JSON.stringify({ destination: 'crm' }),
  });
  const { id } = (await begun.json()) as Redrive;
  return eventually(async () => {
    const run = (await (await fetch(`${api}/redrives/${id}`)).json()) as Redrive;
    assert.equal(run.state, 'done');
    return run;
  });
}
