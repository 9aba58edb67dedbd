import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SyncMetrics } from '../../src/audience/metrics.ts';
import { createContext } from '../../src/cli/context.ts';
import { producerHooks } from '../../src/cli/producer-metrics.ts';
import { createProgram } from '../../src/cli/program.ts';
import {
  DeliveryMetrics,
  exposeFence,
  exposeState as exposeDelivery,
} from '../../src/delivery/metrics.ts';
import { exposeState as exposeGateway, GatewayMetrics } from '../../src/gateway/metrics.ts';
import { createMetrics, exposeReady } from '../../src/ops/metrics.ts';
import { exposeConfig } from '../../src/resources/config/metrics.ts';
import { exposeState as exposeRouter, RouterMetrics } from '../../src/router/metrics.ts';
import { describeSettings, readSettings } from '../../src/settings/read.ts';
import { createTopology } from '../../src/topology.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The code-formatted words in the given columns of the tables under a heading, in order. */
function documented(heading: string, column: number): string[] {
  const section = readme.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) =>
    [...(row.split(/(?<!\\)\|/)[column] ?? '').matchAll(/`([^`]+)`/g)].map(
      ([, word]) => word ?? '',
    ),
  );
}

test('the README lists exactly the settings, with their defaults', () => {
  const defaults = describeSettings(readSettings({}));
  assert.deepEqual(documented('Settings', 1).sort(), Object.keys(defaults).sort());
  for (const [name, value] of Object.entries(defaults)) {
    const row = readme.split('\n').find((line) => line.includes(`\`${name}\``) && line[0] === '|');
    const shown = value === 'not set' || value === '' ? '–' : `\`${value}\``;
    if (name === 'LOG_FORMAT') continue; // Depends on whether a terminal runs the test.
    assert.equal(row?.split('|')[2]?.trim(), shown, name);
  }
});

test('the README lists exactly the topics', () => {
  const topology = createTopology({
    prefix: 'postrider.',
    partitions: 12,
    replicationFactor: 3,
    retryTiersMs: readSettings({}).retryTiersMs,
    extraIngestTopics: [],
  });
  const names = topology.all.map(({ name }) => name);
  const { name: dedicated } = topology.dedicatedTopic('<id>');
  assert.deepEqual(documented('Topics', 1).sort(), [...names, dedicated].sort());
});

test('the README lists exactly the commands', () => {
  const commands = createProgram(createContext({})).commands.map((command) => command.name());
  const words = documented('Commands', 1).map((usage) => usage.split(' ')[0] ?? '');
  assert.deepEqual([...new Set(words)].sort(), commands.sort());
});

test('the README lists exactly the metrics', () => {
  const metrics = createMetrics();
  const state = {
    inFlight: 0,
    held: 0,
    stalled: 0,
    rememberedIds: 0,
    lag: new Map<string, number>(),
    oldestAgeMs: new Map<string, number>(),
  };
  new GatewayMetrics(metrics);
  exposeGateway(metrics, () => ({ inFlightBytes: 0, kafkaAvailable: true }));
  new RouterMetrics(metrics);
  exposeRouter(metrics, () => state);
  new DeliveryMetrics(metrics);
  const notScraped = (): never => {
    throw new Error('not scraped');
  };
  exposeDelivery(metrics, notScraped, notScraped);
  exposeFence(metrics, { covers: notScraped, isFresh: notScraped, size: 0 });
  producerHooks(metrics);
  new SyncMetrics(metrics);
  exposeConfig(metrics, { offset: 0, notFollowed: 0, isFresh: () => true });
  exposeReady(metrics, () => []);
  const names = metrics
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('postrider_'));
  assert.deepEqual(documented('Metrics', 1).sort(), names.sort());
});
