import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSettings } from '../../../src/settings/read.ts';
import {
  Browser,
  sessionKey,
  startStand,
  tokensFile,
  twoTokens,
  type Reply,
  type Stand,
} from './stand.ts';

const url = 'https://console.shop.example';
const settings = { tokensFile: tokensFile(twoTokens), sessionKey, url };
const frameAncestors = ['https://app.shop.example', 'https://*.shop.example'];

function framingOf({ headers }: Reply): readonly (string | undefined)[] {
  const policy = String(headers['content-security-policy']);
  const named = headers['x-frame-options'];
  return [/frame-ancestors ([^;]+)/.exec(policy)?.[1], named === undefined ? named : String(named)];
}

async function visited(stand: Stand): Promise<Browser> {
  const browser = new Browser(stand.url);
  await browser.get(stand.linkToCustomer('prl_acme', 'acme'));
  return browser;
}

test("a customer's pages are in the frames that are named, and staff's in none", async (t) => {
  const stand = await startStand(t, { ...settings, frameAncestors });
  const browser = await visited(stand);
  const link = [...browser.jar.keys()][0]?.split('-').at(-1) ?? '';
  const named = [frameAncestors.join(' '), undefined];
  for (const path of [
    `/c/${link}`,
    `/c/${link}/destinations/crm`,
    '/l/none',
    `/logout?link=${link}`,
  ]) {
    const answer = await browser.get(path, { accept: 'text/html' });
    assert.deepEqual(framingOf(answer), named, path);
    assert.match(String(answer.headers['content-security-policy']), /script-src 'self'/);
  }
  for (const path of [
    '/',
    '/login',
    '/logout',
    '/destinations/c/x',
    '/login?next=/c/x',
    '/C/x',
    '//c/x',
    '/logout?a=1&link=x',
  ])
    assert.deepEqual(framingOf(await browser.get(`${stand.url}${path}`)), ["'none'", 'DENY'], path);
});

test("in a frame, the browser keeps a customer's session apart for each site, and staff's is never sent there", async (t) => {
  const stand = await startStand(t, { ...settings, frameAncestors });
  const opened = await new Browser(stand.url).get(stand.linkToCustomer('prl_acme', 'acme'));
  assert.match(
    opened.setCookies.join(),
    /^__Host-postrider-\w+=.*; Path=\/; HttpOnly; Secure; Partitioned; SameSite=None$/,
  );
  const olga = await new Browser(stand.url).submit(
    '/login',
    { token: 'olga-token' },
    { origin: url },
  );
  assert.match(olga.setCookies.join(), /; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
});

test('a log-out in a frame takes the cookie of that frame away', async (t) => {
  const stand = await startStand(t, { ...settings, frameAncestors });
  const browser = await visited(stand);
  const link = [...browser.jar.keys()][0]?.split('-').at(-1) ?? '';
  const { csrf } = await browser.session();
  const left = await browser.submit('/logout', { link, csrf }, { origin: url });
  assert.match(left.setCookies.join(), /Partitioned; SameSite=None$/);
  assert.equal(browser.jar.size, 0);
});

test('where no frame is named, nothing changes', async (t) => {
  const stand = await startStand(t, settings);
  const answer = await new Browser(stand.url).get(stand.linkToCustomer('prl_acme', 'acme'));
  assert.deepEqual(framingOf(answer), ["'none'", 'DENY']);
  assert.match(answer.setCookies.join(), /Secure; SameSite=Strict$/);
});

test('frames are named one by one, and only by https', () => {
  const given = {
    CONSOLE_URL: url,
    CONSOLE_FRAME_ANCESTORS: frameAncestors.join(','),
  };
  assert.deepEqual(readSettings(given).consoleFrameAncestors, frameAncestors);
  for (const wrong of [
    '*',
    'http://app.shop.example',
    'https://*',
    'app.shop.example',
    'https://a.example; script-src *',
    "'self'",
  ])
    assert.throws(
      () => readSettings({ ...given, CONSOLE_FRAME_ANCESTORS: wrong }),
      { message: /^CONSOLE_FRAME_ANCESTORS is / },
      wrong,
    );
  for (const CONSOLE_URL of ['', 'http://localhost:8081'])
    assert.throws(() => readSettings({ ...given, CONSOLE_URL }), {
      message: 'CONSOLE_FRAME_ANCESTORS is set; allowed with a CONSOLE_URL that begins with https:',
    });
});
