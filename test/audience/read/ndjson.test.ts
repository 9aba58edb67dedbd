import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { reportOf, startReading } from './reading.ts';

test('ids of NDJSON are text or whole numbers, digit by digit', async (t) => {
  const { file, members } = await startReading(t);
  const ids = [
    '"u1"',
    '42',
    '"42"',
    '12345678901234567890',
    '123456789012345678901234567890',
    '-7',
    String.raw`"caf\u00e9"`,
    '"café"',
    '"007"',
    '1.0',
    '1.5',
    '1e3',
    'true',
    '{"a":1}',
    '["u"]',
    'null',
    '""',
    '" u1 "',
  ];
  const lines = [...ids.map((id) => `{"other":1,"customer id":${id}}`), '{}', ''];
  await file('m.ndjson', lines.join('\n'));
  const { current, report } = await members({ file: 'm.ndjson', userId: 'customer id' });
  assert.deepEqual([...current.keys()].sort(), [
    '-7',
    '007',
    '12345678901234567890',
    '123456789012345678901234567890',
    '42',
    'café',
    'u1',
  ]);
  assert.deepEqual(
    report,
    reportOf(
      {
        rows: 19,
        members: 7,
        duplicates: 3,
        trimmedIds: 1,
        numericIds: 4,
        leadingZeroIds: 1,
        longNumericIds: 2,
      },
      { nullIds: 2, emptyIds: 1, otherIds: 6 },
    ),
  );
});

test('values of NDJSON pass as they are, in one spelling', async (t) => {
  const { file, values } = await startReading(t);
  const spelled: readonly (readonly [string, string | undefined])[] = [
    ['19.990', '19.99'],
    ['1e3', '1000'],
    ['10.0', '10'],
    ['-0.0', '0'],
    ['1.5e-7', '1.5e-7'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['true', 'true'],
    ['false', 'false'],
    ['"true"', '"true"'],
    [String.raw`"a \"b\" \u00fc"`, String.raw`"a \"b\" ü"`],
    ['""', '""'],
    ['null', undefined],
    ['[1]', undefined],
    ['{}', undefined],
    ['1e999', undefined],
  ];
  const lines = spelled.map(([value], index) => `{"id":${index},"v":${value}}`);
  await file('v.jsonl.gz', gzipSync(`${lines.join('\n')}\n`));
  const { current, report } = await values({ file: 'v.jsonl.gz', userId: 'id', value: 'v' });
  assert.deepEqual(
    spelled.map((_, index) => current.get(`${index}`)),
    spelled.map(([, expected]) => expected),
  );
  assert.deepEqual(
    report,
    reportOf({ rows: 15, members: 11, numericIds: 11 }, { nullValues: 1, otherValues: 3 }),
  );
});

test('a byte order mark is no part of the first line, wherever its file comes in a folder', async (t) => {
  const { file, members, folder } = await startReading(t);
  await file('one/a.ndjson', '\ufeff{"id":"u1"}\r\n{"id":"u2"}\r\n');
  await file('many/a.ndjson.gz', gzipSync('\ufeff{"id":"u1"}\n'));
  await file('many/b.ndjson', '\ufeff{"id":"u2"}\n');
  await file('many/c.ndjson', '{"id":"u3"}\n');
  for (const [name, ids] of [
    ['one', ['u1', 'u2']],
    ['many', ['u1', 'u2', 'u3']],
  ] as const) {
    const { current } = await members({ file: name, userId: 'id' });
    assert.deepEqual([...current.keys()].sort(), ids);
  }
  await assert.rejects(members({ file: 'one', userId: 'user' }), {
    message: /\/one\/a\.ndjson has no column user; it has one column$/,
  });
  await file('wrong.ndjson', '\ufeff{"id":"u1"}\n["secret"]\n');
  await assert.rejects(members({ file: 'wrong.ndjson', userId: 'id' }), {
    message: /\/wrong\.ndjson:2: is not a JSON object in UTF-8$/,
  });
  assert.deepEqual(await readdir(path.join(folder, 'spilled')), [], 'copies that stay');
});

test('the id can be the value too', async (t) => {
  const { file, values } = await startReading(t);
  await file('v.ndjson', '{"id":"u"}\n');
  const { current } = await values({ file: 'v.ndjson', userId: 'id', value: 'id' });
  assert.deepEqual([...current], [['u', '"u"']]);
});

test('a line that is no object is named by its number, without what stands in it', async (t) => {
  const { file, members } = await startReading(t);
  for (const [line, name] of [
    ['{"id":"secret"', 'cut.ndjson'],
    ['["secret"]', 'list.ndjson'],
    ['{"id":"secret"} {"id":2}', 'two.ndjson'],
  ] as const) {
    await file(name, `{"id":"u1"}\n\n${line}\n{"id":"u2"}\n`);
    await assert.rejects(members({ file: name, userId: 'id' }), (error: Error) => {
      assert.match(error.message, new RegExp(`/${name}:3: is not a JSON object in UTF-8$`));
      return true;
    });
  }
  await file('latin.ndjson', Buffer.from('{"id":"secret\xe9"}\n', 'latin1'));
  await assert.rejects(members({ file: 'latin.ndjson', userId: 'id' }), {
    message: /\/latin\.ndjson:1: is not a JSON object in UTF-8$/,
  });
});

test('a line that is too long is named by its number', async (t) => {
  const { file, members } = await startReading(t);
  const long = `{"id":"${'a'.repeat(33 * 1024 * 1024)}"}`;
  await file('long.ndjson.gz', gzipSync(`{"id":"u1"}\n${long}\n{"id":"u2"}\n`));
  await assert.rejects(members({ file: 'long.ndjson.gz', userId: 'id' }), {
    message: /\/long\.ndjson\.gz:2: is longer than 32 MB$/,
  });
});

test('a field that no line has is an error that says how many the first has', async (t) => {
  const { file, members, values } = await startReading(t);
  await file('m.ndjson', '{"customer_id":1,"total":5}\n{"customer_id":2}\n');
  await assert.rejects(members({ file: 'm.ndjson', userId: 'id' }), {
    message: /\/m\.ndjson has no column id; it has 2 columns$/,
  });
  const from = { file: 'm.ndjson', userId: 'customer_id', value: 'sum' };
  await assert.rejects(values(from), { message: /has no column sum; it has 2 columns$/ });
});
