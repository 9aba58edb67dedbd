import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { findProgram, programs } from '../../harness/programs.ts';
import { startFakeConsole } from './fake-console.ts';
import { fakeData } from './fake-data.ts';

/** `node test/console/web/screenshots.ts OUTDIR [NAME]`: the main screens as pictures, light, dark and narrow. */

const [outDir, only = ''] = process.argv.slice(2);
const executablePath = findProgram(programs.chromium);
if (outDir === undefined)
  throw new Error('which folder? node test/console/web/screenshots.ts OUTDIR');
if (executablePath === undefined)
  throw new Error(`chromium is missing: ${programs.chromium.install}`);
mkdirSync(outDir, { recursive: true });

const fake = await startFakeConsole();
const { data } = fake.state;
const worst = encodeURIComponent(
  data.destinations.find(({ state }) => state === 'failing')?.id ?? '',
);
const message = encodeURIComponent(data.story.messageId);

interface Shot {
  readonly name: string;
  readonly url: string;
  readonly prepare?: (page: Page) => Promise<void>;
  readonly empty?: boolean;
}

const click =
  (name: string) =>
  async (page: Page): Promise<void> => {
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
  };

const shots: readonly Shot[] = [
  { name: 'destinations', url: '/' },
  { name: 'destination', url: `/destinations/${worst}` },
  { name: 'redrive', url: `/destinations/${worst}`, prepare: click('Redrive…') },
  { name: 'pause', url: `/destinations/${worst}`, prepare: click('Pause…') },
  { name: 'event', url: `/events?message=${message}` },
  { name: 'dead-letters', url: '/dead-letters' },
  { name: 'pipeline', url: '/pipeline' },
  { name: 'rejected', url: '/rejected' },
  { name: 'audiences', url: '/audiences' },
  { name: 'configuration', url: '/configuration' },
  { name: 'notices', url: '/notices' },
  { name: 'audit', url: '/audit' },
  { name: 'nothing', url: '/', empty: true },
];

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1440, height: 960 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1440, height: 960 } },
  { name: 'narrow', colorScheme: 'light', viewport: { width: 360, height: 1200 } },
] as const;

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
for (const look of looks) {
  const context = await browser.newContext({ ...look, deviceScaleFactor: 1.5 });
  const page = await context.newPage();
  for (const { name, url, prepare, empty } of shots.filter((shot) => shot.name.includes(only))) {
    fake.state = { ...fake.state, data: empty === true ? fakeData(0) : data };
    await page.goto(fake.origin + url, { waitUntil: 'networkidle' });
    await page.locator('main h1').waitFor();
    await prepare?.(page);
    const isDialog = prepare !== undefined;
    await page.screenshot({
      path: path.join(outDir, `${name}-${look.name}.png`),
      fullPage: only !== '' && !isDialog,
    });
  }
  await context.close();
}
await browser.close();
fake.close();
