import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const pages = [
  'README.md',
  'src/client/README.md',
  'docs/calls.md',
  'docs/dead-letters.md',
  'docs/design.md',
  'docs/receiving.md',
  'docs/resources.md',
];

const root = new URL('../../', import.meta.url);

for (const page of pages) {
  test(`every link of ${page} leads somewhere`, () => {
    const from = new URL(page, root);
    for (const [, link = ''] of readFileSync(from, 'utf8').matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const to = new URL(link, from);
      const anchor = to.hash.slice(1);
      to.hash = '';
      assert.ok(existsSync(to), `${link}: no such file`);
      if (anchor !== '')
        assert.ok(anchorsOf(readFileSync(to, 'utf8')).has(anchor), `${link}: no such heading`);
    }
  });
}

/** As forges make them of headings. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
