import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../harness/fast-check.ts';
import { formatTable } from '../../src/resources/table.ts';

test('a table is as wide as it has to be where there is no end of the line', () => {
  const long = 'x'.repeat(200);
  assert.equal(formatTable(['A', 'B'], [[long, '']]), `A${' '.repeat(201)}B\n${long}  -`);
});

test('a table may have more rows than a call may have arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => [String(i), '']);
  const lines = formatTable(['A', 'B'], rows).split('\n');
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [200_001, 'A       B', '199999  -']);
});

test('on a terminal the widest columns are cut, and the others stay whole', () => {
  const id = '0191f3a4-0000-7000-8000-000000000000';
  const table = formatTable(
    ['PLACE', 'REASON', 'MESSAGE', 'DETAIL'],
    [['3:1041', 'http-410', id, 'a sentence that is longer than there is room for']],
    80,
  );
  assert.equal(
    table,
    [
      'PLACE   REASON    MESSAGE                         DETAIL',
      '3:1041  http-410  0191f3a4-0000-7000-8000-00000…  a sentence that is longer tha…',
    ].join('\n'),
  );
});

test('no line is longer than the terminal, as long as each column has room for a word', () => {
  const cells = fc.array(fc.string({ maxLength: 60 }), { minLength: 4, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(cells, { minLength: 1 }),
      fc.integer({ min: 40, max: 200 }),
      (rows, width) => {
        for (const line of formatTable(['A', 'B', 'C', 'D'], rows, width).split('\n'))
          assert.ok(line.length <= width, line);
      },
    ),
  );
});
