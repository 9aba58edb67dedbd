import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { browserAt } from '../../harness/browser.ts';
import { testNeeding } from '../../harness/needs-program.ts';
import { programs } from '../../harness/programs.ts';
import { linkPath, manager, ownOf, vendor } from './customers.ts';
import { startFakeConsole } from './fake-console.ts';
import { busy } from './visiting.ts';

/** Another site, whose page has the given one in a frame. */
async function startSite(
  framed: string,
): Promise<{ readonly server: Server; readonly origin: string }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`<h1>Our product</h1><iframe src="${framed}" width="900" height="600"></iframe>`);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

testNeeding(
  [programs.chromium],
  "a browser shows a customer's pages in a frame of the site that is named, and in no other, and staff's in none",
  async (executablePath) => {
    const given = { data: busy, session: manager, own: ownOf(busy), brand: vendor };
    const fake = await startFakeConsole(given);
    const customers = await startSite(fake.origin + linkPath);
    const others = await startSite(fake.origin + linkPath);
    const staffs = await startSite(fake.origin);
    const context = await (await browserAt(executablePath)).newContext();
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      const frame = page.frameLocator('iframe');
      const framedAt = async (origin: string): Promise<string | undefined> => {
        await page.goto(origin);
        return page.frames()[1]?.url();
      };
      const refused = 'chrome-error://chromewebdata/';
      assert.equal(await framedAt(customers.origin), refused, 'no site is named');

      fake.state = { ...fake.state, frameAncestors: [customers.origin, staffs.origin] };
      assert.equal(await framedAt(customers.origin), fake.origin + linkPath);
      await frame.getByRole('heading', { level: 1, name: 'Endpoints' }).waitFor();
      await frame.getByRole('link', { name: 'Add an endpoint' }).click();
      await frame.getByRole('heading', { name: 'Step 1 of 4: URL' }).waitFor();
      assert.equal(await framedAt(others.origin), refused, 'another site is named');
      assert.equal(await framedAt(staffs.origin), refused, 'a page of staff');
    } finally {
      await context.close();
      fake.close();
      for (const { server } of [customers, others, staffs]) {
        server.closeAllConnections();
        server.close();
      }
    }
  },
);
