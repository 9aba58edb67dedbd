import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { entrancePages } from '../../src/console/access/page-html.ts';
import { accentChanges, colorsIn, contrast } from '../../src/console/brand/accent.ts';
import { readBrand, type BrandSettings } from '../../src/console/brand/brand.ts';
import { loadPages } from '../../src/console/build-pages.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { FakeLogger } from '../kafka/fake-logger.ts';
import { sessionKey, startStand, tokensFile, twoTokens } from './access/stand.ts';

const folder = mkdtempSync(join(tmpdir(), 'postrider-brand-'));
const plain: BrandSettings = {
  name: 'Harbor & Sons',
  accentColor: undefined,
  logoFile: undefined,
  backUrl: undefined,
};

function logoOf(content: string | Buffer): string {
  const file = join(folder, 'logo');
  writeFileSync(file, content);
  return file;
}

const svg =
  '<?xml version="1.0"?>\n<!-- drawn -->\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';

test('text in any accent can be read, on the surfaces of both themes and on the accent itself', () => {
  const channel = fc.integer({ min: 0, max: 255 });
  const color = fc
    .tuple(channel, channel, channel)
    .map((parts) => `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`);
  fc.assert(
    fc.property(color, (given) => {
      for (const [theme, surfaces] of [
        ['light', ['#ffffff', '#f5f6f8']],
        ['dark', ['#151920', '#0d1014']],
      ] as const) {
        const { accent, ink } = colorsIn(theme, given);
        for (const other of [...surfaces, ink]) assert.ok(contrast(accent, other) >= 4.5, theme);
      }
    }),
  );
  assert.equal(colorsIn('light', '#1f4fd8').accent, '#1f4fd8');
  assert.deepEqual(accentChanges('#FFCC00'), [
    '#8a6e00 on light pages, because #FFCC00 has a contrast of 1.5 there',
  ]);
  assert.equal(Math.round(contrast('#000000', '#ffffff')), 21);
});

test('pages bear the logo, the accent and the way back, and the log tells of an accent that becomes another', async () => {
  const log = new FakeLogger();
  const brand = readBrand(
    {
      ...plain,
      accentColor: '#ffcc00',
      logoFile: logoOf(svg),
      backUrl: 'https://app.shop.example/?a="b"&c',
    },
    log,
  );
  assert.match(log.visible.join(), /CONSOLE_ACCENT_COLOR becomes #\w{6} on light pages/);
  const pages = await loadPages(brand);
  const html = pages.find(({ path }) => path === 'index.html')?.content.toString() ?? '';
  assert.match(html, /<title>Harbor &#38; Sons<\/title>/);
  assert.match(html, /<meta name="postrider-logo" content="\/brand\/logo-\w{12}\.svg" \/>/);
  assert.match(
    html,
    /<meta name="postrider-back" content="https:\/\/app\.shop\.example\/\?a=&#34;b&#34;&#38;c" \/>/,
  );
  const [, sheet = ''] =
    /<link rel="stylesheet" href="\/(brand\/accent-\w{12}\.css)" \/><\/head>/.exec(html) ?? [];
  const css = pages.find(({ path }) => path === sheet)?.content.toString() ?? '';
  assert.match(
    css,
    /--accent: #[0-9a-f]{6}; --accent-ink: #[0-9a-f]{6}; --accent-soft: #[0-9a-f]{6};/,
  );
  const refusal = entrancePages(brand).refusal('No.', false);
  assert.match(refusal, /<img class="logo" src="\/brand\/logo-\w{12}\.svg" alt=""> Harbor/);
  assert.match(refusal, new RegExp(sheet));
  const without = await loadPages(readBrand(plain, silentLogger));
  assert.doesNotMatch(
    without.find(({ path }) => path === 'index.html')?.content.toString() ?? '',
    /postrider-|brand/,
  );
});

test('a logo that holds a script runs none, however it is opened', async (t) => {
  const brand = readBrand({ ...plain, logoFile: logoOf(svg) }, silentLogger);
  const stand = await startStand(
    t,
    { tokensFile: tokensFile(twoTokens), sessionKey },
    { pages: brand.files },
  );
  const answer = await fetch(`${stand.url}${brand.logo ?? ''}`);
  assert.equal(answer.headers.get('content-type'), 'image/svg+xml');
  const policy = answer.headers.get('content-security-policy');
  assert.equal(policy, "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(await answer.text(), svg);
});

test('what is no logo is refused at the start, in a sentence', () => {
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100)]);
  const read = (logoFile: string): unknown => readBrand({ ...plain, logoFile }, silentLogger);
  read(logoOf(png));
  for (const [content, reason] of [
    ['<html><svg></svg></html>', /, which is neither an SVG nor a PNG$/],
    ['<svgx/>', /, which is neither/],
    ['', /, which is neither/],
    [Buffer.concat([png, Buffer.alloc(300_000)]), /, which has \d+ bytes; allowed: up to 262144$/],
  ] as const)
    assert.throws(() => read(logoOf(content)), { code: 'setting-invalid', message: reason });
  assert.throws(() => read(join(folder, 'none')), { message: /, which cannot be read$/ });
});
