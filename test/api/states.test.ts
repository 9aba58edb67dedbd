import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AskedStates } from '../../src/api/asked-states.ts';
import { shownState, type ShownState } from '../../src/api/shown-state.ts';
import { statusKey } from '../../src/event/destination-status.ts';
import type { Identity } from '../../src/event/uid.ts';
import { encodeBatch } from '../../src/kafka/protocol/batch-writer.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { Pauses } from '../../src/resources/pauses/pauses.ts';
import { Reports } from '../../src/status/reports.ts';
import { createTopology } from '../../src/topology.ts';
import { FakeBrokers } from '../kafka/fake-brokers.ts';
import type { FakeCluster } from '../kafka/fake-cluster.ts';
import { uncompressed } from '../kafka/uncompressed.ts';
import { exampleDestination, exampleSource } from '../resources/examples.ts';
import { resourceRoutes } from './resource-stand.ts';
import { handClock, startApiStand, tokenEntry, tokensFile } from './stand.ts';

const nowMs = Date.now();

function at(offsetMs: number): string {
  return new Date(nowMs + offsetMs).toISOString();
}

interface Line {
  readonly key: string;
  readonly value: string;
}

function worker(name: string, atMs: number = 0): Line {
  const value = { kind: 'worker', worker: name, at: at(atMs), expiresAt: at(atMs + 20_000) };
  return { key: statusKey(name), value: JSON.stringify(value) };
}

function report(name: string, { id, uid }: Identity, state: 'ok' | 'failing'): Line {
  const outcome = state === 'ok' ? 'delivered' : 'failed';
  const value = {
    kind: 'destination',
    worker: name,
    at: at(0),
    destination: id,
    uid,
    state,
    ...(state === 'failing' ? { since: at(-60_000) } : {}),
    urls: [{ url: 'https://crm', breaker: 'closed', lastAnswer: { at: at(-1_000), outcome } }],
    waiting: { here: 0, tiers: {} },
    inFlight: 0,
    perMinute: { delivered: 0, failed: 0 },
  };
  return { key: statusKey(name, id), value: JSON.stringify(value) };
}

function tell(reports: Reports, ...lines: readonly Line[]): void {
  for (const { key, value } of lines) reports.put(key, Buffer.from(value));
}

describe('the state of a destination', () => {
  const crm = { id: 'crm', uid: 'u1', enabled: true };

  function shown(lines: readonly Line[], more: object = {}, pauses = new Pauses()): ShownState {
    const reports = new Reports();
    tell(reports, ...lines);
    return shownState({ ...crm, ...more }, { reports, pauses }, nowMs);
  }

  test('is the worst that a living worker reports, as of when it was heard', () => {
    const lines = [
      ...[worker('a'), report('a', crm, 'ok')],
      ...[worker('b', -4_000), report('b', crm, 'failing')],
      ...[worker('gone', -60_000), report('gone', crm, 'failing')],
    ];
    assert.deepEqual(shown(lines), { state: 'failing', since: at(-60_000), asOf: at(-4_000) });
    assert.deepEqual(shown([...lines.slice(0, 2), ...lines.slice(4)]), {
      state: 'ok',
      asOf: at(0),
    });
  });

  test('is not that of an earlier destination of its id', () => {
    const { state, why } = shown([worker('a'), report('a', { id: 'crm', uid: 'u0' }, 'failing')]);
    assert.equal(state, 'unknown');
    assert.match(why ?? '', /no event for some minutes/);
  });

  test('is paused or disabled without any report, and paused only if this very one is', () => {
    const pauses = new Pauses();
    const since = at(-9_000);
    const pause = { since, uid: 'u1' };
    pauses.apply({
      key: Buffer.from('crm'),
      value: Buffer.from(JSON.stringify(pause)),
      timestampMs: nowMs,
    });
    assert.deepEqual(shown([], {}, pauses), { state: 'paused', since });
    assert.equal(shown([], { uid: 'u2' }, pauses).state, 'unknown');
    assert.deepEqual(shown([], { enabled: false }), { state: 'disabled' });
  });

  test('is unknown where nobody can say, with the reason', () => {
    assert.match(shown([]).why ?? '', /^no worker/);
    const gone = shown([worker('a', -60_000), report('a', crm, 'failing')]);
    assert.deepEqual([gone.state, gone.asOf], ['unknown', at(-60_000)]);
    const unread = shownState(crm, undefined, nowMs);
    assert.equal(unread.state, 'unknown');
    assert.match(unread.why ?? '', /could not be read/);
  });

  test('is forgotten with a worker that took nothing back, and at once with one that did', () => {
    const reports = new Reports();
    tell(reports, worker('a', -3_700_000), report('a', crm, 'failing'), worker('b'));
    assert.equal(reports.about(crm, nowMs - 3_700_000).destinations.get('crm')?.length, 0);
    tell(reports, report('b', crm, 'failing'));
    assert.equal(reports.about(crm, nowMs).destinations.get('crm')?.length, 1);
    for (const key of [statusKey('b', 'crm'), statusKey('b')]) reports.put(key, null);
    assert.deepEqual(reports.about(crm, nowMs).workers, []);
  });
});

describe('a request', () => {
  test('lists by state, page by page, and a customer sees the state of theirs alone', async (t) => {
    const { stand, routes } = resourceRoutes();
    const tokens = tokenEntry('all', 'scopes: [read]');
    const api = await startApiStand(t, { tokensFile: tokensFile(tokens) }, routes);
    stand.put(exampleSource());
    tell(stand.reports, worker('w', 3_000));
    for (let index = 0; index < 1_010; index += 1) {
      const id = `d${String(index).padStart(4, '0')}`;
      const uid = `u${index}`;
      stand.put(exampleDestination({ id, uid, customer: index % 2 === 0 ? 'acme' : 'other' }));
      if (index % 500 > 3) continue;
      tell(stand.reports, report('w', { id, uid }, index < 500 ? 'ok' : 'failing'));
    }
    const listed = async (query: string, token: string): Promise<string[][]> => {
      const pages: string[][] = [];
      let cursor = '';
      for (;;) {
        const { status, json } = await api.ask(`/v1/destinations?${query}${cursor}`, { token });
        assert.equal(status, 200, JSON.stringify(json));
        const items = json['items'] as readonly { id: string; state: string }[];
        pages.push(items.map(({ id, state }) => `${id} ${state}`));
        if (json['next'] === undefined) return pages;
        cursor = `&cursor=${json['next'] as string}`;
      }
    };
    const failing = (...numbers: string[]): string[] => numbers.map((each) => `d${each} failing`);
    assert.deepEqual(await listed('state=failing', 'all-token'), [
      failing('0500', '0501', '0502', '0503'),
      failing('1000', '1001', '1002', '1003'),
    ]);
    assert.deepEqual(await listed('state=failing&limit=3', api.linkTo('acme')), [
      failing('0500', '0502', '1000'),
      failing('1002'),
    ]);
    const one = await api.ask('/v1/destinations/d0500', { token: 'all-token' });
    assert.deepEqual(
      ['state', 'since', 'asOf', 'why'].map((name) => one.json[name]),
      ['failing', at(-60_000), at(3_000), undefined],
    );
    const theirs = await api.ask('/v1/destinations/d0501', { token: api.linkTo('acme') });
    assert.equal(theirs.status, 404);
    const wrong = await api.ask('/v1/destinations?state=broken', { token: 'all-token' });
    assert.equal(wrong.status, 400);
    assert.match(
      wrong.detail,
      /^state is "broken"; allowed: one of unreadable, failing, .*, ok\.$/,
    );
  });
});

test('states are read while somebody asks, from the last minutes of reports, and no longer', async () => {
  const brokers = new FakeBrokers(1);
  const topology = createTopology({
    prefix: '',
    partitions: 1,
    replicationFactor: 1,
    retryTiersMs: [],
    extraIngestTopics: [],
  });
  const { destinationStatus, pauses } = topology.topics;
  brokers.makeTopic(pauses, 1);
  const [log] = brokers.makeTopic(destinationStatus, 1);
  const origin = { producerId: -1, epoch: -1, sequence: -1 };
  const write = (lines: readonly Line[], appendedMs: number): void => {
    log?.appendBatch(encodeBatch(lines, origin, uncompressed, appendedMs), appendedMs);
  };
  const [crm, shop] = [{ id: 'crm' }, { id: 'shop' }];
  write([worker('w'), report('w', shop, 'failing')], nowMs - 1_800_000);
  write([worker('w'), report('w', crm, 'failing')], nowMs);
  const clusters: FakeCluster[] = [];
  const kafka = {
    rack: '',
    openCluster: (): FakeCluster => {
      const cluster = brokers.openCluster();
      clusters.push(cluster);
      return cluster;
    },
  };
  let end: (() => void) | undefined;
  const clock = {
    ...handClock(),
    after: (_: number, callback: () => void) => {
      end = callback;
      return { cancel: () => (end = undefined) };
    },
  };
  const open = (): number => clusters.filter(({ isClosed }) => !isClosed).length;
  const states = new AskedStates({ kafka, topology, clock, log: silentLogger });
  assert.equal(open(), 0);
  for (const again of [1, 2]) {
    const { reports } = await states.known();
    const stateOf = (id: string): string | undefined =>
      reports.about({ id }, nowMs).destinations.get(id)?.[0]?.state;
    assert.deepEqual([stateOf('crm'), stateOf('shop')], ['failing', undefined], `${again}`);
    await states.known();
    assert.equal(open(), 2);
    end?.();
    assert.equal(open(), 0);
  }
  brokers.topicErrors.set(destinationStatus, 'TOPIC_AUTHORIZATION_FAILED');
  await assert.rejects(states.known(), /destination-status/);
  assert.equal(await states.soon(), undefined);
  assert.equal(open(), 0);
  brokers.topicErrors.clear();
  assert.ok(await states.soon());
  await states.stop();
  assert.equal(open(), 0);
});
