import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectUserIds } from '../../src/deletion/user-ids.ts';
import { deliveryKey, userOffset } from '../../src/event/envelope.ts';
import { DeletedUsers } from '../../src/resources/fence/deleted-users.ts';
import { deletionRecord } from '../../src/resources/fence/fence.ts';

function fromFile(text: string | Buffer, ...args: readonly string[]): readonly string[] {
  return collectUserIds(args, { name: 'users.txt', bytes: Buffer.from(text) }).ids;
}

test('arguments and lines are taken in their order, each once', () => {
  const users = collectUserIds(['b', 'a', 'b'], { name: 'f', bytes: Buffer.from('c\na\n') });
  assert.deepEqual(users, { ids: ['b', 'a', 'c'], repeated: 2, emptyLines: 0 });
});

test('line ends of any system, a byte order mark and a missing last line end are no part of an id', () => {
  assert.deepEqual(fromFile('\ufeffa\r\nb\nc'), ['a', 'b', 'c']);
});

test('empty lines are skipped and counted', () => {
  const users = collectUserIds([], { name: 'f', bytes: Buffer.from('\na\n\n\nb\n') });
  assert.deepEqual(users, { ids: ['a', 'b'], repeated: 0, emptyLines: 3 });
});

test('ids are taken as they are: colons, commas, blanks inside, any script', () => {
  const ids = ['a:b', 'x,y', 'Jane Doe', 'ü', '用户', '007'];
  assert.deepEqual(fromFile(ids.join('\n')), ids);
  assert.deepEqual(collectUserIds([' meant so '], undefined).ids, [' meant so ']);
});

for (const [what, args, file, code, message] of [
  ['nothing', [], undefined, 'usage', /^name users, as arguments or with --file$/],
  ['an empty argument', ['a', ''], undefined, 'usage', /^a user id is blank$/],
  ['a blank argument', [' \t'], undefined, 'usage', /^a user id is blank$/],
  ['an empty file', [], '', 'input-invalid', /^users.txt names no user$/],
  ['a file of empty lines', [], '\n\r\n', 'input-invalid', /^users.txt names no user$/],
  ['a blank line', [], 'a\n \n', 'input-invalid', /^users.txt: line 2 is blank; no user was/],
  [
    'blanks around ids',
    [],
    'a\nb \n\tc\n',
    'input-invalid',
    /^users.txt: line 2 has blanks around its id .*, and 1 more/,
  ],
  [
    'the header of a CSV file',
    [],
    'user_id\nu1\n',
    'input-invalid',
    /line 1 is the header of a CSV/,
  ],
  ['a quoted id', [], 'u1\n"u2"\n', 'input-invalid', /line 2 has its id in quotes, as CSV has/],
  ['bytes that are no text', [], Buffer.from([0x61, 0xff]), 'input-invalid', /is not UTF-8 text$/],
  [
    'a line that is no id',
    [],
    'x'.repeat(32_769),
    'input-invalid',
    /line 1 has more than 32768 bytes, which no call can carry/,
  ],
] as const) {
  test(`${what} is refused with a sentence`, () => {
    const given = file === undefined ? undefined : { name: 'users.txt', bytes: Buffer.from(file) };
    assert.throws(() => collectUserIds(args, given), { name: 'PostriderError', code, message });
  });
}

test('half an emoji is given as it is printed, and stops the events whose keys have what UTF-8 makes of it', () => {
  const ids = [String.raw`cut\ud83d`, '\ufffd'];
  const users = collectUserIds(ids.slice(0, 1), { name: 'f', bytes: Buffer.from(ids.join('\n')) });
  assert.deepEqual(users, { ids: ['cut\ud83d', '\ufffd'], repeated: 1, emptyLines: 0 });
  const deleted = new DeletedUsers(Infinity);
  const { key } = deletionRecord('deletions', { sourceId: 'shop', userId: 'cut\ud83d', time: '' });
  deleted.add(Buffer.from(String(key)), 1_000);
  const eventKey = Buffer.from(deliveryKey('crm', 'cut\ud83d'));
  assert.equal(deleted.timeMs('shop', eventKey, userOffset('crm')), 1_000);
});
