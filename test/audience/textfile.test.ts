import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeMetrics } from '../../src/audience/metrics.ts';

const fresh = [
  '# HELP members Users.',
  '# TYPE members gauge',
  'members{audience="a"} 2',
  '# HELP failed 1 if failed.',
  '# TYPE failed gauge',
  'failed{audience="b"} 1',
  '',
].join('\n');

test('what a run says wins, and what it does not speak of stays', () => {
  const before = [
    '# HELP members Users, as it was said before.',
    '# TYPE members gauge',
    'members{audience="a"} 1',
    'members{audience="x}, y"} 9',
    '# TYPE gone gauge',
    'gone{audience="a"} 1',
    'torn{audi',
  ].join('\n');
  assert.deepEqual(mergeMetrics(before, fresh, () => true).split('\n'), [
    '# HELP members Users.',
    '# TYPE members gauge',
    'members{audience="x}, y"} 9',
    'members{audience="a"} 2',
    '# HELP failed 1 if failed.',
    '# TYPE failed gauge',
    'failed{audience="b"} 1',
    '',
  ]);
  assert.equal(
    mergeMetrics('', fresh, () => true),
    fresh,
  );
});

test('what was said of an audience that no longer exists goes', () => {
  const before = ['# TYPE failed gauge', 'failed{audience="gone"} 1', 'failed{audience="c"} 0'];
  const merged = mergeMetrics(before.join('\n'), fresh, (id) => id !== 'gone');
  assert.deepEqual(merged.split('\n').slice(-4), [
    '# TYPE failed gauge',
    'failed{audience="c"} 0',
    'failed{audience="b"} 1',
    '',
  ]);
});
