import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { isoTime, isoTimeMs, normalizeTimestamp } from '../../src/event/timestamp.ts';

const taken = {
  '2012-12-02T00:30:08.276Z': '2012-12-02T00:30:08.276Z',
  '2026-11-20T18:59:40-0500': '2026-11-20T23:59:40.000Z',
  '2026-11-20T18:59:40+0000': '2026-11-20T18:59:40.000Z',
  '2026-11-20T18:59:40+05:30': '2026-11-20T13:29:40.000Z',
  '2026-11-20T18:59:40+02': '2026-11-20T16:59:40.000Z',
  '2026-11-20T18:59:40Z': '2026-11-20T18:59:40.000Z',
  '2026-11-20t18:59:40z': '2026-11-20T18:59:40.000Z',
  '2026-11-20T18:59:40.929272685Z': '2026-11-20T18:59:40.929Z',
  '2026-11-20T18:59:40.9999Z': '2026-11-20T18:59:40.999Z',
  '2026-11-20T18:59:40.5Z': '2026-11-20T18:59:40.500Z',
  '2026-11-20T18:59:40,5Z': '2026-11-20T18:59:40.500Z',
  '2026-11-20T18:59:40.123456': '2026-11-20T18:59:40.123Z',
  '2026-11-20 18:59:40.123456+00:00': '2026-11-20T18:59:40.123Z',
  '2026-11-20T18:59Z': '2026-11-20T18:59:00.000Z',
  '2026-11-20': '2026-11-20T00:00:00.000Z',
  '2024-02-29T00:00:00.000Z': '2024-02-29T00:00:00.000Z',
  '2026-12-31T24:00:00Z': '2027-01-01T00:00:00.000Z',
  '2026-12-31T24:00:00.000+01:00': '2026-12-31T23:00:00.000Z',
  '2016-12-31T23:59:60Z': '2017-01-01T00:00:00.000Z',
  '2016-12-31T23:59:60.250Z': '2017-01-01T00:00:00.250Z',
  '2017-01-01T05:29:60+05:30': '2017-01-01T00:00:00.000Z',
  '0001-01-01T00:00:00Z': '0001-01-01T00:00:00.000Z',
  '0000-01-01': '0000-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999999Z': '9999-12-31T23:59:59.999Z',
};

for (const [sent, normal] of Object.entries(taken)) {
  test(`${sent} is ${normal}`, () => {
    assert.equal(normalizeTimestamp(sent), normal);
  });
}

const refused = {
  'a day that does not exist': ['2026-02-30', '2026-02-29T00:00:00.000Z', '2026-04-31T10:00:00Z'],
  'a month or day out of range': ['2026-13-01', '2026-00-10', '2026-01-00', '0000-00-00'],
  'a time out of range': ['2026-11-20T25:00:00Z', '2026-11-20T10:60:00Z', '2026-11-20T10:00:61Z'],
  'more than midnight at hour 24': ['2026-11-20T24:00:00.001Z', '2026-11-20T24:00:01Z'],
  'a leap second that is not before UTC midnight': [
    '2016-12-31T23:58:60Z',
    '2016-12-31T12:59:60Z',
    '2016-12-31T23:59:60+01:00',
    '2016-12-31T24:00:60Z',
  ],
  'a year that four digits cannot write': [
    '10000-01-01T00:00:00.000Z',
    '+010000-01-01T00:00:00.000Z',
    '-000001-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59-05:00',
    '0000-01-01T00:00:00+00:01',
  ],
  'a zone that does not exist': [
    '2026-11-20T10:00:00+24:00',
    '2026-11-20T10:00:00+05:60',
    '2026-11-20T10:00:00+05:',
    '2026-11-20T10:00:00EST',
    '2026-11-20Z',
  ],
  'anything else': [
    '',
    ' ',
    'now',
    '1763700000',
    '2026',
    '2026-11',
    '20261120T185940Z',
    '11/20/2026',
    'Fri, 20 Nov 2026 18:59:40 GMT',
    '2026-11-20T18:59:40.Z',
    '2026-11-20T18:59:40.123Z\n',
    ' 2026-11-20T18:59:40.123Z',
    '２026-11-20',
  ],
};

for (const [what, texts] of Object.entries(refused)) {
  test(`${what} is refused`, () => {
    for (const text of texts) assert.equal(normalizeTimestamp(text), undefined, text);
  });
}

test('an instant is the same in every zone and spelling', () => {
  const spelling = fc.record({
    separator: fc.constantFrom('T', 't', ' '),
    colon: fc.constantFrom(':', ''),
    sign: fc.constantFrom('+', '-'),
    zoneMinutes: fc.integer({ min: 0, max: 23 * 60 + 59 }),
    digits: fc.stringMatching(/^\d{0,6}$/),
  });
  const dayMs = 86_400_000;
  const min = new Date(Date.parse('0000-01-01T00:00:00.000Z') + dayMs);
  const max = new Date(Date.parse('9999-12-31T23:59:59.999Z') - dayMs);
  fc.assert(
    fc.property(fc.date({ min, max, noInvalidDate: true }), spelling, (date, as) => {
      const minutes = as.sign === '-' ? -as.zoneMinutes : as.zoneMinutes;
      const local = new Date(date.getTime() + minutes * 60_000).toISOString();
      const two = (part: number) => String(Math.floor(part)).padStart(2, '0');
      const zone = `${as.sign}${two(as.zoneMinutes / 60)}${as.colon}${two(as.zoneMinutes % 60)}`;
      const sent = local.replace('T', as.separator).replace('Z', as.digits + zone);
      assert.equal(normalizeTimestamp(sent), date.toISOString());
    }),
  );
});

test('what comes out goes in unchanged', () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => {
      const once = normalizeTimestamp(date.toISOString());
      if (once !== undefined) assert.equal(once, date.toISOString());
    }),
  );
});

const [firstMs, lastMs] = [
  Date.parse('0000-01-01T00:00:00.000Z'),
  Date.parse('9999-12-31T23:59:59.999Z'),
];

test('times become what Date makes of them, and texts become times again', () => {
  // Many of one day and of one second, as in a batch, and some before 1970.
  const anyTime = fc.oneof(
    fc.integer({ min: firstMs, max: lastMs }),
    fc.integer({ min: -86_400_000, max: 86_400_000 }),
    fc.integer({ min: -2_000, max: 2_000 }),
    fc.constantFrom(firstMs, lastMs, -1, 0),
  );
  fc.assert(
    fc.property(fc.array(anyTime, { minLength: 1 }), (times) => {
      for (const timeMs of times) {
        assert.equal(isoTime(timeMs), new Date(timeMs).toISOString());
        assert.equal(isoTimeMs(isoTime(timeMs)), timeMs);
      }
    }),
  );
});
