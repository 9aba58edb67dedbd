import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { findProgram, programs } from '../../harness/programs.ts';
import { linkPath, manager, ownOf, teach, vendor } from './customers.ts';
import { startFakeConsole } from './fake-console.ts';

/** `node test/console/web/screenshots-customer.ts OUTDIR [NAME]`: customers' screens as pictures, also in German. */

const [outDir, only = ''] = process.argv.slice(2);
const executablePath = findProgram(programs.chromium);
if (outDir === undefined)
  throw new Error('which folder? node test/console/web/screenshots-customer.ts OUTDIR');
if (executablePath === undefined)
  throw new Error(`chromium is missing: ${programs.chromium.install}`);
mkdirSync(outDir, { recursive: true });

const fake = await startFakeConsole({ session: manager, brand: vendor });
fake.state = { ...fake.state, own: ownOf(fake.state.data) };
teach(fake);
const [worst = ''] = fake.state.own ?? [];
const opened = `${linkPath}/destinations/${encodeURIComponent(worst)}`;

/** By its place among its neighbors, because its text is of two languages. */
const press =
  (selector: string, index = 0) =>
  async (page: Page): Promise<void> => {
    await page.locator(selector).nth(index).click();
  };
const action =
  (index: number) =>
  async (page: Page): Promise<void> => {
    await page.locator('.page-actions button').nth(5).waitFor();
    await press('.page-actions button', index)(page);
    await page.getByRole('dialog').waitFor();
  };

const walk = async (page: Page, steps: number): Promise<void> => {
  fake.api.tests = [{ status: 401, detail: 'answered 401', answer: '{"error":"bad signature"}' }];
  await page.locator('.walk input').first().fill('https://hooks.acme.example/events');
  if (steps > 1) await press('.walk [type=submit]')(page);
  if (steps > 1) await press('.walk [type=radio]', 1)(page);
  if (steps > 2) await press('.name-list input', 0)(page);
  if (steps > 2) await press('.walk [type=submit]')(page);
  if (steps > 2) await page.locator('.receiver').waitFor();
  if (steps > 3) await press('.walk > .dialog-actions button.primary')(page);
  if (steps > 3) await press('.live-test button')(page);
  if (steps > 3) await page.locator('.advice').waitFor();
  if (steps > 4) await press('.live-test button')(page);
  if (steps > 4) await page.locator('.note-good').waitFor();
};

interface Shot {
  readonly name: string;
  readonly url: string;
  readonly prepare?: (page: Page) => Promise<void>;
}

const shots: readonly Shot[] = [
  { name: 'endpoints', url: linkPath },
  { name: 'endpoint', url: opened },
  { name: 'change', url: opened, prepare: action(3) },
  { name: 'secret', url: opened, prepare: action(4) },
  { name: 'again', url: opened, prepare: action(2) },
  { name: 'delete', url: opened, prepare: action(5) },
  ...[1, 2, 3, 4, 5].map((steps) => ({
    name: `add-${steps}`,
    url: `${linkPath}/new`,
    prepare: (page: Page) => walk(page, steps),
  })),
];

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 900 } },
  { name: 'narrow', colorScheme: 'light', viewport: { width: 360, height: 800 }, locale: 'de' },
] as const;

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
for (const look of looks) {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  for (const { name, url, prepare } of shots.filter((shot) => shot.name.includes(only))) {
    await page.goto(fake.origin + url);
    await page.locator('main h1').waitFor();
    await page.locator('.loading').first().waitFor({ state: 'detached' });
    await prepare?.(page);
    const isDialog = (await page.getByRole('dialog').count()) > 0;
    await page.screenshot({
      path: path.join(outDir, `${name}-${look.name}.png`),
      fullPage: !isDialog,
    });
  }
  await context.close();
}
await browser.close();
fake.close();
