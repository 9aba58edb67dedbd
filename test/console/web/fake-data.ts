import type {
  AudienceRow,
  Configuration,
  Notice,
  Pipeline,
} from '../../../src/console/api/answers/deployment.ts';
import type {
  AttemptRow,
  DestinationDetail,
  Series,
} from '../../../src/console/api/answers/destinations.ts';
import type {
  DeadLetter,
  DeadLetterCount,
  FoundEvent,
  RejectedCall,
  RejectedCount,
  Story,
} from '../../../src/console/api/answers/events.ts';
import type { AuditEntry } from '../../../src/event/audit-entry.ts';
import type { RunRow } from '../../../src/console/api/answers/actions.ts';
import { fakeDestinations, generator, seriesOf } from './fake-destinations.ts';
import { audiencesOf, pipelineOf, storyOf } from './fake-stories.ts';

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
  readonly configuration: Pick<Configuration, 'items' | 'unreadable'>;
  readonly notices: readonly Notice[];
  readonly audit: readonly AuditEntry[];
  readonly runs: readonly RunRow[];
}

/** What a producer or an endpoint could write to do harm where it is shown. */
export const hostile =
  '<script>globalThis.harmed=1</script><img src=x onerror=harmed=1>"\'\u202eevil';

/** @param mark put into every field that others write */
export function fakeData(howMany: number, mark = '', nowMs: number = Date.now()): FakeData {
  const random = generator(27);
  const before = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
  const later = (minutes: number): string => before(-minutes);

  const destinations = fakeDestinations(howMany, mark, nowMs);
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
        cause: `breaker${mark}`,
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
        : {
            status: 503,
            detail: 'answered 503 (retry.on)',
            rule: 'retry.on',
            answer: `upstream connect error${mark}`,
            isAnswerCut: true,
            headers: { server: `edge${mark}`, 'x-request-id': `r-${index}` },
          }),
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
        open: 3,
      })),
    ),
  );
  const events = attempts
    .filter((each) => each.kind === 'attempt')
    .slice(0, 30)
    .map((each, index) => ({
      messageId: each.messageId,
      user: each.user,
      source: each.source,
      type: each.type,
      eventName: each.eventName ?? null,
      at: each.at,
      outcome: index % 3 === 0 ? ('dead-letter' as const) : ('delivered' as const),
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
        open: 1,
      })),
      ...[0, 1].map((back) => ({
        source: '',
        reason: `unknown-write-key${mark}`,
        day: day(back),
        count: 2_840 - back * 800,
        open: 1,
      })),
    ],
    audiences: audiencesOf(before, mark),
    configuration: {
      items: [
        { kind: 'Source', id: `shop${mark}`, name: `Web shop${mark}`, writeKeys: ['wk_shop_1'] },
        {
          kind: 'Audience',
          id: 'big-spenders',
          name: 'Big spenders',
          source: 'shop',
          trait: 'big_spender',
        },
        ...destinations.slice(0, 400).flatMap(({ resource }) => resource ?? []),
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
    runs: [
      {
        id: '3',
        at: before(2),
        user: `ines@example.com${mark}`,
        action: 'redrive',
        destinations: [of],
        state: 'running',
        sent: 600,
      },
      {
        id: '2',
        at: before(12),
        user: 'system user ops',
        via: 'command-line',
        action: 'redrive',
        destinations: [of, troubled[2] ?? ''],
        chosen: `reason expired${mark}`,
        state: 'done',
        endedAt: before(10),
        sent: 1_204,
        outcome: { delivered: 1_100, refused: 14, waiting: 0, other: 90 },
        detail: `3 events left out, sent again before${mark}`,
      },
      {
        id: '1',
        at: before(95),
        user: 'system user ops',
        via: 'command-line',
        action: 'delete-user',
        chosen: '7 users at shop',
        state: 'unfinished',
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
