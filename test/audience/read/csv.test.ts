import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, symlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { firstBytes, parseRecord, unpacked } from '../../../src/audience/read/first-record.ts';
import { eventually } from '../../harness/eventually.ts';
import { reportOf, startReading } from './reading.ts';

test('each id of a CSV file is a member once, and every rule has its number', async (t) => {
  const { file, members } = await startReading(t);
  const lines = [
    'name,customer_id',
    'a,u1',
    'b,u1',
    'c,',
    'd,""',
    'e,"  "',
    'f, u2 ',
    'g,u2',
    'h,007',
    'i,7',
    'j,12345678901234567890',
    'k,"x,""y"""',
    'l,two words',
    'm,"two\nlines"',
    'n,ünï',
    `o,${'x'.repeat(1001)}`,
  ];
  await file('members.csv', `${lines.join('\n')}\n`);
  const { current, report } = await members({ file: 'members.csv', userId: 'customer_id' });
  assert.deepEqual([...current.keys()].sort(), [
    '007',
    '12345678901234567890',
    '7',
    'two\nlines',
    'two words',
    'u1',
    'u2',
    'x,"y"',
    'ünï',
  ]);
  assert.deepEqual(new Set(current.values()), new Set(['true']));
  assert.deepEqual(
    report,
    reportOf(
      {
        rows: 15,
        members: 9,
        duplicates: 2,
        trimmedIds: 1,
        numericIds: 3,
        leadingZeroIds: 1,
        longNumericIds: 1,
      },
      { nullIds: 1, emptyIds: 2, longIds: 1 },
    ),
  );
});

test('ids that spreadsheets and programs leave are left out, or counted', async (t) => {
  const { file, members } = await startReading(t);
  const odd = ['NULL', '\\N', 'NaN', 'None', '#N/A', 'Total', 'undefined'];
  const fine = ['u1', '1e5', '83e2', 'total-7', 'annul', '1.23457E-16'];
  await file('a.csv', ['id', ...odd, ...fine, '1.23457E+16', '2e+08', ''].join('\n'));
  const { current, report } = await members({ file: 'a.csv', userId: 'id' });
  assert.deepEqual([...current.keys()].sort(), [...odd, ...fine].sort());
  const used = odd.length + fine.length;
  const counts = { rows: used + 2, members: used, placeholderIds: odd.length };
  assert.deepEqual(report, reportOf(counts, { exponentIds: 2 }));
});

test('a CSV file may have no header, another delimiter, Windows line ends, a BOM, gzip', async (t) => {
  const { file, members } = await startReading(t);
  await file('plain.csv', 'x,1\ny,2\n');
  const numbered = await members({ file: 'plain.csv', header: false, userId: 2 });
  assert.deepEqual([...numbered.current.keys()].sort(), ['1', '2']);

  await file('export.txt', '\ufeffid;"a ""b"""\r\n1;x\r\n2;y\r\n');
  const rows = { file: 'export.txt', format: 'csv', delimiter: ';' } as const;
  assert.equal((await members({ ...rows, userId: 'id' })).report.members, 2);
  const quoted = await members({ ...rows, userId: 'a "b"' });
  assert.deepEqual([...quoted.current.keys()].sort(), ['x', 'y']);

  const parts = [gzipSync('id\n1\n'), gzipSync('2\n')];
  await file('parts.csv.gz', Buffer.concat(parts));
  assert.equal((await members({ file: 'parts.csv.gz', userId: 'id' })).report.members, 2);
});

/** A gzip file of RFC 1952, with what its header may hold. */
function gzipWith(
  text: string,
  { extra, name, comment, hasChecksum }: Partial<GzipHeader>,
): Buffer {
  const flags = [
    [hasChecksum, 2],
    [extra, 4],
    [name, 8],
    [comment, 16],
  ] as const;
  const bits = flags.reduce((sum, [given, bit]) => (given === undefined ? sum : sum | bit), 0);
  const parts = [Buffer.from([0x1f, 0x8b, 8, bits, 0, 0, 0, 0, 0, 3])];
  if (extra !== undefined) parts.push(Buffer.from([extra.length, 0]), Buffer.from(extra));
  for (const each of [name, comment]) if (each !== undefined) parts.push(Buffer.from(`${each}\0`));
  if (hasChecksum !== undefined) {
    const checksum = Buffer.alloc(2);
    checksum.writeUInt16LE(crc32(Buffer.concat(parts)) & 0xffff);
    parts.push(checksum);
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(text));
  trailer.writeUInt32LE(text.length, 4);
  return Buffer.concat([...parts, deflateRawSync(text), trailer]);
}

interface GzipHeader {
  readonly extra: string;
  readonly name: string;
  readonly comment: string;
  readonly hasChecksum: true;
}

test('a gzip file is closed also where its beginning alone is read', async (t) => {
  const { file } = await startReading(t);
  // More than a pipe holds, so that the end of the file is not reached by itself.
  const whole = gzipSync(randomBytes(1_000_000));
  const bytes = createReadStream(await file('large.csv.gz', whole));
  await firstBytes(unpacked(bytes, 'large.csv.gz'), 2);
  await eventually(() => {
    assert.ok(bytes.closed);
  });
});

test('a gzip file may have in its header all that RFC 1952 allows', async (t) => {
  const { file, members } = await startReading(t);
  const headers: readonly Partial<GzipHeader>[] = [
    { name: 'members.csv' },
    { extra: 'abcd' },
    { comment: 'exported by night' },
    { hasChecksum: true },
    { extra: 'ab', name: 'm.csv', comment: 'c', hasChecksum: true },
  ];
  for (const header of headers) {
    await file('m.csv.gz', gzipWith('id\nu1\nu2\n', header));
    const { current } = await members({ file: 'm.csv.gz', userId: 'id' });
    assert.deepEqual([...current.keys()].sort(), ['u1', 'u2'], JSON.stringify(header));
  }
  await file('short.csv.gz', gzipWith('id,v\nu1,2\nsecret\n', { comment: 'c' }));
  await assert.rejects(members({ file: 'short.csv.gz', userId: 'id' }), {
    message: /\/short\.csv\.gz:3: has more or fewer columns than the first line$/,
  });
});

test('a folder or a glob is read whole, each file by its own header', async (t) => {
  const { file, members } = await startReading(t);
  await file('out/part-0.csv', 'id,v\nu1,1\n');
  await file('out/part-1.csv', 'v,id\n1,u2\n');
  await file('out/part-2.csv.gz', gzipSync('id\nu3\n'));
  await file('out/part[3].csv', 'id\nu4\n');
  await file('out/part3.csv', 'id\nu5\n');
  await file('out/_SUCCESS', '');
  await file('out/.part-9.csv', 'id\nhidden\n');
  await file('out/readme.md', '# no data');
  const ids = async (name: string): Promise<string> =>
    [...(await members({ file: name, userId: 'id' })).current.keys()].sort().join(' ');
  assert.equal(await ids('out'), 'u1 u2 u3 u4 u5');
  assert.equal(await ids('out/part-*.csv'), 'u1 u2');
  assert.equal(await ids('*/*'), 'u1 u2 u3 u4 u5');
  assert.equal(await ids('out/part[3].csv'), 'u4');
});

test('values of CSV are what they look like in JSON, or what the type says', async (t) => {
  const { file, values } = await startReading(t);
  const cells = ['1.50', '1e3', '-0', '007', 'TRUE', 'false', 'a "b"', '1e999', '9007199254740993'];
  const quoted = [...cells.map((cell) => `"${cell.replaceAll('"', '""')}"`), '""', ''];
  await file('v.csv', `id,v\n${quoted.map((cell, index) => `${index},${cell}`).join('\n')}\n`);
  const from = { file: 'v.csv', userId: 'id', value: 'v' };
  const read = async (type?: 'text' | 'number' | 'boolean'): Promise<unknown[]> => {
    const { current } = await values(type === undefined ? from : { ...from, type });
    return quoted.map((_, index) => current.get(`${index}`));
  };
  assert.deepEqual(await read(), [
    '1.5',
    '1000',
    '0',
    '"007"',
    'true',
    'false',
    String.raw`"a \"b\""`,
    undefined,
    '9007199254740993',
    '""',
    undefined,
  ]);
  assert.deepEqual(
    await read('text'),
    [...cells, ''].map((cell) => JSON.stringify(cell)).concat(undefined as never),
  );
  assert.deepEqual(
    (await read('number')).filter((value) => value !== undefined),
    ['1.5', '1000', '0', '9007199254740993'],
  );
  assert.deepEqual(
    (await read('boolean')).filter((value) => value !== undefined),
    ['true', 'false'],
  );
  const { report } = await values({ ...from, type: 'number' });
  assert.deepEqual([report.leftOut.otherValues, report.leftOut.nullValues], [6, 1]);
});

test('of several values of a user the same one is taken in any order, and the user is counted', async (t) => {
  const { file, values } = await startReading(t);
  await file('a.csv', 'id,v\nu,1\nu,2\nw,x\nw,x\n');
  await file('b.csv', 'id,v\nw,x\nu,2\nw,x\nu,1\n');
  for (const name of ['a.csv', 'b.csv']) {
    const { current, report } = await values({ file: name, userId: 'id', value: 'v' });
    assert.deepEqual(Object.fromEntries(current), { u: '2', w: '"x"' });
    assert.deepEqual(report, reportOf({ rows: 4, members: 2, duplicates: 2, conflicts: 1 }));
  }
});

test('a value too large for a call is left out', async (t) => {
  const { file, values } = await startReading(t);
  await file('v.csv', `id,v\nu,${'x'.repeat(21_000)}\nw,1\n`);
  const { report } = await values({ file: 'v.csv', userId: 'id', value: 'v' });
  assert.deepEqual(report, reportOf({ rows: 2, members: 1 }, { longValues: 1 }));
});

test('quoted line breaks are read right where DuckDB reads a file in parallel', async (t) => {
  const { file, members } = await startReading(t);
  const ids = Array.from(
    { length: 200_000 },
    (_, index) => `"user\n${index},""${'\n'.repeat(index % 7)}"""`,
  );
  await file('big.csv', `id,v\n${ids.map((id) => `${id},"\n"`).join('\n')}\n`);
  const { report } = await members({ file: 'big.csv', userId: 'id' });
  assert.deepEqual([report.rows, report.members], [200_000, 200_000]);
});

test('no rows are no members, and no error', async (t) => {
  const { file, members } = await startReading(t);
  await file('none.csv', 'id\n');
  await file('empty.csv', '');
  assert.deepEqual((await members({ file: 'none.csv', userId: 'id' })).report, reportOf({}));
  const headless = await members({ file: 'empty.csv', header: false, userId: 1 });
  assert.deepEqual(headless.report, reportOf({}));
});

test('what cannot be read is a sentence with file, line or column, and without the data', async (t) => {
  const { file, members, folder } = await startReading(t);
  const whole = gzipSync(`id\n${Array.from({ length: 50_000 }, (_, id) => id * 7919).join('\n')}`);
  await file('cut.csv.gz', whole.subarray(0, whole.length / 2));
  await file('no-gzip.csv.gz', 'id\n1\n');
  await file('short.csv', 'id,v\nsecret1,2\nsecret2\n');
  await file('quote.csv', 'id,v\nsecret1,2\n"secret2,3\n');
  await file('latin.csv', Buffer.from('id\nsecret\xe9\n', 'latin1'));
  await file('mixed.csv', 'id,v\r\nsecret,2\nx,3\r\n');
  await file('empty.csv', '');
  await file('utf16.csv', Buffer.from('\ufeffid,v\r\nsecret,1\r\n', 'utf16le'));
  await file('utf16-bare.csv', Buffer.from('id,v\nsecret,1\n', 'utf16le'));
  await file('old-mac.csv', 'id,v\rsecret,1\r');
  await file('semicolons.csv', 'id;name;v\nsecret;secret;1\n');
  await file('twice.csv', 'id,v,id\nsecret,1,2\n');
  await file('mix/a.csv', 'id\n1\n');
  await file('mix/b.ndjson', '{"id":1}\n');
  await file('none/a.txt', 'id\n1\n');
  await mkdir(path.join(folder, 'deep/inside.csv'), { recursive: true });
  await symlink(path.join(folder, 'gone'), path.join(folder, 'dangling.csv'));
  for (const [name, reason] of [
    ['gone.csv', /^gone\.csv does not exist$/],
    ['gone/*.csv', /^no file matches gone\/\*\.csv$/],
    ['deep/*', /^no file matches deep\/\*$/],
    ['dangling.*', /\/dangling\.csv cannot be read: ENOENT$/],
    ['none', /^none is a folder without a \.csv, /],
    ['none/a.txt', /^none\/a\.txt does not say what it is; set format to csv, ndjson or parquet$/],
    ['mix', /^mix holds csv and ndjson files; set format to one$/],
    ['mix/a.csv', /^.*\/mix\/a\.csv has no column customer; it has one column$/],
    ['empty.csv', /\/empty\.csv is empty, without even a header$/],
    ['utf16.csv', /\/utf16\.csv is UTF-16; write it as UTF-8$/],
    ['utf16-bare.csv', /\/utf16-bare\.csv is UTF-16; write it as UTF-8$/],
    ['old-mac.csv', /\/old-mac\.csv has lines that end in a carriage return alone/],
    [
      'semicolons.csv',
      /has no column id; it has one column, and 3 with the delimiter ";"; set delimiter to that$/,
    ],
    ['twice.csv', /\/twice\.csv has the column id twice; give each column its own name$/],
    ['cut.csv.gz', /\/cut\.csv\.gz is not a whole gzip file: it is cut off or damaged$/],
    ['no-gzip.csv.gz', /\/no-gzip\.csv\.gz is not a whole gzip file/],
    ['short.csv', /\/short\.csv:3: has more or fewer columns than the first line$/],
    ['quote.csv', /\/quote\.csv:3: has a quote that is not closed/],
    ['latin.csv', /\/latin\.csv:2: is not UTF-8$/],
    ['mixed.csv', /\/mixed\.csv: is not valid CSV: a quote is not closed, or line ends are mixed$/],
  ] as const)
    await assert.rejects(
      members({ file: name, userId: name === 'mix/a.csv' ? 'customer' : 'id' }),
      (error: Error) => {
        assert.match(error.message, reason, name);
        assert.doesNotMatch(error.message, /secret/);
        assert.equal((error as Error & { code?: string }).code, 'input-invalid');
        return true;
      },
    );
});

test('a list that is older than its maxAge is refused: the newest file counts, or the one that says they are complete', async (t) => {
  const { file, members } = await startReading(t);
  const written = async (name: string, daysAgo: number): Promise<void> => {
    const at = new Date(Date.now() - daysAgo * 86_400_000);
    await utimes(await file(name, name === 'daily/_SUCCESS' ? '' : 'id\nu1\n'), at, at);
  };
  await written('daily/a.csv', 9);
  await written('daily/b.csv', 3);
  const daily = { file: 'daily', userId: 'id' };
  assert.equal((await members({ ...daily, maxAge: '4d' })).current.size, 1);
  await assert.rejects(members({ ...daily, maxAge: '26h' }), {
    code: 'input-invalid',
    message:
      /^daily is from \d{4}-\d\d-\d\dT[\d:.]+Z, 3d ago, and maxAge is 26h; nothing was sent\. .* --allow-old$/,
  });
  assert.equal((await members({ ...daily, maxAge: '26h' }, true)).current.size, 1);
  await written('daily/_SUCCESS', 1);
  const marked = { ...daily, complete: '_SUCCESS' };
  assert.equal((await members({ ...marked, maxAge: '26h' })).current.size, 1);
  await assert.rejects(members({ ...marked, maxAge: '23h' }), { message: /^daily is from / });
});

test('rows of which none can be used are an error, not an audience without members', async (t) => {
  const { file, members } = await startReading(t);
  await file('blank.csv', 'id,v\n,1\n,2\n" ",3\n');
  await assert.rejects(members({ file: 'blank.csv', userId: 'id' }), {
    message: 'none of the 3 rows can be used: 2 without an id, 1 with an empty id',
  });
});

test('the first record is parsed as RFC 4180 has it', () => {
  assert.deepEqual(parseRecord('a,"b ""c"", d",\ne', ','), {
    cells: ['a', 'b "c", d', ''],
    isWhole: true,
  });
  assert.deepEqual(parseRecord('"a\nb"|c', '|'), { cells: ['a\nb', 'c'], isWhole: false });
  assert.equal(parseRecord('a,"b\n', ',').isWhole, false);
});
