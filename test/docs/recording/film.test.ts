import assert from 'node:assert/strict';
import { test } from 'node:test';
import { film } from './film.ts';

const picture = film({
  command: 'npx postrider demo',
  lines: [
    { text: 'Starting <a broker> & roles', isProgress: false },
    { text: 'produced 1', isProgress: true },
    { text: 'produced 2', isProgress: true },
    { text: 'all accounted for', isProgress: false },
  ],
  pictures: [{ title: 'The console', jpeg: Buffer.from('jpeg') }],
});

/** The scenes by what is written in them, and whether they show where nothing moves. */
const scenes = new Map(
  [...picture.matchAll(/<g id="s\d+" opacity="([01])">.*?<text[^>]*>([^<]*)</g)].map(
    ([, opacity, text = '']) => [text, opacity === '1'],
  ),
);

test('where nothing moves, the recording shows the end of what was printed', () => {
  assert.deepEqual(
    [...scenes],
    [
      ['$ npx postrider demo', true],
      ['Starting &lt;a broker> &amp; roles', true],
      ['produced 1', false],
      ['produced 2', true],
      ['all accounted for', true],
      ['The console', false],
    ],
  );
});

test('a line of progress takes the place of the one before, and the next line comes below', () => {
  const rows = [...picture.matchAll(/<text x="20" y="(\d+)"/g)].map(([, y]) => Number(y));
  const [first = 0, second = 0] = rows;
  const step = second - first;
  assert.deepEqual(
    rows.map((y) => (y - first) / step),
    [0, 1, 2, 2, 3],
  );
});

test('each scene ends when the next of its place begins', () => {
  const [, one = '', two = ''] = /#?k2\{(.*?)\}\}#s2.*?k3\{(.*?)\}\}#s3/.exec(picture) ?? [];
  const [, ends] = /([\d.]+%)\{opacity:0\}100%/.exec(one) ?? [];
  assert.ok(ends !== undefined && two.includes(`${ends}{opacity:1}`), `${one} ${two}`);
});
