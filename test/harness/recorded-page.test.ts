import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withSection } from './recorded-page.ts';

const names = ['one', 'two', 'three'];
const page =
  '# A page\n\nIts purpose.\n\n## one\n\nOld.\n\n### part\n\nMore.\n\n## three\n\nLast.\n';

test('a section is replaced to its end, and nothing else changes', () => {
  assert.equal(
    withSection(page, names, 'one', 'New.'),
    '# A page\n\nIts purpose.\n\n## one\n\nNew.\n\n## three\n\nLast.\n',
  );
  assert.equal(withSection(page, names, 'three', 'New.'), page.replace('Last.', 'New.'));
});

test('a section that is not there yet comes where it belongs', () => {
  assert.equal(
    withSection(page, names, 'two', 'New.'),
    page.replace('\n## three', '\n## two\n\nNew.\n\n## three'),
  );
  const short = '# A page\n\nIts purpose.\n';
  const first = withSection(short, names, 'three', 'Last.');
  assert.equal(first, `${short}\n## three\n\nLast.\n`);
  assert.equal(
    withSection(first, names, 'one', 'New.'),
    `${short}\n## one\n\nNew.\n\n## three\n\nLast.\n`,
  );
});
