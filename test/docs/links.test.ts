import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pages, readPage, root } from './pages.ts';

for (const page of pages) {
  test(`every link of ${page} leads somewhere`, () => {
    const from = new URL(page, root);
    for (const [, link = ''] of readPage(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const to = new URL(link, from);
      const anchor = to.hash.slice(1);
      to.hash = '';
      assert.ok(existsSync(to), `${link}: no such file`);
      if (anchor !== '')
        assert.ok(anchorsOf(readFileSync(to, 'utf8')).has(anchor), `${link}: no such heading`);
    }
  });
}

test('the README leads to every page', () => {
  const links = [...readPage('README.md').matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link);
  for (const page of pages)
    assert.ok(page === 'README.md' || links.includes(page), `no link to ${page}`);
});

/** As forges make them of headings. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
