import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import confluent from '@kafkajs/confluent-schema-registry';
import { startReceiver, type Receiver } from '../../src/dev/receiver.ts';
import { deliveryKey } from '../../src/event/envelope.ts';
import type { DestinationStory } from '../../src/explain/destination-story.ts';
import type { Story } from '../../src/explain/story.ts';
import { createKafka } from '../../src/kafka/client.ts';
import { partitionOf } from '../../src/kafka/produce/partitioner.ts';
import { createProducer, type Producer } from '../../src/kafka/produce/producer.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { eventually } from '../harness/eventually.ts';
import { startFaultyRegistry, type FaultyRegistry } from '../harness/registry.ts';
import { install, type Installation, type RunningRole } from '../harness/postrider.ts';

/** One deployment, in which every call has another fate. */

let receiver: Receiver;
let postrider: Installation;
let producer: Producer;
let registry: FaultyRegistry;
let roles: RunningRole[] = [];

before(async () => {
  receiver = await startReceiver({
    port: 0,
    answer: ({ path, body }) => {
      if (path === '/refusing' && !body.includes('u-welcome'))
        return { status: 422, body: 'no such list' };
      if (path === '/failing') return { status: 503, body: 'busy' };
      return { status: 200 };
    },
  });
  // What fails once waits for longer than the test takes.
  postrider = await install({ RETRY_TIERS: '30m' });
  const { KAFKA_BROKERS: brokers = '' } = postrider.environment;
  const kafka = createKafka({ brokers: brokers.split(','), clientId: 'test' }, silentLogger);
  producer = await createProducer(kafka, { log: silentLogger });
  await run(['topics', '--create']);
  await apply([
    { kind: 'Source', id: 'shop', name: 'Shop', writeKeys: ['wk'] },
    destination('taking'),
    destination('refusing', { eventNames: ['Refused'] }),
    destination('failing', { eventNames: ['Failed'] }),
    destination('pages', { events: ['page'] }),
    destination('off', { enabled: false }),
  ]);
  registry = await startFaultyRegistry();
  roles = [await postrider.start('router', { SCHEMA_REGISTRY_URL: registry.url })];
});

after(async () => {
  await Promise.all(roles.map((role) => role.kill('SIGKILL')));
  await producer.close(1_000);
  await receiver.close();
  await registry.stop();
});

function destination(id: string, more: object = {}): object {
  const webhooks = [{ url: `${receiver.url}/${id}` }];
  return { kind: 'Destination', id, name: id, sources: ['shop'], webhooks, ...more };
}

async function apply(resources: readonly object[]): Promise<void> {
  await run(['apply', '-f', '-'], JSON.stringify(resources));
}

async function run(args: readonly string[], stdin: string = ''): Promise<string> {
  const { code, stdout, stderr } = await postrider.run(args, { stdin });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function produce(messageId: string, event: string, userId: string = 'u1'): Promise<void> {
  const call = { type: 'track', event, messageId, userId };
  await run(['produce', '--source', 'shop'], JSON.stringify(call));
}

/** Of `rejected list`. */
interface Rejected {
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
}

async function explain(messageId: string, ...more: readonly string[]): Promise<Story> {
  const user = more.length === 0 ? ['--user', 'u1'] : more;
  return JSON.parse(await run(['explain', messageId, ...user, '-o', 'json'])) as Story;
}

/** Once this holds. */
async function explained(
  messageId: string,
  check: (by: (id: string) => DestinationStory, story: Story) => void,
  ...more: readonly string[]
): Promise<Story> {
  return eventually(async () => {
    const story = await explain(messageId, ...more);
    check(
      (id) => story.destinations.find((each) => each.destination === id) ?? assert.fail(id),
      story,
    );
    return story;
  });
}

test('a call that no worker has come to is on its way, and one whose user was deleted then is dropped', async () => {
  await produce('m-dropped', 'Left', 'u-gone');
  const user = ['--user', 'u-gone'];
  await explained(
    'm-dropped',
    (by, { received }) => {
      assert.equal(received[0]?.outcome, 'routed');
      assert.equal(by('taking').state, 'on-its-way');
      assert.match(by('taking').place ?? '', /\.delivery \d:\d+$/);
    },
    ...user,
  );
  await run(['delete-user', 'u-gone', '--yes']);
  roles.push(await postrider.start('delivery'));
  await explained(
    'm-dropped',
    (by) => {
      assert.equal(by('taking').state, 'dropped');
      assert.equal(by('taking').detail, 'its user was deleted after the call');
    },
    ...user,
  );
});

test('a delivered call tells when, and why other destinations did not want it', async () => {
  await produce('m-taken', 'Taken');
  const story = await explained('m-taken', (by, { received }) => {
    assert.equal(by('taking').state, 'delivered');
    // The router commits later than it writes.
    assert.partialDeepStrictEqual(received, [
      { outcome: 'routed', detail: 'to 1 of 5 destinations' },
    ]);
  });
  assert.deepEqual(
    [story.user, story.source, story.type, story.event],
    ['u1', 'shop', 'track', 'Taken'],
  );
  const unwanted = story.destinations
    .filter(({ state }) => state === 'unwanted')
    .map(({ destination: id, detail, unwanted: why }) => [id, why?.unwanted, why?.by, detail]);
  assert.deepEqual(unwanted, [
    ['failing', 'event-names', 'then', 'its eventNames are "Failed"; this is "Taken"'],
    ['off', 'disabled', 'then', 'it is disabled'],
    ['pages', 'events', 'then', 'its events are page; this is track'],
    ['refusing', 'event-names', 'then', 'its eventNames are "Refused"; this is "Taken"'],
  ]);
  const text = await run(['explain', 'm-taken', '--user', 'u1']);
  assert.match(
    text,
    /^message id {2}m-taken\ncall {8}track "Taken"\nuser {8}u1\nsource {6}shop\n\n/,
  );
  assert.match(text, /^taking +delivered +\S+Z +at attempt 1, in \d+ ms$/m);
  assert.match(text, /^\S+Z +- +received in \S+ingest \d:\d+: routed, to 1 of 5 destinations$/m);
  assert.match(text, /^\S+Z +taking +attempt 1 delivered, 200 in \d+ ms$/m);
});

test('what was decided is told by the configuration of then, also when that has changed', async () => {
  await produce('m-then', 'Then');
  await explained('m-then', (by) => {
    assert.equal(by('taking').state, 'delivered');
  });
  await apply([destination('later'), destination('failing', { eventNames: ['Failed', 'Then'] })]);
  const story = await explain('m-then');
  const told = story.destinations.map(({ destination: id, unwanted }) => [id, unwanted?.unwanted]);
  assert.deepEqual(told, [
    ['taking', undefined],
    ['failing', 'event-names'],
    ['later', 'not-connected'],
    ['off', 'disabled'],
    ['pages', 'events'],
    ['refusing', 'event-names'],
  ]);
  await run(['delete', 'destination', 'later', '--yes']);
});

test('a call that fails waits, and tells where and until when; one that repeats it is a duplicate', async () => {
  await produce('m-failed', 'Failed');
  const waiting = await explained('m-failed', (by) => {
    assert.equal(by('failing').state, 'waiting');
    assert.match(by('failing').place ?? '', /\.retry\.30m \d:\d+$/);
    assert.equal(by('failing').happened.length, 3);
    assert.equal(by('failing').detail, 'after 1 attempt; last answer 503 "busy"');
  });
  const failing = waiting.destinations.find(({ destination: id }) => id === 'failing');
  const attemptedMs = Date.parse(failing?.happened[1]?.at ?? '');
  const minutes = (time: string | null | undefined): number =>
    (Date.parse(time ?? '') - attemptedMs) / 60_000;
  assert.ok(minutes(failing?.until) > 20 && minutes(failing?.until) < 40);
  assert.ok(minutes(failing?.deadline) > 239 && minutes(failing?.deadline) < 241);
  assert.match(failing?.happened[1]?.what ?? '', /^attempt 1 failed: answered 503 "busy"/);

  await produce('m-failed', 'Failed');
  const story = await explained('m-failed', (_by, { received }) => {
    assert.deepEqual(
      received.map(({ outcome }) => outcome),
      ['routed', 'duplicate'],
    );
  });
  const [first, second] = story.received;
  assert.equal(
    second?.detail,
    `it repeats the call of ${first?.at}, ${first?.topic} ${first?.place}`,
  );
});

test('a dead letter tells what its endpoint said, and a redrive what became of it', async () => {
  await produce('m-refused', 'Refused');
  await explained('m-refused', (by) => {
    assert.equal(by('refusing').state, 'dead-letter');
    assert.equal(by('refusing').detail, 'http-422: answered 422; it said "no such list"');
  });
  await run(['dead-letters', 'redrive', '--message', 'm-refused']);
  const story = await explained('m-refused', (by) => {
    const what = by('refusing').happened.map((each) => each.what.replace(/ .*/s, ''));
    assert.deepEqual(what, ['routed', 'attempt', 'dead', 'sent', 'attempt', 'dead']);
  });
  assert.match(JSON.stringify(story), /sent again from \S+dead-letter \d:\d+/);
});

test('of users whose calls have the same message id, each has a story of its own', async () => {
  const partition = (user: string): number => partitionOf(deliveryKey('refusing', user), 3);
  const users = Array.from({ length: 100 }, (_, number) => `u-refused-${number}`);
  const refused = users.find((user) => partition(user) === partition('u-welcome')) ?? '';
  for (const user of ['u-welcome', refused]) await produce('m-common', 'Refused', user);
  const check = (state: string) => (by: (id: string) => DestinationStory) => {
    assert.equal(by('refusing').state, state);
  };
  await explained('m-common', check('dead-letter'), '--user', refused);
  const { destinations } = await explained('m-common', check('delivered'), '--user', 'u-welcome');
  assert.doesNotMatch(JSON.stringify(destinations), /dead.letter/);
});

test('a call to a paused destination is kept, and is delivered once that is resumed', async () => {
  await run(['pause', 'taking']);
  // What a worker does that has not heard of it yet is a delivery as any other.
  let messageId = '';
  await eventually(async () => {
    messageId = `m-kept-${Date.now()}`;
    await produce(messageId, 'Kept');
    await explained(messageId, (by) => {
      assert.match(by('taking').state, /^(paused|delivered)$/);
    });
    const { destinations } = await explain(messageId);
    const taking = destinations.find(({ destination: id }) => id === 'taking');
    assert.equal(taking?.state, 'paused');
    assert.equal(taking.detail, 'kept; `postrider resume taking` sends it');
    assert.match(taking.place ?? '', /\.paused \d:\d+$/);
  });
  await run(['resume', 'taking']);
  await explained(messageId, (by) => {
    assert.equal(by('taking').state, 'delivered');
  });
});

test('a call that was rejected says why, with or without its user', async () => {
  const topic = `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`;
  const call = { type: 'track', event: 'E', messageId: 'm-rejected', userId: 'u1', writeKey: 'no' };
  await producer.send([{ topic, key: 'u1', value: JSON.stringify(call) }]);
  const story = await explained('m-rejected', (_by, { received }) => {
    assert.equal(received[0]?.outcome, 'rejected');
    assert.match(
      received[0].detail,
      /^unknown-write-key: No source has the write key "no"\. \(rejected show \d:0\)$/,
    );
  });
  assert.deepEqual(story.destinations, []);
  const { stdout, stderr } = await postrider.run(['explain', 'm-rejected', '-o', 'json']);
  assert.deepEqual(JSON.parse(stdout), story);
  assert.match(stderr, /^looking through all partitions; with --user, /);
});

test('a call without an id is found at its place', async () => {
  const call = { type: 'track', event: 'Nameless', userId: 'u1' };
  await run(['produce', '--source', 'shop'], JSON.stringify(call));
  const prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  const id = await eventually(async () => {
    const lines = await run(['attempts', 'taking', '--since', '1h', '-o', 'json']);
    return /"messageId":"([^"]+ingest:\d:\d+)"/.exec(lines)?.[1] ?? assert.fail(lines);
  });
  assert.ok(id.startsWith(`${prefix}ingest:`));
  const story = await explained(
    id,
    (by) => {
      assert.equal(by('taking').state, 'delivered');
    },
    '--since',
    '1h',
  );
  assert.equal(story.user, 'u1');
  assert.equal(story.event, 'Nameless');
});

test('a typed call that the router has read is not called rejected where no registry is set', async () => {
  const topic = `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`;
  const foreign = new confluent.SchemaRegistry({ host: registry.url });
  const fields = ['type', 'event', 'messageId', 'userId', 'writeKey'];
  const avro = await foreign.register({
    type: 'record',
    name: 'Call',
    namespace: 'explained',
    fields: fields.map((name) => ({ name, type: 'string' })),
  });
  const json = await foreign.register(
    { type: confluent.SchemaType.JSON, schema: '{"type":"object"}' },
    { subject: 'explained.json' },
  );
  for (const { id } of [avro, json]) {
    const messageId = `m-typed-${id}`;
    const call = { type: 'track', event: 'Typed', messageId, userId: 'u1', writeKey: 'wk' };
    await producer.send([{ topic, key: 'u1', value: await foreign.encode(id, call) }]);
    // An event is delivered before its router has committed that it read the call.
    const [received] = await eventually(async () => {
      const story = await explained(messageId, (by) => {
        assert.equal(by('taking').state, 'delivered');
      });
      assert.equal(story.received[0]?.outcome, 'unreadable');
      return story.received;
    });
    assert.match(
      received?.detail ?? '',
      /^it cannot be read here: .* SCHEMA_REGISTRY_URL is not set$/,
    );
    const env = { SCHEMA_REGISTRY_URL: registry.url };
    const args = ['explain', messageId, '--user', 'u1', '-o', 'json'];
    const { stdout } = await postrider.run(args, { env });
    const story = JSON.parse(stdout) as Story;
    assert.deepEqual([story.received[0]?.outcome, story.event], ['routed', 'Typed']);
  }
});

test('a call that is not there is told of in a sentence', async () => {
  const since = ['--since', '1h'];
  const missing = await postrider.run(['explain', 'm-missing', '--user', 'u1', ...since]);
  assert.equal(missing.code, 1);
  assert.match(
    missing.stderr,
    /^postrider: there is no call m-missing in the partitions of user u1, since \S+Z \(\d+ records, \d+ MB looked through\); without --user, records are found too that have another key, or are from before partitions were added\n$/,
  );
  // Another user's, though it may lie in the same partition.
  const { code } = await postrider.run(['explain', 'm-taken', '--user', 'u-other', ...since]);
  assert.equal(code, 1);
});

test('a record is told of where another one with its id is easier to find', async () => {
  const topic = `${postrider.environment['TOPIC_PREFIX'] ?? ''}ingest`;
  const record = (messageId: string): OutgoingRecord => {
    const call = { type: 'track', event: 'E', messageId, userId: 'u1', writeKey: 'wk' };
    return { topic, key: 'u1', value: JSON.stringify(call) };
  };
  await producer.send([record('m-alike-7')]);
  // Compressed, most of these ids refer to the first one.
  await producer.send(Array.from({ length: 10 }, (_, number) => record(`m-alike-${number}`)));
  const { received } = await explain('m-alike-7');
  assert.equal(received.length, 2);
});

// The last one: after it, keys are in other partitions.
test('a call that was sent again before partitions were added is told as such', async () => {
  const prefix = postrider.environment['TOPIC_PREFIX'] ?? '';
  // Every other mark moves, so several of these do.
  const ids = Array.from({ length: 20 }, (_, number) => `m-again-${number}`);
  const calls = ids.map((messageId) => {
    const call = { type: 'track', event: 'E', messageId, userId: messageId, writeKey: 'none' };
    return { topic: `${prefix}ingest`, key: messageId, value: JSON.stringify(call) };
  });
  await producer.send(calls);
  const rejected = await eventually(async () => {
    const all = JSON.parse(await run(['rejected', 'list', '-o', 'json'])) as Rejected[];
    const own = all.filter(({ key }) => ids.includes(key ?? ''));
    assert.equal(own.length, ids.length);
    return own;
  });
  await run(['rejected', 'redrive', '--yes']);
  await run(['topics', 'add-partitions', '--partitions', '6', '--yes']);
  // Brokers hear of new partitions one after the other.
  await eventually(async () => {
    const env = { TOPIC_PARTITIONS: '6' };
    const { code, stdout } = await postrider.run(['topics', '--check'], { env });
    assert.equal(code, 0, stdout);
  });
  const moved = rejected.filter(({ partition, offset }) => {
    const key = `${prefix}ingest-rejected:${partition}:${offset}`;
    return partitionOf(key, 3) !== partitionOf(key, 6);
  });
  for (const { partition, offset, key } of moved.slice(0, 3)) {
    const place = `(rejected show ${partition}:${offset})`;
    const check = (_by: unknown, { received }: Story): void => {
      const told = received.find(({ detail }) => detail.includes(place));
      assert.match(told?.detail ?? '', /; sent again \d{4}-/);
    };
    await explained(key ?? '', check, '--since', '1h');
  }
});
