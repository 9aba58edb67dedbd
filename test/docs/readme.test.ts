import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { describeSettings, readSettings } from '../../src/settings/read.ts';
import { createTopology } from '../../src/topology.ts';
import { everyMetric } from '../harness/every-metric.ts';

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
  const program = createProgram(createContext({}));
  const visible = program.createHelp().visibleCommands(program);
  const commands = visible.map((command) => command.name());
  const words = documented('Commands', 1).map((usage) => usage.split(' ')[0] ?? '');
  assert.deepEqual([...new Set(words)].sort(), commands.sort());
});

test('the README lists exactly the metrics', () => {
  const names = everyMetric()
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('postrider_'));
  assert.deepEqual(documented('Metrics', 1).sort(), names.sort());
});
