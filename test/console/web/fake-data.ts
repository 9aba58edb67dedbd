import { destinationStates, type DestinationState } from '../../../src/event/destination-state.ts';
import type { UrlStatus } from '../../../src/event/destination-status.ts';
import type {
  AttemptRow,
  AudienceRow,
  AuditEntry,
  Configuration,
  DeadLetter,
  DeadLetterCount,
  DestinationDetail,
  FoundEvent,
  Notice,
  Pipeline,
  RejectedCall,
  RejectedCount,
  Series,
  Story,
} from '../../../src/console/api/model.ts';

/** What an installation would have to show that has been busy for days. */
export interface FakeData {
  readonly destinations: readonly DestinationDetail[];
  series(id: string, range: string): Series;
  readonly attempts: readonly AttemptRow[];
  readonly deadLetters: readonly DeadLetter[];
  readonly deadLetterCounts: readonly DeadLetterCount[];
  readonly events: readonly FoundEvent[];
  readonly story: Story;
  readonly pipeline: Pipeline;
  readonly rejected: readonly RejectedCall[];
  readonly rejectedCounts: readonly RejectedCount[];
  readonly audiences: readonly AudienceRow[];
  readonly configuration: Configuration;
  readonly notices: readonly Notice[];
  readonly audit: readonly AuditEntry[];
}

/** What a producer or an endpoint could write to do harm where it is shown. */
export const hostile =
  '<script>globalThis.harmed=1</script><img src=x onerror=harmed=1>"\'\u202eevil';

const names = [
  'Acorn Analytics',
  'Bluefin CRM',
  'Cedar & Co',
  'Dockside Loyalty',
  'Elm Street Books',
  'Fjord Travel',
  'Garnet Insurance',
  'Harbor Bank',
  'Iris Eyewear',
  'Juniper Health',
  'Kestrel Logistics',
  'Lumen Energy',
  'Maple Groceries',
  'Northwind Traders',
  'Orchid Beauty',
  'Pioneer Outdoor',
  'Quartz Watches',
  'Riverbank Media',
  'Summit Sports',
  'Tidewater Foods',
];
const purposes = ['warehouse', 'CRM', 'email', 'ads', 'support desk', 'data lake', 'loyalty'];

const troubles: Readonly<
  Record<string, readonly [status: number | undefined, detail: string, answer: string]>
> = {
  failing: [503, 'answered 503', 'upstream connect error or disconnect before headers'],
  held: [429, 'answered 429', '{"error":"rate_limited","retry_after":1800}'],
};

/** @param mark put into every field that others write */
export function fakeData(howMany: number, mark = '', nowMs: number = Date.now()): FakeData {
  const random = generator(27);
  const before = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
  const later = (minutes: number): string => before(-minutes);

  const destinations = Array.from({ length: howMany }, (_, index): DestinationDetail => {
    const state = stateOf(index, howMany);
    const company = names[index % names.length] ?? '';
    const purpose = purposes[Math.floor(index / names.length) % purposes.length] ?? '';
    const id = `${company.toLowerCase().replaceAll(/[^a-z]+/g, '-')}-${purpose.replace(' ', '-').toLowerCase()}-${index}${mark}`;
    const host = `https://hooks.${company.toLowerCase().replaceAll(/[^a-z]/g, '')}.example`;
    const isBad = state === 'failing' || state === 'held';
    const isStill = state === 'disabled' || state === 'paused' || state === 'unreadable';
    const isWaiting =
      isBad || state === 'unreadable' || state === 'saturated' || state === 'limited';
    const perMinute = Math.round(10 ** (random() * 3.4)) + 2;
    const [status, detail, answer] = lastOf(state, index);
    const minutes = 4 + ((index * 37) % 320);
    const points = Array.from({ length: 12 }, (_, point) => {
      const share = isBad && (12 - point) * 5 < minutes ? 1 : random() < 0.03 ? 0.04 : 0;
      const all = isStill ? 0 : perMinute * 5 * (0.7 + random() * 0.5);
      const failed = Math.round(share === 1 ? all * 0.25 : all * share);
      return [
        Math.round(share === 1 ? 0 : all - failed),
        failed,
        Math.round(40 + random() * 200),
      ] as const;
    });
    const delivered = points.reduce((sum, [each]) => sum + each, 0);
    const failed = points.reduce((sum, [, each]) => sum + each, 0);
    const waiting = isWaiting
      ? Math.round(minutes * perMinute * 0.8)
      : index % 9 === 0
        ? index % 40
        : 0;
    const lastAnswer = {
      at: before(isBad ? 2 + (index % 9) : 0.02 + (index % 50) / 60),
      outcome: isBad ? ('failed' as const) : ('delivered' as const),
      ...(status === undefined ? {} : { status }),
      detail: `${detail}${mark}`,
      ...(answer === '' && mark === '' ? {} : { answer: `${answer}${mark}` }),
    };
    const url: UrlStatus = {
      url: `${host}/postrider/${purpose.replace(' ', '-')}${mark}`,
      breaker: isBad ? 'open' : 'closed',
      lastAnswer,
      ...(isBad ? { failingSince: before(minutes), nextProbe: later(3 + (index % 7)) } : {}),
    };
    const second: UrlStatus = {
      url: `${host.replace('hooks', 'backup')}/in`,
      breaker: 'closed',
      lastAnswer: { at: before(0.4), outcome: 'delivered', status: 200, detail: 'answered 200' },
    };
    const tier = Math.round(waiting / 3);
    return {
      id,
      name: `${company} ${purpose}${mark}`,
      state,
      ...(state === 'ok' ? {} : { since: before(minutes) }),
      ...(state === 'held' ? { until: later(18) } : {}),
      ...(isStill ? {} : { lastAnswer }),
      waiting,
      ...(waiting > 0 ? { oldest: before(isWaiting ? minutes : 1) } : {}),
      ...(isBad ? { nextTry: later(3 + (index % 7)), deadline: later(240 - (minutes % 200)) } : {}),
      perMinute: {
        delivered: isBad || isStill ? 0 : perMinute,
        failed: isBad ? Math.round(perMinute / 4) : 0,
      },
      ...(isStill ? {} : { p99Ms: state === 'slow' ? 4_200 : 60 + ((index * 53) % 700) }),
      deadLetters: isBad ? index * 13 + 40 : index % 211 === 0 ? 3 : 0,
      lastHour: {
        ...(delivered + failed === 0 ? {} : { successRate: delivered / (delivered + failed) }),
        points,
      },
      urls: index % 3 === 0 ? [url, second] : [url],
      waitingBy: {
        here: waiting - tier - Math.round(tier / 2),
        tiers: { '10s': 0, '1m': Math.round(tier / 2), '10m': tier, '1h': 0 },
      },
      resource: {
        kind: 'Destination',
        id,
        name: `${company} ${purpose}${mark}`,
        sources: ['shop'],
        sharedSecret: '••••',
        webhooks: [{ url: url.url, headers: { 'X-Token': '••••' } }],
        payload: 'standard',
      },
      ...(state === 'paused' ? { pause: { since: before(minutes) } } : {}),
    };
  }).sort(
    (a, b) =>
      destinationStates.indexOf(a.state) - destinationStates.indexOf(b.state) ||
      (a.since ?? '~').localeCompare(b.since ?? '~'),
  );

  const failing = destinations.find(({ state }) => state === 'failing');
  const of = failing?.id ?? 'none';
  const messageId = (index: number): string =>
    `order-${(918_273 + index * 7_919).toString(36)}-${index}${mark}`;
  const user = (index: number): string => `user-${4_000 + ((index * 271) % 900)}${mark}`;
  const line = (index: number) => ({
    at: before(index * 0.21),
    destination: of,
    source: `shop${mark}`,
    messageId: messageId(index),
    user: user(index),
    type: 'track' as const,
    seq: String(1_000_000 - index).padStart(12, '0'),
  });
  const url = failing?.urls[0]?.url ?? '';
  const attempts = Array.from({ length: 140 }, (_, index): AttemptRow => {
    const common = line(index);
    if (index % 7 === 3)
      return { ...common, kind: 'retry', attempts: 2, until: later(8), deadline: later(170) };
    if (index % 17 === 5)
      return {
        ...common,
        kind: 'dead-letter',
        attempts: 9,
        reason: `expired${mark}`,
        detail: `last answer 503${mark}`,
      };
    if (index === 12)
      return {
        kind: 'bundle-deferred',
        at: before(2),
        destination: of,
        events: 412,
        cause: `breaker-open${mark}`,
        until: later(4),
        seq: common.seq,
      };
    if (index % 4 === 1)
      return {
        ...common,
        kind: 'attempt',
        attempt: 1,
        url,
        outcome: 'delivered',
        status: 200,
        tookMs: 40 + index,
      };
    return {
      ...common,
      kind: 'attempt',
      attempt: 2,
      url,
      outcome: index % 19 === 0 ? 'refused' : 'failed',
      ...(index % 5 === 0
        ? { cause: 'timeout', detail: `no answer within 10 s${mark}` }
        : { status: 503, detail: 'answered 503', answer: `upstream connect error${mark}` }),
      tookMs: 120 + ((index * 97) % 9_000),
    };
  });

  const reasons = ['expired', 'http-410', 'http-401', 'expired-late'].map(
    (reason) => reason + mark,
  );
  const troubled = destinations.slice(0, 9).map(({ id }) => id);
  const deadLetters = Array.from({ length: 90 }, (_, index): DeadLetter => ({
    place: `${index % 12}:${48_211 - index * 3}`,
    at: before(3 + index * 11),
    destination: troubled[index % troubled.length] ?? '',
    user: user(index),
    reason: reasons[index % reasons.length] ?? '',
    detail: `not tried again since ${before(30).slice(0, 16)}Z; last answer 503 "upstream connect error"${mark}`,
    messageId: messageId(index),
    type: 'track',
    source: 'shop',
    attempts: 9,
    bytes: 812,
    ...(index % 8 === 0 ? { redrivenAt: before(600) } : {}),
    ...(mark === '' ? {} : { answer: mark }),
  }));
  const day = (back: number): string => before(back * 1_440).slice(0, 10);
  const deadLetterCounts = troubled.flatMap((destination, index) =>
    reasons.slice(0, 1 + (index % 3)).flatMap((reason, which) =>
      [0, 1, 2, 3, 5].slice(0, 5 - (index % 3)).map((back) => ({
        destination,
        reason,
        day: day(back),
        count: Math.round((900 / (index + 1)) * (which + 1) * (0.2 + random())),
      })),
    ),
  );
  const events = attempts
    .filter((each) => each.kind === 'attempt')
    .slice(0, 30)
    .map((each) => ({
      messageId: each.messageId,
      user: each.user,
      source: each.source,
      type: each.type,
      at: each.at,
      destinations: troubled.slice(0, 3),
    }));

  return {
    destinations,
    series: (id, range) =>
      seriesOf(
        destinations.find((each) => each.id === id),
        range,
        nowMs,
      ),
    attempts,
    deadLetters,
    deadLetterCounts,
    events,
    story: storyOf(
      messageId(3),
      user(3),
      destinations.map(({ id }) => id),
      mark,
      before,
      later,
    ),
    pipeline: pipelineOf(before, later, nowMs, mark),
    rejected: Array.from({ length: 40 }, (_, index) => ({
      place: `${index % 12}:${9_120 - index}`,
      at: before(index * 7),
      reason: (index % 3 === 0 ? 'unknown-write-key' : 'invalid-json') + mark,
      detail:
        (index % 3 === 0
          ? 'no source has the write key wk_shop_old'
          : 'Unexpected token } in JSON at position 41') + mark,
      key: user(index),
      ...(index % 3 === 0 ? {} : { source: `shop${mark}` }),
      origin: {
        topic: `ingest${mark}`,
        partition: index % 12,
        offset: 771_210 - index,
        at: before(index * 7),
      },
      bytes: 212,
      sample: `{"type":"track","event":"Order Completed","properties":{"total":41.}}${mark}`,
    })),
    rejectedCounts: [
      ...[0, 1, 2, 4].map((back) => ({
        source: `shop${mark}`,
        reason: `invalid-json${mark}`,
        day: day(back),
        count: 61 - back * 9,
      })),
      ...[0, 1].map((back) => ({
        source: '',
        reason: `unknown-write-key${mark}`,
        day: day(back),
        count: 2_840 - back * 800,
      })),
    ],
    audiences: audiencesOf(before, mark),
    configuration: {
      resources: [
        { kind: 'Source', id: `shop${mark}`, name: `Web shop${mark}`, writeKeys: ['wk_shop_1'] },
        {
          kind: 'Audience',
          id: 'big-spenders',
          name: 'Big spenders',
          source: 'shop',
          trait: 'big_spender',
        },
        ...destinations.slice(0, 400).map(({ resource }) => resource),
      ],
      unreadable: [
        {
          name: `Destination/harbor-bank-crm${mark}`,
          reason: `webhooks[0].headers.X-Token: encrypted with the key 7f31c2, which this role does not have${mark}`,
        },
      ],
    },
    notices: [
      {
        id: '3',
        at: before(42),
        kind: `failing${mark}`,
        destination: of,
        text: `${failing?.name ?? ''} has failed everything for 30 minutes: 503 upstream connect error${mark}`,
      },
      {
        id: '2',
        at: before(380),
        kind: 'recovered',
        destination: troubled[3] ?? '',
        text: 'Elm Street Books warehouse gets events again after 3 h 12 min',
      },
      {
        id: '1',
        at: before(4_000),
        kind: 'disabled',
        destination: troubled[4] ?? '',
        text: 'Fjord Travel ads was disabled: it failed everything for 5 days',
      },
    ],
    audit: [
      {
        id: '2',
        at: before(12),
        user: `ines@example.com${mark}`,
        action: 'redrive',
        destination: of,
        detail: `1,204 events, reason expired, sent again${mark}`,
      },
      {
        id: '1',
        at: before(95),
        user: 'tom@example.com',
        action: 'pause',
        destination: troubled[2] ?? '',
      },
    ],
  };
}

function stateOf(index: number, howMany: number): DestinationState {
  if (howMany < 10) return index === 1 ? 'failing' : 'ok';
  const rare: Readonly<Record<number, DestinationState>> = {
    3: 'failing',
    7: 'failing',
    11: 'unreadable',
    14: 'held',
    16: 'saturated',
    21: 'slow',
    22: 'failing',
    25: 'limited',
    29: 'saturated',
    33: 'paused',
    38: 'disabled',
    41: 'paused',
    44: 'slow',
  };
  return rare[index] ?? 'ok';
}

function lastOf(
  state: DestinationState,
  index: number,
): readonly [number | undefined, string, string] {
  if (state === 'failing' && index === 7) return [undefined, 'no answer within 10 s', ''];
  if (state === 'failing' && index === 22)
    return [undefined, 'connection refused by 203.0.113.7:443', ''];
  return troubles[state] ?? [200, 'answered 200', ''];
}

function seriesOf(
  destination: DestinationDetail | undefined,
  range: string,
  nowMs: number,
): Series {
  const random = generator(7);
  const [stepS, length] = range === '1h' ? [60, 60] : range === '24h' ? [900, 96] : [3_600, 72];
  const fromMs = nowMs - length * stepS * 1_000;
  const at = (index: number): string => new Date(fromMs + index * stepS * 1_000).toISOString();
  const isBad = destination?.state === 'failing';
  const points = Array.from({ length }, (_, index) => {
    const isOut = isBad && index > length * 0.62;
    const all = (180 + 60 * Math.sin(index / 9) + random() * 30) * (stepS / 60);
    return {
      at: at(index),
      delivered: isOut ? 0 : Math.round(all),
      failed: isOut ? Math.round(all * 0.3) : random() < 0.1 ? 4 : 0,
      refused: random() < 0.04 ? 2 : 0,
      p50Ms: isOut ? null : Math.round(60 + random() * 20),
      p99Ms: isOut ? 9_800 : Math.round(180 + random() * 220),
    };
  });
  const turn = Math.floor(length * 0.62);
  return {
    from: at(0),
    stepS,
    points,
    urls: (destination?.urls ?? []).map(({ url, breaker }, index) => ({
      url,
      breaker,
      bands:
        isBad && index === 0
          ? [
              { from: at(0), to: at(Math.floor(turn / 2)), delivered: 9_000, failed: 0 },
              {
                from: at(Math.floor(turn / 2)),
                to: at(Math.floor(turn / 2) + 2),
                delivered: 300,
                failed: 61,
              },
              { from: at(Math.floor(turn / 2) + 2), to: at(turn), delivered: 8_000, failed: 0 },
              { from: at(turn), to: at(length), delivered: 0, failed: 1_410 },
            ]
          : [{ from: at(3), to: at(length), delivered: 18_000, failed: 0 }],
    })),
  };
}

type At = (minutes: number) => string;

function storyOf(
  messageId: string,
  user: string,
  ids: readonly string[],
  mark: string,
  before: At,
  later: At,
): Story {
  const [failing = '', other = '', third = '', fourth = ''] = [ids[0], ids[20], ids[21], ids[22]];
  const none = { until: null, deadline: null, place: null, unwanted: null };
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
          { at: before(95.9), what: 'waits until 11:05:12, given up at 15:04:12' },
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

function pipelineOf(before: At, later: At, nowMs: number, mark: string): Pipeline {
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

function audiencesOf(before: At, mark: string): readonly AudienceRow[] {
  const run = (index: number, outcome: 'done' | 'refused'): AudienceRow['syncs'][number] => ({
    sync: `s-${index}`,
    action: 'sync',
    source: 'shop',
    trait: 'vip',
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

/** The same numbers in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
