import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { inBrowser } from '../harness/browser.ts';
import { eventually } from '../harness/eventually.ts';
import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { createTestGateway, type FakeProducer, type TestGatewayOptions } from './fakes.ts';

/** The library's own build for pages, which loads its parts from where it came from. */
const library = path.resolve(
  fileURLToPath(import.meta.resolve('@segment/analytics-next')),
  '../../umd',
);

interface Shop {
  readonly page: Page;
  readonly producer: FakeProducer;
  /** Where calls go, with the version. */
  readonly api: string;
}

/** A page of an origin that may send calls, in a browser, and the gateway behind it. */
async function inShop(
  executablePath: string,
  visit: (shop: Shop) => Promise<void>,
  options: TestGatewayOptions = {},
): Promise<void> {
  const pages = createServer((request, response) => {
    const url = request.url ?? '/';
    if (url === '/') {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>Shop</title><script src="/index.js"></script>');
      return;
    }
    readFile(path.join(library, path.basename(url))).then(
      (content) => response.setHeader('content-type', 'text/javascript').end(content),
      () => response.writeHead(404).end(),
    );
  }).listen(0, '127.0.0.1');
  await eventually(() => {
    assert.ok(pages.listening);
  });
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const { server, producer } = createTestGateway({ corsOrigins: [origin], ...options });
  await server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = server.server.address() as AddressInfo;
  try {
    await inBrowser(executablePath, async (page) => {
      await page.goto(origin);
      await visit({ page, producer, api: `127.0.0.1:${port}/v1` });
    });
  } finally {
    await server.close();
    pages.close();
  }
}

/** In the page: the library, as a site's settings would load it. */
async function loadAnalytics({ page, api }: Shop, deliveryStrategy: object): Promise<void> {
  await page.evaluate(
    ([apiHost, strategy]) => {
      const { AnalyticsNext } = globalThis as unknown as {
        AnalyticsNext: { AnalyticsBrowser: { load(settings: object): unknown } };
      };
      const segment = { apiKey: 'wk_shop', apiHost, protocol: 'http', deliveryStrategy: strategy };
      const cdnSettings = { integrations: { 'Segment.io': segment } };
      // Faster than the defaults, which wait for up to a minute.
      const backoffConfig = { baseBackoffInterval: 0.1, maxBackoffInterval: 0.1 };
      const settings = { writeKey: 'wk_shop', cdnSettings, httpConfig: { backoffConfig } };
      const analytics = AnalyticsNext.AnalyticsBrowser.load(settings);
      Object.assign(globalThis, { analytics });
    },
    [api, deliveryStrategy] as const,
  );
}

const arrived = async (
  { producer }: Pick<Shop, 'producer'>,
  expected: readonly string[],
): Promise<void> =>
  eventually(() => {
    const names = producer.calls().map(({ type, event, name }) => String(event ?? name ?? type));
    assert.deepEqual(names.sort(), [...expected].sort());
  });

testNeeding(
  [programs.chromium],
  'analytics.js 2 in a browser: a call of each type arrives',
  async (path) => {
    await inShop(path, async (shop) => {
      await loadAnalytics(shop, { strategy: 'standard' });
      await shop.page.evaluate(`Promise.all([
      analytics.identify('user-1', { plan: 'pro' }), analytics.page('Home'), analytics.screen('Start'),
      analytics.track('Signed Up', { via: 'web' }), analytics.group('g-1'), analytics.alias('user-2', 'user-1'),
    ])`);
      await arrived(shop, ['identify', 'Home', 'Start', 'Signed Up', 'group', 'alias']);
      const signedUp = shop.producer.calls().find(({ event }) => event === 'Signed Up');
      assert.deepEqual(signedUp?.['properties'], { via: 'web' });
      assert.equal(shop.producer.records[0]?.headers?.['write-key'], 'wk_shop');
    });
  },
);

testNeeding(
  [programs.chromium],
  'analytics.js 2 in a browser: batches arrive, the last one from a page that is closed',
  async (path) => {
    await inShop(path, async (shop) => {
      await loadAnalytics(shop, { strategy: 'batching', config: { size: 5, timeout: 3_600_000 } });
      const track = (from: number, to: number): Promise<unknown> =>
        shop.page.evaluate(
          `Promise.all(Array.from({ length: ${to - from} }, (_, i) => analytics.track('E' + (${from} + i))))`,
        );
      const names = (to: number): string[] => Array.from({ length: to }, (_, i) => `E${i}`);
      for (const to of [5, 10]) {
        await track(to - 5, to);
        await arrived(shop, names(to));
      }
      await track(10, 13);
      await shop.page.goto('about:blank');
      await arrived(shop, names(13));
    });
  },
);

for (const deliveryStrategy of [
  { strategy: 'standard' },
  { strategy: 'batching', config: { size: 2, timeout: 100 } },
])
  testNeeding(
    [programs.chromium],
    `analytics.js 2 in a browser, ${deliveryStrategy.strategy}: everything arrives, although the gateway is away and then answers 503 and 429`,
    async (path) => {
      await inShop(
        path,
        async (shop) => {
          await loadAnalytics(shop, deliveryStrategy);
          await shop.page.route('**/v1/**', (route) => route.abort('connectionrefused'));
          shop.page.once('requestfailed', () => void shop.page.unrouteAll());
          const answers = new Set<number>();
          shop.producer.isHolding = true;
          shop.page.on('response', (response) => {
            answers.add(response.status());
            if (response.status() === 503) shop.producer.isHolding = false;
          });
          await shop.page.evaluate(`analytics.identify('user-1')`);
          await arrived(shop, ['identify']);
          const names = Array.from({ length: 14 }, (_, i) => `E${i}`);
          // The first ones use the limit up, in one request or in many.
          for (const sent of [12, 14]) {
            const next = names.slice(sent === 12 ? 0 : 12, sent);
            await shop.page.evaluate(
              `${JSON.stringify(next)}.map((name) => analytics.track(name))`,
            );
            await arrived(shop, ['identify', ...names.slice(0, sent)]);
          }
          for (const status of [503, 429]) assert.ok(answers.has(status), [...answers].join());
        },
        { ackTimeoutMs: 50, rateLimit: 8 },
      );
    },
  );

testNeeding([programs.chromium], 'a beacon and an image of a page arrive', async (path) => {
  await inShop(path, async (shop) => {
    const batch = [{ type: 'track', userId: 'u', event: 'Left' }];
    const opened = { userId: 'u', event: 'Opened', writeKey: 'wk_shop' };
    const data = encodeURIComponent(Buffer.from(JSON.stringify(opened)).toString('base64'));
    const beacon = JSON.stringify({ batch, writeKey: 'wk_shop' });
    const json = JSON.stringify({
      batch: [{ ...batch[0], event: 'Left Early' }],
      writeKey: 'wk_shop',
    });
    const size = await shop.page.evaluate(`(async () => {
      navigator.sendBeacon('http://${shop.api}/b', ${JSON.stringify(beacon)});
      const blob = new Blob([${JSON.stringify(json)}], { type: 'application/json' });
      navigator.sendBeacon('http://${shop.api}/b', blob);
      const image = new Image();
      image.src = 'http://${shop.api}/pixel/track?data=${data}';
      await image.decode();
      return [image.naturalWidth, image.naturalHeight];
    })()`);
    assert.deepEqual(size, [1, 1]);
    await arrived(shop, ['Left', 'Left Early', 'Opened']);
  });
});
