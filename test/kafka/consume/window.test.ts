import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mustPause } from '../../../src/kafka/consume/window.ts';

const limits = { records: 100, bytes: 1_000 };
const load = (inFlight: number, inFlightBytes = 0, span = inFlight) => ({
  inFlight,
  inFlightBytes,
  aside: 0,
  asideBytes: 0,
  span,
});

test('intake pauses at the limit of records and resumes at half of it', () => {
  assert.equal(mustPause(false, load(99), limits, 1), false);
  assert.equal(mustPause(false, load(100), limits, 1), true);
  assert.equal(mustPause(true, load(51), limits, 1), true);
  assert.equal(mustPause(true, load(50), limits, 1), false);
});

test('intake pauses at the limit of bytes and resumes at half of it', () => {
  assert.equal(mustPause(false, load(1, 999), limits, 1), false);
  assert.equal(mustPause(false, load(1, 1_000), limits, 1), true);
  assert.equal(mustPause(true, load(1, 501), limits, 1), true);
  assert.equal(mustPause(true, load(1, 500), limits, 1), false);
});

test('what was set aside takes no room, and still cannot be passed without end', () => {
  const aside = { aside: 90, asideBytes: 900 };
  assert.equal(mustPause(false, { ...load(189, 1_899), ...aside }, limits, 1), false);
  assert.equal(mustPause(false, { ...load(190, 1_000), ...aside }, limits, 1), true);
  assert.equal(mustPause(false, { ...load(100, 1_900), ...aside }, limits, 1), true);
  assert.equal(mustPause(false, { ...load(90, 900, 6_400), ...aside }, limits, 1), true);
});

test('a window of one record resumes when it is empty', () => {
  assert.equal(mustPause(true, load(1), { records: 1, bytes: 1_000 }, 1), true);
  assert.equal(mustPause(true, load(0), { records: 1, bytes: 1_000 }, 1), false);
});

test('one record that is never finished lets sixty-four windows pass, then stops its partition', () => {
  assert.equal(mustPause(false, load(1, 1, 6_399), limits, 1), false);
  assert.equal(mustPause(false, load(1, 1, 6_400), limits, 1), true);
});

test('a full window that has been worked off resumes, however far it has passed an unfinished record', () => {
  assert.equal(mustPause(true, load(1, 1, 6_300), limits, 1), false);
  assert.equal(mustPause(true, load(51, 1, 6_300), limits, 1), true);
  assert.equal(mustPause(true, load(1, 1, 6_301), limits, 1), true);
});
