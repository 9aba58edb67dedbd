import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { createContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { describeSettings, readSettings } from '../../src/settings/read.ts';
import { everyMetric } from '../harness/every-metric.ts';
import { codeOf, pages, readPage, writtenPages } from './pages.ts';
import { topology } from './reference/topics.ts';

/** What any page names has to exist. */

const program = await createProgram(createContext({}));
const settings = new Set(Object.keys(describeSettings(readSettings({}))));
const dedicated = topology.dedicatedTopic('<id>').name;
const topicsAndGroups = new Set([
  ...topology.all.map(({ name }) => name),
  ...Object.values(topology.groups),
  ...[topology.topics.deadLetter, topology.topics.ingestRejected].map((letters) =>
    topology.redriveGroup(letters),
  ),
  dedicated,
  topology.dedicatedGroup('<id>'),
  // The subject of the published schema.
  `${topology.topics.ingest}-value`,
]);
const metrics = new Set([
  ...everyMetric()
    .getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('postrider_')),
  // A label that Prometheus adds to alerts.
  'postrider_docs',
]);

/** Each word in the code of any page that matches, with its page. */
function* words(pattern: RegExp): Generator<readonly [page: string, word: string]> {
  for (const page of pages) {
    const { words, lines } = codeOf(readPage(page));
    for (const text of [...words, ...lines])
      for (const [word] of text.matchAll(pattern)) yield [page, word];
  }
}

test('every setting that a page names exists', () => {
  const stems = [...settings].map((name) => name.split('_')[0] ?? '');
  const looksLikeOurs = new RegExp(`\\b(?:${[...new Set(stems)].join('|')})_[A-Z][A-Z_]*\\b`, 'g');
  // Errors of Kafka, in a runbook.
  const others = /^TOPIC_AUTHORIZATION_FAILED$/;
  let named = 0;
  for (const [page, word] of words(looksLikeOurs)) {
    if (others.test(word)) continue;
    named += 1;
    const isSecretFile = word.endsWith('_FILE') && settings.has(word.slice(0, -'_FILE'.length));
    assert.ok(settings.has(word) || isSecretFile, `${page}: ${word}`);
  }
  assert.ok(named > settings.size);
});

test('every topic and group that a page names exists', () => {
  let named = 0;
  // Not the file of an API group or a manifest, such as postrider.json.
  for (const [page, word] of words(/(?<![\w./-])postrider\.(?!json|ya?ml)[\w.<>-]*[\w>]/g)) {
    named += 1;
    assert.ok(topicsAndGroups.has(word), `${page}: ${word}`);
  }
  assert.ok(named > topicsAndGroups.size);
});

test('every metric that a page names exists', () => {
  assert.ok(metrics.size > 30);
  for (const page of pages)
    for (const [word] of readPage(page).matchAll(/\bpostrider_\w*\w/g)) {
      const series = word.replace(/_(?:bucket|sum|count)$/, '');
      assert.ok(metrics.has(word) || metrics.has(series), `${page}: ${word}`);
    }
});

test('every alert that a page names exists', () => {
  const rules = readPage('deploy/monitoring/rules.yaml');
  const alerts = new Set([...rules.matchAll(/^\s*- alert: (\w+)$/gm)].map(([, name]) => name));
  assert.ok(alerts.size > 10);
  for (const page of pages)
    for (const [name] of readPage(page).matchAll(/\bPostrider[A-Z]\w+/g))
      assert.ok(alerts.has(name), `${page}: ${name}`);
});

test('every command that a page shows exists, with its options', () => {
  let shown = 0;
  const names = program.commands.map((command) => command.name());
  for (const page of writtenPages) {
    const { words, lines } = codeOf(readPage(page));
    for (const text of [...words, ...lines]) {
      const called = /(?:^|[ (])(?:npx )?postrider ((?!-)[^|#]*)/.exec(text)?.[1];
      const isShort = names.includes(text.split(' ')[0] ?? '') && text.includes(' ');
      for (const usage of alternatives(called ?? (isShort ? text : ''))) {
        shown += 1;
        checkUsage(usage.trim().split(/\s+/), `${page}: ${usage}`);
      }
    }
  }
  assert.ok(shown > 50, `only ${shown} were found`);
});

test('every option that a page names alone exists', () => {
  const known = new Set([...optionsOf(program), '--help']);
  for (const [page, word] of words(/^--[a-z][a-z0-9-]*/g))
    assert.ok(known.has(word), `${page}: ${word}`);
});

/** Of `dead-letters list|show|redrive --scan`, each one. */
function alternatives(usage: string): string[] {
  const [choice = ''] = /[a-z-]+(?:\|[a-z-]+)+/.exec(usage) ?? [];
  if (choice === '') return usage === '' ? [] : [usage];
  return choice.split('|').map((each) => usage.replace(choice, each));
}

function checkUsage(parts: readonly string[], where: string): void {
  let command: Command = program;
  for (const part of parts) {
    if (part.startsWith('-')) break;
    const next = command.commands.find((each) => each.name() === part);
    if (next === undefined) break;
    command = next;
  }
  assert.notEqual(command, program, `${where}: no such command`);
  if (command.commands.length > 0 && parts.length > 1)
    assert.match(parts[1] ?? '', /^[<[…-]/, `${where}: no such command`);
  const known = new Set([...optionsOf(command), ...program.options.map(({ long }) => long)]);
  for (const part of parts) {
    const [option] = /^\[?(--[a-z][a-z0-9-]*)/.exec(part)?.slice(1) ?? [];
    if (option !== undefined) assert.ok(known.has(option), `${where}: no option ${option}`);
  }
}

/** With those of its commands. */
function optionsOf(command: Command): string[] {
  return [
    ...command.options.flatMap(({ long }) => long ?? []),
    ...command.commands.flatMap(optionsOf),
  ];
}
