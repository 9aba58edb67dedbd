import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser } from 'playwright-core';
import { findProgram, programs } from '../../harness/programs.ts';
import { film, pictureSize, type PrintedLine, type Recording } from './film.ts';

/** `npm run docs:recording`: runs the demo, looks at its console, and draws docs/images/demo.svg from both. */

const root = fileURLToPath(new URL('../../..', import.meta.url));
const executablePath = findProgram(programs.chromium);
if (executablePath === undefined)
  throw new Error(`chromium is missing: ${programs.chromium.install}`);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });

const demo = spawn(process.execPath, ['src/cli/postrider.mjs', 'demo', '--stay'], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'pipe'],
});
const ended = once(demo, 'exit');
const lines: PrintedLine[] = [];
const pictures: Promise<Recording['pictures'][number]>[] = [];
let consoleUrl = '';

createInterface(demo.stderr).on('line', (text) => {
  if (text.startsWith('produced ')) lines.push({ text, isProgress: true });
});
for await (const text of createInterface(demo.stdout)) {
  if (text.startsWith('The console stays')) break;
  const [, url] = /^Watch it: (\S+)/.exec(text) ?? [];
  consoleUrl = url ?? consoleUrl;
  lines.push({ text, isProgress: false });
}
pictures.push(picture(browser, 'Destinations, the worst first'));
pictures.push(picture(browser, 'A destination that fails: what happened, and what to do', 'dead'));
const recording: Recording = {
  command: 'npx postrider demo',
  lines,
  pictures: await Promise.all(pictures),
};
demo.kill('SIGINT');
await ended;
await browser.close();
writeFileSync(new URL('../../../docs/images/demo.svg', import.meta.url), film(recording));

/** @param link what is clicked on the first page */
async function picture(
  of: Browser,
  title: string,
  link?: string,
): Promise<Recording['pictures'][number]> {
  // All columns of a page have room, and what is drawn is a little smaller than on a screen.
  const viewport = { width: pictureSize.width * 1.3, height: pictureSize.height * 1.3 };
  const page = await of.newPage({ viewport });
  await page.goto(consoleUrl, { waitUntil: 'networkidle' });
  if (link !== undefined) await page.getByRole('link', { name: link, exact: true }).first().click();
  await page.locator('main h1').waitFor();
  await page.waitForLoadState('networkidle');
  return { title, jpeg: await page.screenshot({ type: 'jpeg', quality: 70 }) };
}
