import type { AudienceRow, Pipeline } from '../../../src/console/api/answers/deployment.ts';
import type { Story } from '../../../src/console/api/answers/events.ts';

/** So many minutes ago, or from now. */
type At = (minutes: number) => string;

export function storyOf(
  messageId: string,
  user: string,
  ids: readonly string[],
  mark: string,
  before: At,
  later: At,
): Story {
  const [failing = '', other = '', third = '', fourth = ''] = [ids[0], ids[20], ids[21], ids[22]];
  const none = { uid: null, until: null, deadline: null, place: null, unwanted: null };
  return {
    messageId,
    user,
    source: `shop${mark}`,
    type: 'track',
    event: `Order Completed${mark}`,
    received: [
      {
        at: before(96),
        topic: `ingest${mark}`,
        place: '4:771208',
        outcome: 'routed',
        detail: `to 3 of 4 destinations${mark}`,
      },
      {
        at: before(95),
        topic: 'ingest',
        place: '4:771298',
        outcome: 'duplicate',
        detail: 'it repeats the call of 11:04:12, 4:771208',
      },
    ],
    destinations: [
      {
        ...none,
        destination: failing,
        state: 'waiting',
        at: before(21),
        until: later(8),
        deadline: later(144),
        place: 'retry.10m 2:55123',
        detail: `after 3 attempts; last answer 503 "upstream connect error"${mark}`,
        happened: [
          {
            at: before(96),
            what: 'routed to delivery 4:901223, with the configuration up to offset 4211',
          },
          {
            at: before(95.9),
            what: `attempt 1 failed: answered 503 "upstream connect error" in 132 ms${mark}`,
          },
          { at: before(95.9), what: `waits until ${later(8)}, given up at ${later(144)}` },
          { at: before(95), what: 'attempt 2 failed: no answer within 10 s in 10003 ms' },
          {
            at: before(21),
            what: 'attempt 3 failed: answered 503 "upstream connect error" in 98 ms',
          },
          { at: before(21), what: 'waits until 12:32:00, given up at 15:04:12' },
        ],
      },
      {
        ...none,
        destination: other,
        state: 'delivered',
        at: before(95.9),
        detail: `at attempt 1, in 84 ms${mark}`,
        happened: [
          {
            at: before(96),
            what: 'routed to delivery 4:901224, with the configuration up to offset 4211',
          },
          { at: before(95.9), what: 'attempt 1 delivered, 200 in 84 ms' },
        ],
      },
      {
        ...none,
        destination: third,
        state: 'dead-letter',
        at: before(95),
        place: 'dead-letter 4:1290',
        detail: `http-410: answered 410 "this hook was removed"${mark}`,
        happened: [
          {
            at: before(95.9),
            what: 'attempt 1 refused: answered 410 "this hook was removed" in 51 ms',
          },
          { at: before(95.9), what: 'dead letter after 1 attempt: http-410' },
        ],
      },
      {
        ...none,
        destination: fourth,
        state: 'unwanted',
        at: null,
        detail: `it wants identify only${mark}`,
        unwanted: { by: 'then' },
        happened: [],
      },
    ],
    copies: [
      {
        destination: failing,
        headers: {
          'content-type': 'application/json',
          'x-signature': '••••',
          'idempotency-key': messageId,
        },
        body: JSON.stringify({
          type: 'track',
          event: `Order Completed${mark}`,
          userId: user,
          properties: { total: 41.5, currency: 'EUR' },
        }),
      },
    ],
  };
}

export function pipelineOf(before: At, later: At, nowMs: number, mark: string): Pipeline {
  const worker = (index: number) => ({
    kind: 'worker' as const,
    worker: `postrider-worker-${index}-7c9f${mark}`,
    at: before(0.05),
    expiresAt: later(0.5),
    startedAt: before(1_440 * 3),
    inFlight: 212 + index * 9,
    queued: 1_804 - index * 77,
    isCutOff: false,
    topics: {
      delivery: { lag: 8_120 + index * 40, oldestMs: 12_000 },
      'retry.1m': { lag: 90, oldestMs: 800 },
    },
  });
  return {
    at: new Date(nowMs).toISOString(),
    backlog: [
      { stage: 'router', topic: `ingest${mark}`, records: 214, oldest: before(0.03) },
      { stage: 'delivery', topic: 'delivery', records: 41_220, oldest: before(2.4) },
      { stage: 'retry', topic: 'retry.10s', records: 61, oldest: before(0.2) },
      { stage: 'retry', topic: 'retry.1m', records: 418, oldest: before(1.1) },
      { stage: 'retry', topic: 'retry.10m', records: 2_204, oldest: before(9) },
      { stage: 'retry', topic: 'retry.1h', records: 0 },
    ],
    deadLetters: 184,
    rejectedCalls: 2_901,
    workers: [worker(1), worker(2), worker(3)],
    rates: [
      { stage: 'ingest', perMinute: 182_400 },
      { stage: 'router', perMinute: 182_100 },
      { stage: 'delivery', perMinute: 410_000 },
      { stage: 'retry', perMinute: 1_240 },
      { stage: 'delivered', perMinute: 396_800 },
      { stage: 'dead-letter', perMinute: 3.1 },
      { stage: 'rejected', perMinute: 48 },
    ],
    behind: 'delivery',
  };
}

export function audiencesOf(before: At, mark: string): readonly AudienceRow[] {
  const run = (index: number, outcome: 'done' | 'refused'): AudienceRow['syncs'][number] => ({
    sync: `s-${index}`,
    action: 'sync',
    source: 'shop',
    trait: 'big_spender',
    startedAt: before(30 + index * 60),
    durationMs: 4_100 + index * 130,
    outcome,
    ...(outcome === 'refused'
      ? { reason: `41 % of its members would be removed, more than 30 %${mark}` }
      : {}),
    members: 182_400 - index * 31,
    added: 211,
    removed: 84 + index,
    changed: 0,
    baseline: 0,
    forgotten: 1,
  });
  return [
    {
      id: `big-spenders${mark}`,
      resource: { kind: 'Audience', id: 'big-spenders' },
      told: [{ source: `shop${mark}`, trait: `big_spender${mark}`, members: 182_400 }],
      syncs: Array.from({ length: 8 }, (_, index) => run(index, 'done')),
    },
    {
      id: 'lapsed',
      resource: { kind: 'Audience', id: 'lapsed' },
      told: [
        { source: 'shop', trait: 'lapsed', members: 40_211, destinations: ['bluefin-crm-crm-1'] },
      ],
      syncs: [run(0, 'refused'), run(1, 'done')],
    },
    {
      id: 'new-this-week',
      resource: { kind: 'Audience', id: 'new-this-week' },
      told: [],
      syncs: [],
    },
  ];
}
