import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Brand } from '../../../src/console/brand/brand.ts';
import type { Session } from '../../../src/console/api/answers/deployment.ts';
import { browserAt } from '../../harness/browser.ts';
import { testNeeding } from '../../harness/needs-program.ts';
import { programs } from '../../harness/programs.ts';
import { operator, startFakeConsole, type FakeConsole } from './fake-console.ts';
import { fakeData, type FakeData } from './fake-data.ts';

export const busy: FakeData = fakeData(5_000);

interface Visit {
  readonly page: Page;
  readonly fake: FakeConsole;
  readonly open: (path: string) => Promise<void>;
}

interface Circumstances {
  readonly brand?: Brand;
  readonly own?: ReadonlySet<string>;
  /** Of the browser. */
  readonly locale?: string;
  readonly data?: FakeData;
  readonly session?: Session;
}

/** In a browser of one's own, whose page may ask its own server only and must not break its policy. */
export function visiting(
  title: string,
  run: (visit: Visit) => Promise<void>,
  given: Circumstances = {},
): void {
  testNeeding([programs.chromium], title, async (executablePath) => {
    const { data = busy, session = operator, brand, own, locale = 'en-US' } = given;
    const fake = await startFakeConsole({
      data,
      session,
      brand,
      ...(own === undefined ? {} : { own }),
    });
    const context = await (await browserAt(executablePath)).newContext({ locale });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    const wrong: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(fake.origin)) wrong.push(`asked ${request.url()}`);
    });
    page.on('pageerror', (error) => wrong.push(`threw ${error.message}`));
    page.on('console', (message) => {
      if (/security policy/i.test(message.text())) wrong.push(message.text());
    });
    const open = async (path: string): Promise<void> => {
      await page.goto(fake.origin + path);
      await page.locator('main h1').waitFor();
      await page.locator('.loading').first().waitFor({ state: 'detached' });
    };
    try {
      await run({ page, fake, open });
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
      fake.close();
    }
  });
}

export function failingOf(data: FakeData): FakeData['destinations'][number] {
  const found = data.destinations.find(({ state }) => state === 'failing');
  assert.ok(found);
  return found;
}
