import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeftOut } from '../../src/dead-letter/sift.ts';

test('what was left out is said once for each reason, with the names and what can be done', () => {
  const leftOut = new LeftOut('event');
  assert.equal(leftOut.isEmpty, true);
  for (const name of ['crm', 'crm', 'erp'])
    leftOut.add({ why: 'because it is deleted', name, remedy: '--all takes them too' });
  leftOut.add({ why: 'sent again before' });
  assert.deepEqual(leftOut.sentences(), [
    '3 events left out, because it is deleted: 2 crm, 1 erp; --all takes them too',
    '1 event left out, sent again before',
  ]);
});

test('a name out of a record cannot command the terminal', () => {
  const leftOut = new LeftOut('event');
  leftOut.add({ why: 'because it is deleted', name: '\u001b[2Jcrm' });
  assert.deepEqual(leftOut.sentences(), [
    '1 event left out, because it is deleted: 1 \\u001b[2Jcrm',
  ]);
});
