import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createContext } from '../../src/cli/context.ts';
import { serviceAccess } from '../../src/cli/letters/letters.ts';
import { deliveryKey, envelopeHeader } from '../../src/event/envelope.ts';
import { partitionOf } from '../../src/kafka/produce/partitioner.ts';
import { createOperations } from '../../src/operations/operations.ts';
import type { LentResources, WithConfig } from '../../src/resources/config/config-topic.ts';
import { deadLetterRecord } from './letters.ts';
import { startLetterbox, type Letterbox } from './letterbox.ts';
import { wholeEnvelope } from '../event/whole-envelope.ts';

let box: Letterbox;
/** Between the letters of the users u0 to u4 and those of u5 to u9. */
let halfTime: string;

interface Listed {
  readonly partition: number;
  readonly offset: number;
  readonly reason: string;
  readonly destination: string;
  readonly user: string;
  readonly messageId: string | null;
  readonly attempts: number | null;
  readonly redriven: string | null;
  readonly sentAgain: string | null;
}

before(async () => {
  box = await startLetterbox();
  const users = Array.from({ length: 10 }, (_, i) => `u${i}`);
  const crm = users.map((user) => deadLetterRecord({ destinationId: 'crm', user }));
  await box.put(crm.slice(0, 5));
  halfTime = new Date(await box.timeOfNext()).toISOString();
  await box.put([
    ...crm.slice(5),
    deadLetterRecord({ destinationId: 'big', user: 'u1', reason: 'expired' }),
    deadLetterRecord({ destinationId: 'off', user: 'a:b', reason: 'destination-disabled' }),
    deadLetterRecord({ destinationId: 'gone', user: 'u1', reason: 'destination-deleted' }),
    {
      ...deadLetterRecord({ destinationId: 'crm', user: 'odd' }),
      headers: { reason: 'malformed' },
    },
  ]);
});

after(() => box.close());

async function list(...args: readonly string[]): Promise<Listed[]> {
  const { stdout } = await box.run('list', '-o', 'json', ...args);
  return JSON.parse(stdout) as Listed[];
}

test('dead letters are listed by destination, reason, user and time', async () => {
  const all = await list();
  assert.equal(all.length, 14);
  const times =
    (await box.run('list', '-o', 'wide')).stdout.match(/\d{4}-\d\d-\d\dT[\d:.]+Z/g) ?? [];
  assert.deepEqual(times, times.toSorted(), 'not the oldest first');

  const [big, ...more] = await list('--destination', 'big');
  assert.equal(more.length, 0);
  assert.equal(big?.user, 'u1');
  assert.equal(big.messageId, 'm-big-u1');
  assert.equal(big.attempts, 3);
  assert.deepEqual(await list('--customer', 'acme'), [big], 'by customer');
  assert.deepEqual(
    (await list('--user', 'a:b')).map(({ destination }) => destination),
    ['off'],
  );
  assert.equal((await list('--user', 'u1')).length, 3);
  assert.equal((await list('--reason', 'http-410')).length, 10);
  assert.equal((await list('--reason', 'http-4xx,expired')).length, 11);
  assert.equal((await list('--reason', 'http-5xx')).length, 0);
  assert.deepEqual(
    (await list('--reason', 'malformed')).map(({ messageId }) => messageId),
    [null],
  );

  assert.equal((await list('--destination', 'crm', '--until', halfTime)).length, 5);
  assert.equal((await list('--destination', 'crm', '--since', halfTime)).length, 6);
  assert.deepEqual(
    (await list('--message', 'm-crm-u1')).map(({ user }) => user),
    ['u1'],
  );
  assert.match((await box.run('list')).stdout, /^\d:\d+ +\S+ +http-410 +crm +m-crm-u3$/m);
});

test('dead letters are counted by day, destination and reason', async () => {
  const { stdout } = await box.run('summary', '-o', 'json');
  const rows = JSON.parse(stdout) as { day: string; count: number }[];
  assert.equal(
    rows.reduce((sum, { count }) => sum + count, 0),
    (await list()).length,
  );
  const [most] = rows;
  assert.partialDeepStrictEqual(most, { destination: 'crm', reason: 'http-410', sentAgain: 0 });
  assert.match(most?.day ?? '', /^\d{4}-\d\d-\d\d$/);
  const table = await box.run('summary', '--destination', 'big', '--since', '1h');
  assert.match(
    table.stdout,
    /^DAY +DESTINATION +REASON +EVENTS +SENT AGAIN\n\S+ +big +expired +1 +0\n$/,
  );
});

test('with a limit, the list has the oldest of all partitions', async () => {
  const all = await list();
  const place = ({ partition, offset }: Listed): string => `${partition}:${offset}`;
  for (const limit of [1, 3, 8])
    assert.deepEqual(
      (await list('--limit', String(limit))).map(place),
      all.slice(0, limit).map(place),
    );
  const { stderr } = await box.run('list', '--limit', '3');
  assert.match(stderr, /^there are more than 3; /m);
});

test('with destination and user only the partition of their key is read', async () => {
  const elsewhere = (partitionOf(deliveryKey('crm', 'moved'), 3) + 1) % 3;
  await box.put([
    { ...deadLetterRecord({ destinationId: 'crm', user: 'moved' }), partition: elsewhere },
    deadLetterRecord({ destinationId: 'crm', user: 'moved' }),
  ]);
  const both = ['--destination', 'crm', '--user', 'moved'];
  const narrow = await box.run('list', ...both);
  assert.equal(narrow.stderr, '');
  assert.equal((await list(...both)).length, 1);

  const scan = await box.run('list', ...both, '--scan');
  assert.match(scan.stderr, /^reading all 3 partitions \(1\d records\)$/m);
  assert.equal((await list(...both, '--scan')).length, 2);
});

test('what reads all partitions shows how far it is', async () => {
  for (const args of [['list'], ['redrive', '--dry-run']]) {
    const { code, stderr } = await box.endOnTerminal(...args);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^reading all 3 partitions \(1\d records\)\n/);
    assert.match(stderr, /0 of 1\d records read/);
  }
});

test('a dead letter is shown with its envelope and its body, and without anything secret', async () => {
  const [{ partition, offset } = assert.fail()] = await list('--destination', 'big');
  const { stdout } = await box.run('show', `${partition}:${offset}`);
  for (const line of [
    /^reason +expired$/m,
    /^detail +answered 500$/m,
    /^destination +big$/m,
    /^user +u1$/m,
    /^message id +m-big-u1$/m,
    /^type +track$/m,
    /^source +shop$/m,
    /^attempts +3$/m,
    /^call time +2026-11-20T/m,
    /^sent again +-$/m,
    /\n\n\{\n {2}"event": "Order",\n {2}"note": "a\\u202eb"\n\}\n$/,
  ])
    assert.match(stdout, line);
  assert.doesNotMatch(stdout, /top-secret/);
  const json = await box.run('show', `${partition}:${offset}`, '-o', 'json');
  assert.partialDeepStrictEqual(JSON.parse(json.stdout), {
    partition,
    offset,
    messageId: 'm-big-u1',
    detail: 'answered 500',
    answer: 'no such list',
    body: { event: 'Order', note: 'a\u202eb' },
  });
});

test('to send all of them again, somebody has to say yes', async () => {
  const before = await box.written();
  const alone = await box.end('redrive');
  assert.equal(alone.code, 2);
  assert.match(
    alone.stderr,
    /^postrider: this sends all 1\d events again, except those that were sent before: select with options or places, or add --yes\n$/,
  );
  for (const answer of ['n\n', '']) {
    const asked = box.beginOnTerminal('redrive');
    asked.stdin.end(answer);
    const { code, stderr } = await asked.ended;
    assert.equal(code, 1, stderr);
    assert.match(stderr, /sent before\. Continue\? \[y\/N\] /);
    assert.match(stderr, /postrider: not confirmed, so nothing was done\n$/);
  }
  assert.deepEqual(await box.written(), before);
});

test('a dry run counts by reason and destination, and writes nothing', async () => {
  const before = await box.written();
  const { stdout, stderr } = await box.run('redrive', '--dry-run');
  assert.match(stdout, /^REASON +DESTINATION +EVENTS\nhttp-410 +crm +12\nexpired +big +1\n$/);
  assert.match(
    stderr,
    /^1 event left out, because their destination is deleted .*: 1 gone; --all-destinations/m,
  );
  assert.match(stderr, /^1 event left out, because their destination is disabled .*: 1 off; /m);
  assert.match(stderr, /^1 event left out, because there is no event in it/m);
  const acme = await box.run('redrive', '--dry-run', '--customer', 'acme');
  assert.match(acme.stdout, /^REASON +DESTINATION +EVENTS\nexpired +big +1\n$/);
  assert.doesNotMatch(acme.stderr, /left out/);
  assert.deepEqual(await box.written(), before);
});

test('a redriven event keeps its id, its bytes and its age, and gets a fresh clock', async () => {
  const beforeMs = Date.now();
  const { stdout } = await box.run('redrive', '--destination', 'big');
  assert.match(stdout, /^1 event sent again, in redrive [0-9a-f]{8}$/m);
  const [record = assert.fail(), ...more] = await box.delivery('big');
  assert.equal(more.length, 0);
  assert.equal(record.key?.toString(), 'big:u1');
  assert.equal(record.value?.toString(), '{"event":"Order","note":"a\u202eb"}');
  const envelope = box.envelopeOf(record);
  const { redrivenMs = 0, configOffset } = envelope;
  const expected = wholeEnvelope({
    destinationId: 'big',
    sourceId: 'shop',
    messageId: 'm-big-u1',
    type: 'track',
    appendTimeMs: Date.parse('2026-11-20T10:00:00.000Z'),
    attempts: 0,
    redrivenMs,
    configOffset,
  });
  assert.deepEqual(envelope, expected);
  assert.ok(redrivenMs >= beforeMs && redrivenMs <= Date.now());
  assert.ok(
    configOffset > 0,
    'a worker that knows less could still take the destination for deleted',
  );
  assert.deepEqual(Object.keys(record.headers), ['postrider']);
  const [listed] = await list('--destination', 'big');
  assert.ok(Date.parse(listed?.sentAgain ?? '') >= beforeMs);
});

test('what was sent again is not sent twice, unless asked for', async () => {
  const once = await box.run('redrive', '--destination', 'big');
  assert.match(once.stdout, /^0 events sent again/m);
  assert.match(once.stderr, /^1 event left out, sent again before; --again sends them too$/m);
  const again = await box.run('redrive', '--destination', 'big', '--again');
  assert.match(again.stdout, /^1 event sent again/m);
  const goOn = /--again=\S+/.exec(again.stderr)?.[0] ?? assert.fail(again.stderr);
  const later = await box.run('redrive', '--destination', 'big', goOn);
  assert.match(later.stdout, /^0 events sent again/m);
  assert.equal((await box.delivery('big')).length, 2);
});

test('single letters are redriven by their places, and also to where they would come back from', async () => {
  const [{ partition, offset } = assert.fail()] = await list('--destination', 'gone');
  const place = `${partition}:${offset}`;
  const left = await box.run('redrive', place);
  assert.match(left.stdout, /^0 events sent again/m);
  assert.match(left.stderr, /: 1 gone; --all-destinations sends them too$/m);
  const sent = await box.run('redrive', place, '--all-destinations');
  assert.match(sent.stdout, /^destination-deleted +gone +1$/m);
  const [record = assert.fail()] = await box.delivery();
  assert.equal(record.key?.toString(), 'gone:u1');
});

test('what makes no sense is refused in one sentence that says what is allowed', async () => {
  for (const [args, sentence] of [
    [['list', '--reason', 'odd'], /Allowed: expired, .*http-<status>, http-4xx\.$/m],
    [['list', '--since', 'yesterday'], /Allowed: a duration ago, e.g. 2h/],
    [['list', '--since', '1h', '--until', '2h'], /--since must be earlier than --until$/m],
    [['list', '--limit', '0'], /Allowed: a whole number from 1 on\.$/m],
    [['show', '1-2'], /Allowed: <partition>:<offset>/],
    [['redrive', '1:2:3'], /Allowed: <partition>:<offset>/],
    [['redrive', '0:0', '--destination', 'crm'], /give either places or options that select/],
    [['redrive', '0:0', '--customer', 'acme'], /give either places or options that select/],
    [
      ['list', '--destination', 'big', '--customer', 'acme'],
      /give either .* or --customer, not both$/m,
    ],
    [['redrive', '--customer', 'acme', '--earlier'], /--earlier needs --destination/],
    [['redrive', '--rate', 'fast'], /Allowed: a rate such as 100\/s/],
  ] as const) {
    const { code, stdout, stderr } = await box.end(...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, sentence);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    assert.equal(stdout, '');
  }
  const nowhere = await box.end('redrive', '0:999999');
  assert.equal(nowhere.code, 1);
  assert.match(
    nowhere.stderr,
    /^postrider: there is no record 0:999999 in .*dead-letter; partition 0/m,
  );
});

test('a destination that is unknown now is only warned of, and no match is said', async () => {
  const gone = await box.run('list', '--destination', 'gone');
  assert.match(gone.stderr, /^there is no destination gone now; known are: big, crm, off$/m);
  assert.match(gone.stdout, /destination-deleted/);
  const none = await box.run('list', '--user', 'nobody', '-o', 'json');
  assert.equal(none.stdout, '[]\n');
  assert.match(none.stderr, /^no event matches$/m);
  assert.match((await box.run('redrive', '--user', 'nobody')).stderr, /^no event matches$/m);
});

test('a letter that says what cannot be true makes no command fail', async () => {
  const { headers, ...letter } = deadLetterRecord({ destinationId: 'crm', user: 'odd times' });
  const json = JSON.parse(headers[envelopeHeader] ?? '') as object;
  const said = JSON.stringify({ ...json, a: 2 ** 53 - 1 });
  await box.put([{ ...letter, headers: { ...headers, [envelopeHeader]: said } }]);
  const selected = ['--user', 'odd times'];
  const table = (await box.run('list', ...selected, '-o', 'wide')).stdout;
  assert.match(table, /^\d:\d+ .* crm +- +odd times /m);
  const [{ partition, offset, messageId } = assert.fail()] = await list(...selected);
  assert.equal(messageId, null);
  const { stdout } = await box.run('show', `${partition}:${offset}`);
  assert.match(stdout, /^envelope +\{.*"a":9007199254740991,.*\}$/m);
  for (const dryRun of [['--dry-run'], []]) {
    const { stderr } = await box.run('redrive', ...selected, ...dryRun);
    assert.match(stderr, /^1 event left out, because there is no event in it that can be read$/m);
  }
});

test('actions read nothing of the configuration where their process follows it already', async () => {
  await box.put([deadLetterRecord({ destinationId: 'crm', user: 'lent' })]);
  const access = await serviceAccess(createContext(box.postrider.environment));
  const { topology, withConfig } = access;
  const topics = { ...topology.topics, config: 'a-topic-that-nobody-can-read' };
  await withConfig(async (config) => {
    const lent = { ...access, topology: { ...topology, topics }, withConfig: lending(config) };
    const operations = createOperations(lent, () => assert.fail('nothing is tested'));
    let found = 0;
    const run = { signal: new AbortController().signal, onSent: () => (found += 1) };
    await operations.count({ destination: 'crm', user: 'lent' })(run);
    assert.equal(found, 1);
    await operations.pause('crm');
    await assert.rejects(operations.pause('crn'), {
      message: /no destination crn; did you mean crm/,
    });
  });
  assert.match((await box.postrider.run(['pause', 'crm'])).stdout, /is paused already/);
});

function lending(config: LentResources): WithConfig {
  return (use) => use(config);
}
