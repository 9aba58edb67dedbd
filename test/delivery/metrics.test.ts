import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { DeliveryEvents } from '../../src/delivery/events.ts';
import { outcomeLabel, outcomeLabels, reasonLabels } from '../../src/delivery/labels.ts';
import { DeliveryMetrics, exposeFailing, exposeState } from '../../src/delivery/metrics.ts';
import type { DestinationState } from '../../src/event/destination-status.ts';
import { outcomeOfStatus } from '../../src/delivery/outcome.ts';
import { Spells } from '../../src/delivery/status/objective.ts';
import type { Standing } from '../../src/delivery/status/standing.ts';
import { silentLogger } from '../../src/ops/log.ts';
import { add } from '../../src/ops/metrics.ts';
import { everyMetric } from '../harness/every-metric.ts';
import { SimulatedClock } from './simulated-clock.ts';

const minute = 60_000;
const tiers: Readonly<Record<string, number>> = { 'retry.1m': minute, 'retry.1h': 60 * minute };

/** What a scrape of a worker gives that holds nothing but these. */
async function scrape(
  oldestAgeMs: Readonly<Record<string, number>>,
  waiting: readonly { tierMs: number; records: number }[] = [],
): Promise<string> {
  const registry = new Registry();
  exposeState(
    registry,
    () => ({
      inFlight: 0,
      queued: 0,
      mostQueued: 0,
      lanesByState: { held: 0, open: 0, slow: 0, limited: 0, waiting: 0, free: 0 },
      breakers: { closed: 0, open: 0, 'half-open': 0 },
      tiers: waiting,
      isCutOff: false,
    }),
    () => ({
      lag: new Map(Object.keys(oldestAgeMs).map((topic) => [topic, 0])),
      oldestAgeMs: new Map(Object.entries(oldestAgeMs)),
      tierMs: (topic) => tiers[topic],
    }),
  );
  return registry.metrics();
}

test('a record is overdue once it is older than its tier and a tenth', async () => {
  const text = await scrape({
    delivery: 500 * minute,
    'retry.1m': 1.1 * minute + 5_000,
    'retry.1h': 66 * minute - 1,
  });
  assert.match(text, /^postrider_retry_overdue_seconds\{tier="1m"\} 5$/m);
  assert.match(text, /^postrider_retry_overdue_seconds\{tier="1h"\} 0$/m);
  assert.equal(text.match(/^postrider_retry_overdue_seconds/gm)?.length, 2);
  assert.match(text, /^postrider_delivery_oldest_seconds\{topic="delivery"\} 30000$/m);
});

test('a tier that is read is told of, with nothing in it too', async () => {
  const text = await scrape({ 'retry.1m': 0, 'retry.1h': 0 }, [{ tierMs: minute, records: 7 }]);
  assert.match(text, /^postrider_retry_waiting_records\{tier="1m"\} 7$/m);
  assert.match(text, /^postrider_retry_waiting_records\{tier="1h"\} 0$/m);
});

test('of the failing destinations, a hundred have a series: first those that have just got their alert; and all are counted', async () => {
  const nowMs = 1_000 * minute;
  const registry = new Registry();
  const standing = (
    id: string,
    state: DestinationState,
    forMs: number,
  ): readonly [string, Standing] => [
    id,
    { state, sinceMs: nowMs - forMs, looks: state, looksSinceMs: 0 },
  ];
  const many = (name: string, count: number, forMs: number): (readonly [string, Standing])[] =>
    Array.from({ length: count }, (_, n) => standing(`${name}${n}`, 'failing', forMs + n * 1_000));
  const all = [
    ...many('abandoned', 95, 600 * minute),
    ...many('passing', 60, 5 * minute),
    standing('slow', 'slow', 20 * minute),
    standing('held', 'held', 15 * minute),
    ...many('new', 2, 16 * minute),
  ];
  exposeFailing(
    registry,
    () => all,
    () => nowMs,
  );
  const text = await registry.metrics();
  const found = text.matchAll(
    /^postrider_failing_destination_seconds\{destination="(.*)"\} (.*)$/gm,
  );
  const shown = [...found].map(([, id = '', seconds]) => [id, Number(seconds)]);
  assert.deepEqual(shown.slice(0, 4), [
    ['held', 900],
    ['new0', 960],
    ['new1', 961],
    ['abandoned0', 36_000],
  ]);
  // All that have an alert, and of the others those that are next.
  assert.deepEqual(shown.slice(97), [
    ['abandoned94', 36_094],
    ['passing59', 359],
    ['passing58', 358],
  ]);
  assert.match(text, /^postrider_failing_destinations 158$/m);
});

test('every series is there before anything has happened, and none comes later', async () => {
  const registry = new Registry();
  const metrics = new DeliveryMetrics(registry, [minute]);
  const before = await registry.metrics();
  for (const series of [
    'postrider_delivery_age_seconds_bucket{le="60",path="detour"} 0',
    'postrider_requests_total{outcome="timeout"} 0',
    'postrider_dead_letters_total{reason="http-4xx"} 0',
    'postrider_retries_total{tier="1m"} 0',
    'postrider_deferrals_total{cause="rate-limit"} 0',
    'postrider_url_skips_total{cause="busy"} 0',
    'postrider_url_skips_total{cause="breaker"} 0',
    'postrider_delivery_rebalances_total{topics="dedicated"} 0',
  ])
    assert.ok(before.includes(`\n${series}\n`), series);
  for (const label of outcomeLabels) add(metrics.requests, label);
  for (const label of reasonLabels) add(metrics.deadLetters, label);
  const after = await registry.metrics();
  assert.equal(after.split('\n').length, before.split('\n').length);
});

test('every status has a label that is known beforehand', () => {
  for (let status = 200; status < 1_000; status += 1) {
    const label = outcomeLabel(outcomeOfStatus(status, undefined, 0));
    assert.ok(outcomeLabels.includes(label), `${status}: ${label}`);
  }
});

test('a delivery is straight if its event had not failed, was not put off and not sent again', async () => {
  const registry = new Registry();
  const clock = new SimulatedClock();
  const events = new DeliveryEvents(silentLogger, new DeliveryMetrics(registry), clock);
  const appendTimeMs = clock.now() - 59_000;
  const envelope = {
    destinationId: 'd',
    sourceId: 's',
    messageId: 'm',
    type: 'track' as const,
    configOffset: 0,
    appendTimeMs,
    attempts: 0,
  };
  const spells = new Spells();
  events.delivered({ envelope, hasReturned: false }, spells);
  events.delivered({ envelope: { ...envelope, appendTimeMs: 0 }, hasReturned: true }, spells);
  const redriven = { ...envelope, appendTimeMs: 0, redrivenMs: appendTimeMs };
  events.delivered({ envelope: redriven, hasReturned: false }, spells);
  const text = await registry.metrics();
  assert.match(text, /_bucket\{le="60",path="straight"\} 1$/m);
  assert.match(text, /_count\{path="straight"\} 1$/m);
  assert.match(text, /_count\{path="detour"\} 2$/m);
});

/** Of all roles, without Node's own. */
function ownHistograms(): { name: string; labelNames: string[]; upperBounds: number[] }[] {
  return everyMetric()
    .getMetricsAsArray()
    .filter((metric) => metric instanceof Histogram && metric.name.startsWith('postrider_'))
    .map((metric) => ({
      name: metric.name,
      labelNames: Reflect.get(metric, 'labelNames') as string[],
      upperBounds: Reflect.get(metric, 'upperBounds') as number[],
    }));
}

test('no histogram has a series for each user or destination', () => {
  const labels = ownHistograms().map(({ name, labelNames }) => [name, labelNames]);
  assert.deepEqual(Object.fromEntries(labels), {
    postrider_api_request_seconds: ['status'],
    postrider_gateway_request_seconds: [],
    postrider_router_age_seconds: [],
    postrider_delivery_age_seconds: ['path'],
    postrider_request_seconds: [],
    postrider_console_request_seconds: [],
  });
});

test('ages are told apart up to the end of the retry window', () => {
  const ages = ownHistograms().filter(({ name }) => name.includes('_age_'));
  assert.equal(ages.length, 2);
  for (const { upperBounds } of ages) assert.equal(upperBounds.at(-1), 14_400);
});
