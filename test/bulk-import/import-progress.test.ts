import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ImportProgress } from '../../src/bulk-import/import-progress.ts';

test('an import goes on behind the last line before which all are settled', () => {
  const progress = new ImportProgress();
  assert.equal(progress.placeText, 'after line 0');
  for (const line of [1, 2, 4, 5, 6]) progress.begun(line);
  progress.lineBad(3);
  for (const line of [1, 5]) progress.lineSent(line);
  assert.equal(progress.placeText, 'after line 1; of the lines up to 5, some were sent as well');
  progress.lineBad(2);
  assert.equal(progress.placeText, 'after line 3; of the lines up to 5, some were sent as well');
  for (const line of [4, 6]) progress.lineSent(line);
  assert.equal(progress.placeText, 'after line 6');
  assert.deepEqual([progress.sent, progress.bad], [4, 2]);
});
