import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

test('the README leads to every page, or to the page that lists those of its folder', () => {
  const listed = linksOf('README.md');
  for (const page of pages) {
    if (page === 'README.md') continue;
    const list = `${dirname(page)}.md`;
    const isListed = listed.has(page) || (listed.has(list) && linksOf(list).has(page));
    assert.ok(isListed, `no link to ${page}`);
  }
});

test('the README is short, and its code fits a phone', () => {
  const lines = readPage('README.md').trimEnd().split('\n');
  assert.ok(lines.length <= 150, `${lines.length} lines`);
  for (const line of codeLines(readPage('README.md')))
    assert.ok(line.length <= 48, `${line.length} characters: ${line}`);
});

function codeLines(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^```\w*\n([^]*?)^```$/gm)];
  return blocks.flatMap(([, block = '']) => block.split('\n'));
}

/** The pages that a page links to, by their paths from the root. */
function linksOf(page: string): ReadonlySet<string> {
  const links = [...readPage(page).matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => link);
  return new Set(links.map((link) => join(dirname(page), link)));
}

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
