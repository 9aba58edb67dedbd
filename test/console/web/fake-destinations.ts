import {
  destinationHealths,
  type DestinationHealth,
} from '../../../src/event/destination-health.ts';
import type { UrlStatus } from '../../../src/event/destination-status.ts';
import type { DestinationDetail, Series } from '../../../src/console/api/answers/destinations.ts';

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

/** One that is well, and has events that a resume has left. */
const cutOffResume = 2;

/** The worst first. @param mark put into every field that others write */
export function fakeDestinations(
  howMany: number,
  mark: string,
  nowMs: number,
): readonly DestinationDetail[] {
  const random = generator(27);
  const before = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
  const later = (minutes: number): string => before(-minutes);
  return Array.from({ length: howMany }, (_, index): DestinationDetail => {
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
      url: `${host}/events/${purpose.replace(' ', '-')}${mark}`,
      breaker: isBad ? 'open' : 'closed',
      lastAnswer,
      ...(isBad ? { failingSince: before(minutes), nextProbe: later(13 + (index % 7)) } : {}),
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
      ...(isBad
        ? { nextTry: later(13 + (index % 7)), deadline: later(240 - (minutes % 200)) }
        : {}),
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
        tiers: { '1m': Math.round(tier / 2), '5m': tier },
        due: {
          '1m': { from: later(0.2), until: later(1) },
          '5m': { from: later(1), until: later(4.6) },
        },
      },
      openDeadLetters: isBad ? index * 29 + 90 : 0,
      resource: {
        kind: 'Destination',
        id,
        name: `${company} ${purpose}${mark}`,
        sources: ['shop'],
        sharedSecret: '••••',
        webhooks: [{ url: url.url, headers: { 'X-Token': '••••' } }],
        payload: 'standard',
      },
      ...(isBad ? { notify: `${host}/notices${mark}` } : {}),
      ...(state === 'paused' ? { pause: { since: before(minutes) } } : {}),
      ...(index === cutOffResume
        ? { resumedSince: before(30), formerSecretUntil: later(600) }
        : {}),
    };
  }).sort(
    (a, b) =>
      destinationHealths.indexOf(a.state) - destinationHealths.indexOf(b.state) ||
      (a.since ?? '~').localeCompare(b.since ?? '~'),
  );
}

function stateOf(index: number, howMany: number): DestinationHealth {
  if (howMany < 10) return index === 1 ? 'failing' : 'ok';
  const rare: Readonly<Record<number, DestinationHealth>> = {
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
  state: DestinationHealth,
  index: number,
): readonly [number | undefined, string, string] {
  if (state === 'failing' && index === 7) return [undefined, 'no answer within 10 s', ''];
  if (state === 'failing' && index === 22)
    return [undefined, 'ECONNREFUSED: connect ECONNREFUSED 203.0.113.7:443', ''];
  return troubles[state] ?? [200, 'answered 200', ''];
}

export function seriesOf(
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

/** The same numbers in every run. */
export function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
