import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterReasons } from '../../src/event/dead-letter-reasons.ts';
import { isMendable, rejectReasons } from '../../src/event/rejection.ts';
import { refusalCodes, statusOf } from '../../src/gateway/refusal.ts';
import { codeIn, rowsOf, sectionOf } from './blocks.ts';
import { readPage } from './pages.ts';

test('docs/dead-letters.md explains exactly the reasons that there are', () => {
  const rows = rowsOf(sectionOf(readPage('docs/dead-letters.md'), 'Reasons'));
  const listed = rows.flatMap(([reason]) => codeIn(reason));
  assert.deepEqual(listed.sort(), ['http-<status>', ...Object.keys(deadLetterReasons)].sort());
});

test('docs/dead-letters.md says of each rejected reason whether a redrive can help', () => {
  const section = sectionOf(readPage('docs/dead-letters.md'), 'Rejected calls');
  const [solvable = '', hopeless = ''] = section.split('For the others');
  const listed = (text: string): string[] => rowsOf(text).flatMap(([reason]) => codeIn(reason));
  const all = Object.keys(rejectReasons);
  assert.deepEqual(listed(solvable).sort(), all.filter(isMendable).sort());
  assert.deepEqual(listed(hopeless).sort(), all.filter((each) => !isMendable(each)).sort());
});

test('docs/sending.md lists every response of the gateway with its status', () => {
  const rows = rowsOf(sectionOf(readPage('docs/sending.md'), 'Responses'));
  const listed = rows.flatMap(([status, codes]) =>
    codeIn(codes).map((code) => `${status ?? ''} ${code}`),
  );
  const answered = refusalCodes.map((code) => `${statusOf({ code, message: '' })} ${code}`);
  assert.deepEqual(listed.sort(), answered.sort());
});
