import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { affectedBy, findSources } from '../../src/deletion/affected.ts';
import { deleteUsers, type DeleteUsersOptions } from '../../src/deletion/delete-users.ts';
import { DeletionReport } from '../../src/deletion/report.ts';
import { PostriderError } from '../../src/errors.ts';
import { decodeEnvelope, envelopeHeader } from '../../src/event/envelope.ts';
import type { OutgoingRecord } from '../../src/kafka/record.ts';
import type { Resource } from '../../src/resources/resource.ts';
import { recordKey } from '../../src/resources/config/stored.ts';
import type { StoredResource } from '../../src/resources/config/stored-resources.ts';
import { createTopology } from '../../src/topology.ts';
import { SimulatedClock } from '../delivery/simulated-clock.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';

const topology = createTopology({
  prefix: 'p.',
  partitions: 1,
  replicationFactor: 1,
  retryTiersMs: [10_000, 60_000],
  extraIngestTopics: [],
});

function stored(...resources: readonly Resource[]): Map<string, StoredResource> {
  return new Map(
    resources.map((resource) => [
      recordKey(resource),
      { name: resource, sealed: { sealed: resource } },
    ]),
  );
}

const app = exampleSource({ id: 'app', writeKeys: ['wk_app'] });
const shared = exampleDestination({ id: 'both', sources: ['app', 'shop'] });
const limited = exampleDestination({ id: 'limited', sources: ['app'], rateLimit: '10/s' });

describe('whom a deletion concerns', () => {
  const resources = stored(
    exampleSource(),
    app,
    shared,
    exampleDestination({
      id: 'picky',
      events: ['page'],
      eventNames: ['x'],
      filter: { 'properties.accountId': 'acme' },
    }),
    exampleDestination({ id: 'off', enabled: false }),
  );

  test('every source, or the one that is named', () => {
    assert.deepEqual(findSources(resources, undefined), ['app', 'shop']);
    assert.deepEqual(findSources(resources, 'shop'), ['shop']);
  });

  test('a source that there is not is refused with those that there are', () => {
    const message = 'there is no source web; known are: app, shop';
    assert.throws(() => findSources(resources, 'web'), { code: 'not-found', message });
    const none = 'there are no sources yet: apply one first';
    assert.throws(() => findSources(stored(), undefined), { code: 'not-found', message: none });
  });

  test('every enabled destination of each source, whatever it selects', () => {
    assert.deepEqual(affectedBy(resources, ['app', 'shop']), [
      { sourceId: 'app', destinationIds: ['both'], disabledIds: [] },
      { sourceId: 'shop', destinationIds: ['both', 'picky'], disabledIds: ['off'] },
    ]);
  });

  test('a destination that cannot be read stops it, since nobody knows what it says', () => {
    const unreadable = new Map(resources);
    unreadable.set('Destination/new', { name: { kind: 'Destination', id: 'new' } });
    assert.throws(() => affectedBy(unreadable, ['app']), {
      code: 'resource-invalid',
      message: /^destination new cannot be read/,
    });
  });
});

describe('deleting users', () => {
  interface Run {
    readonly written: OutgoingRecord[];
    /** `write` where a record was written, `look` where the configuration was asked for. */
    readonly steps: string[];
    readonly report: DeletionReport;
    readonly done: Promise<void>;
  }

  function run(
    userIds: readonly string[],
    changes: Partial<DeleteUsersOptions> = {},
    refuse: (record: OutgoingRecord) => PostriderError | undefined = () => undefined,
  ): Run {
    const written: OutgoingRecord[] = [];
    const steps: string[] = [];
    const report = new DeletionReport();
    const done = deleteUsers({
      userIds,
      sourceIds: ['app', 'shop'],
      config: {
        resources: stored(exampleSource(), app, shared),
        offset: 9,
        caughtUp: () => {
          steps.push('look');
          return Promise.resolve();
        },
      },
      topology,
      producer: {
        clockAheadMs: 0,
        produce: (record, answer) => {
          written.push(record);
          steps.push(record.topic);
          setImmediate(() => {
            steps.push('safe');
            answer(refuse(record));
          });
        },
      },
      clock: new SimulatedClock(),
      fenceMs: 7_000,
      signal: new AbortController().signal,
      onDeleted: (users, affected) => {
        report.add(users, affected);
      },
      ...changes,
    });
    return { written, steps, report, done };
  }

  test('a notification is of the time that it is for Kafka, whose answers tell how wrong the clock is', async () => {
    const behindMs = 5 * 86_400_000;
    const written: OutgoingRecord[] = [];
    const producer: DeleteUsersOptions['producer'] & { clockAheadMs: number } = {
      clockAheadMs: 0,
      produce: (record, answer) => {
        written.push(record);
        setImmediate(() => {
          producer.clockAheadMs = -behindMs;
          answer();
        });
      },
    };
    const clock = new SimulatedClock();
    await run(['u:1'], { producer, clock, sourceIds: ['app'] }).done;
    const [, notification] = written;
    const { timestamp } = JSON.parse(String(notification?.value)) as { timestamp: string };
    const header = Buffer.from(String(notification?.headers?.[envelopeHeader]));
    const nowMs = clock.now() + behindMs;
    assert.deepEqual([Date.parse(timestamp), decodeEnvelope(header)?.appendTimeMs], [nowMs, nowMs]);
  });

  test('the deletions are safe before the configuration is looked at and a notification is written', async () => {
    const { written, steps, report, done } = run(['u:1']);
    await done;
    assert.deepEqual(steps, [
      'p.deletions',
      'p.deletions',
      'safe',
      'safe',
      'look',
      'p.retry.10s',
      'p.retry.10s',
      'safe',
      'safe',
    ]);
    assert.deepEqual(
      written.map(({ key }) => key),
      ['app:u:1', 'shop:u:1', 'both:u:1', 'both:u:1'],
    );
    const times = written.map(({ value }) => JSON.parse(String(value)) as Record<string, string>);
    assert.equal(new Set(times.map(({ time, timestamp }) => time ?? timestamp)).size, 1);
    assert.deepEqual([report.users, report.notifications], [1, 2]);
  });

  test('notifications go to the partition of their destination’s other events', async () => {
    const config = {
      resources: stored(exampleSource(), app, shared, limited),
      offset: 9,
      caughtUp: () => Promise.resolve(),
    };
    const { written, done } = run(['u1'], { config });
    await done;
    const places = written.slice(2).map(({ key, partitionKey }) => [key, partitionKey]);
    assert.deepEqual(places, [
      ['both:u1', undefined],
      ['limited:u1', 'limited'],
      ['both:u1', undefined],
    ]);
  });

  test('notifications name their source, have ids of their own, and what the configuration was', async () => {
    const { written, done } = run(['u1', 'u2']);
    await done;
    const envelopes = written.slice(4).map(({ headers }) => {
      const header = Buffer.from(headers?.[envelopeHeader] ?? '');
      return decodeEnvelope(header) ?? assert.fail();
    });
    assert.deepEqual(
      envelopes.map(({ sourceId }) => sourceId),
      ['app', 'shop', 'app', 'shop'],
    );
    assert.equal(new Set(envelopes.map(({ messageId }) => messageId)).size, 4);
    for (const { type, configOffset } of envelopes)
      assert.deepEqual([type, configOffset], ['delete', 9]);
  });

  test('thousands of users are deleted some at a time, each with his notifications', async () => {
    const userIds = Array.from({ length: 1_234 }, (_, i) => `u${i}`);
    const { written, steps, report, done } = run(userIds);
    await done;
    assert.equal(steps.filter((step) => step === 'look').length, 3);
    for (const [topic, keys] of [
      ['p.deletions', userIds.flatMap((id) => [`app:${id}`, `shop:${id}`])],
      ['p.retry.10s', userIds.flatMap((id) => [`both:${id}`, `both:${id}`])],
    ] as const) {
      const found = written.filter((record) => record.topic === topic).map(({ key }) => key);
      assert.deepEqual(found, keys);
    }
    assert.deepEqual([report.users, report.notifications], [1_234, 2_468]);
  });

  test('a run that is told to stop ends with whole users, and says how far it was', async () => {
    const stop = new AbortController();
    const report = new DeletionReport();
    const { written, done } = run(
      Array.from({ length: 2_000 }, (_, i) => `u${i}`),
      {
        signal: stop.signal,
        onDeleted: (users, affected) => {
          report.add(users, affected);
          stop.abort();
        },
      },
    );
    await done;
    assert.equal(report.users, 500);
    assert.equal(written.length, 500 * 2 + 500 * 2);
  });

  test('a record that Kafka refuses for ever fails the run before anybody is notified', async () => {
    const error = new PostriderError('record-refused', 'too large');
    const { written, done } = run(['u1'], {}, () => error);
    await assert.rejects(done, error);
    assert.ok(written.every(({ topic }) => topic === 'p.deletions'));
  });
});

test('a report tells who is notified, and who is not', () => {
  const report = new DeletionReport();
  report.add(2, [
    { sourceId: 'app', destinationIds: [], disabledIds: [] },
    { sourceId: 'shop', destinationIds: ['crm', 'dwh'], disabledIds: ['off'] },
  ]);
  const atMs = Date.parse('2026-11-24T10:00:40.000Z');
  report.add(1, [{ sourceId: 'shop', destinationIds: ['crm'], disabledIds: ['dwh', 'off'] }], atMs);
  assert.deepEqual(report.rows(), [
    ['shop', 'crm', '3'],
    ['shop', 'dwh', '2'],
  ]);
  assert.deepEqual(report.warnings(), [
    'source app has no enabled destination',
    'destination off is disabled: it gets no notification for source shop',
    'destination dwh is disabled: it gets no notification for source shop',
  ]);
  assert.deepEqual(report.summary(), {
    users: 3,
    notifications: 5,
    effectiveAt: '2026-11-24T10:00:40.000Z',
    sources: [
      { source: 'app', destinations: {}, disabled: [] },
      { source: 'shop', destinations: { crm: 3, dwh: 2 }, disabled: ['off', 'dwh'] },
    ],
  });
});
