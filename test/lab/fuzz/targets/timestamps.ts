import assert from 'node:assert/strict';
import { normalizeTimestamp } from '../../../../src/event/timestamp.ts';
import type { Target } from '../engine/target.ts';

const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** What ECMAScript reads in the same way, where the time exists. */
const ofEcmaScript =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,3})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

export const target: Target = {
  about:
    'any text as a timestamp: refused, or a time that stays as it is and that Date agrees with',
  seeds: [
    '2026-01-31T12:00:00Z',
    '2026-01-31',
    '2026-01-31 12:00',
    '2024-02-29T24:00:00,0+0530',
    '2016-12-31T23:59:60.999999999-01',
    '0000-01-01T00:00+23:59',
    '9999-12-31T23:59:59.999Z',
  ],
  words: ['T', 'Z', ':', '-', '+', '.', ',', ' ', '60', '24', '0000', '9999', '02-30', '00:00'],
  mostBytes: 200,
  check(input) {
    const text = input.toString('latin1');
    const time = normalizeTimestamp(text);
    if (time === undefined) {
      const ms = ofEcmaScript.test(text) ? Date.parse(text) : NaN;
      const day = text.slice(8, 10);
      const exists = new Date(`${text.slice(0, 10)}T00:00Z`).getUTCDate() === Number(day);
      const isInYears =
        ms >= Date.parse('0000-01-01T00:00Z') && ms < Date.parse('+010000-01-01T00:00Z');
      assert.ok(Number.isNaN(ms) || !exists || !isInYears, 'refused');
      return;
    }
    assert.match(time, canonical);
    assert.equal(new Date(time).toISOString(), time);
    assert.equal(normalizeTimestamp(time), time);
    if (ofEcmaScript.test(text)) assert.equal(Date.parse(time), Date.parse(text));
  },
};
