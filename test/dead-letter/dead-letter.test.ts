import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterView } from '../../src/dead-letter/dead-letter-view.ts';
import {
  notWhole,
  readDeadLetter,
  redriven,
  type DeadLetter,
} from '../../src/dead-letter/dead-letter.ts';
import { LetterCounts, presentLetter, presentLetters } from '../../src/dead-letter/present.ts';
import { Redrives } from '../../src/dead-letter/redrives.ts';
import { isSelectedDeadLetter } from '../../src/dead-letter/dead-letter.ts';
import { WaysBack } from '../../src/dead-letter/ways-back.ts';
import type { DeadLetterReason } from '../../src/delivery/outcome.ts';
import { deadLetterReasons, isDeadLetterReason } from '../../src/event/dead-letter-reasons.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import type { StoredResource } from '../../src/resources/config/stored-resources.ts';
import type { Destination } from '../../src/resources/resource.ts';
import { deadLetterRecord, topology } from './letters.ts';
import { wholeEnvelope } from '../event/whole-envelope.ts';

const none = new Redrives('p.dead-letter');

function letter(
  event: { destinationId?: string; user?: string; reason?: string } = {},
  changes: { value?: null; envelope?: string } = {},
): DeadLetter {
  const { destinationId = 'crm', user = 'u1', reason = 'http-410' } = event;
  const { key, value, headers } = deadLetterRecord({ destinationId, user, reason });
  const all = {
    ...headers,
    ...(changes.envelope === undefined ? {} : { [envelopeHeader]: changes.envelope }),
  };
  return readDeadLetter({
    topic: 'p.dead-letter',
    partition: 1,
    offset: 7,
    timestampMs: 2_000,
    key: Buffer.from(String(key)),
    value: changes.value === null ? null : Buffer.from(String(value)),
    headers: Object.fromEntries(
      Object.entries(all).map(([name, text]) => [name, Buffer.from(text)]),
    ),
  });
}

/** The reasons that delivery gives, by its own type: another one here or there does not compile. */
const delivered: Readonly<Record<Exclude<DeadLetterReason, `http-${number}`>, string>> =
  deadLetterReasons;

test('operators may name exactly the reasons that delivery gives, and classes of statuses', () => {
  for (const reason of [...Object.keys(delivered), 'http-301', 'http-410', 'http-4xx'])
    assert.ok(isDeadLetterReason(reason), reason);
  for (const reason of ['', 'http-', 'http-41', 'http-4x', 'http-xxx', 'http-4100', 'Expired'])
    assert.ok(!isDeadLetterReason(reason), reason);
});

test('dead letters are selected by destination, user, reason and class of reasons', () => {
  const one = letter({ user: 'a:b' });
  assert.ok(isSelectedDeadLetter(one, {}));
  assert.ok(
    isSelectedDeadLetter(one, {
      destinations: new Set(['ads', 'crm']),
      user: 'a:b',
      reasons: new Set(['http-410']),
    }),
  );
  assert.ok(isSelectedDeadLetter(one, { reasons: new Set(['expired', 'http-4xx']) }));
  assert.ok(!isSelectedDeadLetter(one, { reasons: new Set(['http-5xx', 'http-41']) }));
  assert.ok(!isSelectedDeadLetter(one, { destinations: new Set(['cr', 'ads']) }));
  assert.ok(!isSelectedDeadLetter(one, { user: 'b' }));
  assert.ok(isSelectedDeadLetter(one, { messageId: 'm-crm-a:b' }));
  assert.ok(!isSelectedDeadLetter(one, { messageId: 'm-crm' }));
  const half = letter({ user: 'cut\ud83d' });
  for (const user of ['cut\ufffd', String.raw`cut\ud83d`]) {
    assert.ok(isSelectedDeadLetter(half, { user, messageId: `m-crm-${user}` }), user);
    assert.ok(!isSelectedDeadLetter(one, { user }));
  }
});

test('a letter without an envelope is known by its key, shown as it is, and not sent', () => {
  const broken = letter({}, { envelope: '{"v":9}' });
  assert.deepEqual([broken.destinationId, broken.user], ['crm', 'u1']);
  assert.match(presentLetter(broken, none, 'table', deadLetterView), /^envelope +\{"v":9\}$/m);
  assert.ok(notWhole(broken));
  assert.ok(notWhole(letter({}, { value: null })));
  assert.equal(notWhole(letter()), undefined);
});

test('a letter that says what cannot be true is listed, shown as it is, and not sent', () => {
  const { headers } = deadLetterRecord({ destinationId: 'crm', user: 'u1' });
  const json = JSON.parse(headers[envelopeHeader] ?? '') as object;
  const latestMs = 8.64e15;
  for (const key of ['a', 'r', 'x'])
    for (const timeMs of [2 ** 53 - 1, latestMs + 1, -1]) {
      const odd = letter({}, { envelope: JSON.stringify({ ...json, [key]: timeMs }) });
      const shown = presentLetter(odd, none, 'table', deadLetterView);
      assert.match(shown, new RegExp(`^envelope +.*"${key}":${timeMs}[,}]`, 'm'));
      const table = presentLetters([odd], none, 'wide', deadLetterView);
      assert.match(table, /\n1:7 .*\bcrm +- +u1\b/);
      assert.match(presentLetters([odd], none, 'json', deadLetterView), /"callTime": null/);
      assert.deepEqual(notWhole(odd), {
        why: 'because there is no event in it that can be read',
      });
    }
  const last = letter({}, { envelope: JSON.stringify({ ...json, a: latestMs, x: latestMs }) });
  const shown = presentLetter(last, none, 'table', deadLetterView);
  assert.match(shown, /^call time +\+275760-09-13T00:00:00.000Z$/m);
});

test('an event that a newer release wrote is left to that release', () => {
  const newer = letter({}, { envelope: '{"v":3,"other":"fields"}' });
  assert.deepEqual(notWhole(newer), {
    why: 'because a newer release wrote them in a format that this one does not know',
    remedy: 'that release can send them',
  });
  assert.equal(newer.destinationId, 'crm');
});

test('a redriven event has a fresh clock and nothing else is new', () => {
  const before = letter();
  const record = redriven(before, { topic: 't', configOffset: 9 }, 5_000);
  assert.deepEqual(
    [record.topic, record.key, record.value],
    ['t', before.record.key, before.record.value],
  );
  const expected = wholeEnvelope({
    destinationId: 'crm',
    sourceId: 'shop',
    messageId: 'm-crm-u1',
    type: 'track',
    configOffset: 9,
    appendTimeMs: before.envelope?.appendTimeMs ?? NaN,
    attempts: 0,
    redrivenMs: 5_000,
  });
  const header = Buffer.from(String(record.headers?.[envelopeHeader]));
  assert.deepEqual(decodeEnvelope(header), expected);
});

test('a redriven event goes to the partition of its destination’s others', () => {
  const way = { topic: 't', configOffset: 9 };
  assert.equal(redriven(letter(), way, 5_000).partitionKey, undefined);
  const record = redriven(letter(), { ...way, partitionKey: 'crm' }, 5_000);
  assert.equal(record.partitionKey, 'crm');
});

test('the list says when an event was redriven that failed again', () => {
  const first = letter();
  const { headers = {} } = redriven(first, { topic: 't', configOffset: 0 }, 5_000);
  const second = letter({}, { envelope: String(headers[envelopeHeader]) });
  const table = presentLetters([first, second], none, 'wide', deadLetterView);
  assert.deepEqual(
    table.split('\n').map((line) => line.includes('1970-01-01T00:00:05.000Z')),
    [false, false, true],
  );
  const json = JSON.parse(presentLetters([first, second], none, 'json', deadLetterView)) as {
    redriven: string | null;
  }[];
  assert.deepEqual(
    json.map((each) => each.redriven),
    [null, '1970-01-01T00:00:05.000Z'],
  );
});

test('the answer of the endpoint is shown, as far as it was kept', () => {
  const { record } = letter();
  // Cut in the middle of the last character.
  const answer = Buffer.from('{"error":"gone\u202e"} é').subarray(0, -1);
  const answered = readDeadLetter({ ...record, headers: { ...record.headers, answer } });
  const shown = presentLetter(answered, none, 'table', deadLetterView);
  assert.match(shown, /^answer +\{"error":"gone\\u202e"\} $/m);
  const json = JSON.parse(presentLetter(answered, none, 'json', deadLetterView)) as object;
  assert.partialDeepStrictEqual(json, {
    messageId: 'm-crm-u1',
    answer: '{"error":"gone\u202e"} ',
    body: { event: 'Order', note: 'a\u202eb' },
  });
  const without = readDeadLetter({ ...record, headers: {} });
  assert.match(presentLetter(without, none, 'table', deadLetterView), /^answer +-$/m);
});

test('dead letters are counted by reason and destination', () => {
  const counts = new LetterCounts(deadLetterView);
  for (const destinationId of ['crm', 'big', 'crm']) counts.add(letter({ destinationId }));
  const lines = [
    'REASON    DESTINATION  EVENTS',
    'http-410  crm          2',
    'http-410  big          1',
  ];
  assert.equal(counts.present('event'), lines.join('\n'));
});

test('an event goes back to the topic that its destination has now', async () => {
  const destination: Destination = {
    kind: 'Destination',
    name: 'D',
    sources: [],
    enabled: true,
    payload: 'standard',
    id: 'crm',
    webhooks: [{ url: 'https://e.test', headers: {} }],
    topic: 'shared',
  };
  const stored = (changes: Partial<Destination>): [string, StoredResource] => {
    const name = { ...destination, ...changes };
    return [`Destination/${name.id}`, { name, uid: name.uid, sealed: { sealed: name } }];
  };
  const resources = new Map<string, StoredResource>([
    stored({}),
    stored({ id: 'big', topic: 'dedicated' }),
    stored({ id: 'limited', rateLimit: 1 }),
    stored({ id: 'off', enabled: false }),
    ['Destination/odd', { name: { ...destination, id: 'odd' } }],
  ]);
  const config = { resources, offset: 4, fresh: () => Promise.resolve() };
  const paused = new Set(['big', 'gone']);
  const pauses = { has: ({ id }: { readonly id: string }) => paused.has(id) };
  const ways = new WaysBack(config, topology, pauses);
  const common = { configOffset: 4 };
  const shared = { topic: 'p.delivery', partitionKey: undefined, ...common };
  assert.deepEqual(ways.of(letter()), shared);
  const big = { ...shared, topic: 'p.delivery.big' };
  assert.deepEqual(ways.of(letter({ destinationId: 'big' })), big);
  const limited = { ...shared, partitionKey: 'limited' };
  assert.deepEqual(ways.of(letter({ destinationId: 'limited' })), limited);
  assert.equal(await ways.objection(letter(), { unreachable: '--that' }), undefined);
  const objections = await Promise.all(
    ['off', 'gone', 'odd', 'big'].map((destinationId) =>
      ways.objection(letter({ destinationId }), { unreachable: '--that' }),
    ),
  );
  assert.deepEqual(
    objections.map((objection) => [
      objection?.name,
      /disabled|deleted|cannot|paused/.exec(objection?.why ?? '')?.[0],
    ]),
    [
      ['off', 'disabled'],
      ['gone', 'deleted'],
      ['odd', 'cannot'],
      ['big', 'paused'],
    ],
  );
  const former = letter();
  const own = wholeEnvelope({ ...(former.envelope ?? assert.fail()), uid: 'second' });
  resources.set(...stored({ uid: 'second' }));
  assert.equal(await ways.objection({ ...former, envelope: own }, { unreachable: '' }), undefined);
  assert.deepEqual(await ways.objection(former, { unreachable: '', earlier: '--earlier' }), {
    why: 'because they are of an earlier destination of this id',
    name: 'crm',
    remedy: '--earlier',
  });
  const adopted = ways.adopted(former);
  assert.equal(await ways.objection(adopted, { unreachable: '' }), undefined);
  const sent = redriven(adopted, ways.of(adopted), 9).headers?.[envelopeHeader] ?? '';
  assert.equal(decodeEnvelope(Buffer.from(sent))?.uid, 'second');
  resources.set(...stored({ topic: 'dedicated' }));
  assert.equal(ways.of(letter()).topic, 'p.delivery.crm', 'by the configuration of the beginning');
});
