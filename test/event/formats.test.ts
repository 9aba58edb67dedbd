import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatFor,
  formatOf,
  includes,
  isBundleVersion,
  isEnvelopeVersion,
  isNewerVersion,
  oldestFormat,
  readLevel,
} from '../../src/event/formats.ts';

const levels = Array.from({ length: readLevel }, (_, index) => index + 1);

test('every number of a level is higher than all before, so that older releases know that it is newer', () => {
  const versions: number[] = [];
  for (let v = 1; !isNewerVersion(v); v += 1) if (formatOf(v) !== undefined) versions.push(v);
  assert.equal(versions.length, 2 * readLevel);
  const levelsOfVersions = versions.map((version) => formatOf(version)?.level);
  assert.deepEqual(
    levelsOfVersions,
    levels.flatMap((level) => [level, level]),
  );
});

test('what is written is known to the readers, whatever they know', () => {
  assert.deepEqual(formatFor(1), oldestFormat);
  for (const readers of [0, 1, ...levels, readLevel + 1, 1_000])
    assert.ok(formatFor(readers).level <= Math.max(1, readers), String(readers));
  assert.ok(formatFor(1_000).level <= readLevel);
});

test('a format includes what was written in it, and in those before', () => {
  const { envelope, bundle } = oldestFormat;
  assert.ok(includes(oldestFormat, envelope) && includes(oldestFormat, bundle));
  assert.ok(!includes({ ...oldestFormat, level: 0 }, envelope));
  assert.ok(!includes(oldestFormat, 999));
});

test('only a number that no release had yet is one of a newer release', () => {
  for (const v of [3, 4, 1_000]) assert.ok(isNewerVersion(v), String(v));
  for (const v of [-1, 0, 1, 2, 3.5, 1_001, 2 ** 53, NaN, Infinity, '3', null, undefined, [3]])
    assert.ok(!isNewerVersion(v), String(v));
  assert.ok(isEnvelopeVersion(1) && !isEnvelopeVersion(2) && !isEnvelopeVersion('1'));
  assert.ok(isBundleVersion(2) && !isBundleVersion(1));
});
