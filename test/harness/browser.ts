import { after } from 'node:test';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

let browser: Promise<Browser> | undefined;
after(async () => (await browser)?.close());

/** One for all tests of a process: to start it takes longer than most of them. */
export function browserAt(executablePath: string): Promise<Browser> {
  return (browser ??= chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
  }));
}

/** A page of somebody who has nothing of others: neither cookies nor a cache. */
export async function inBrowser(
  executablePath: string,
  visit: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await (await browserAt(executablePath)).newContext(options);
  try {
    await visit(await context.newPage());
  } finally {
    await context.close();
  }
}
