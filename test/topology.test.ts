import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTopology } from '../src/topology.ts';

const { topics, all } = createTopology({
  prefix: 'p.',
  partitions: 12,
  replicationFactor: 3,
  retryTiersMs: [10_000],
  extraIngestTopics: [],
});

function configOf(name: string): Readonly<Record<string, string>> {
  return all.find((topic) => topic.name === name)?.config ?? {};
}

/** What Kafka waits for by default before a segment that still grows may be removed as a whole. */
const segmentMs = 7 * 86_400_000;

test('marks of redrives end, and only when the last of their letters is gone', () => {
  const marks = configOf(topics.redrives);
  assert.equal(marks['cleanup.policy'], 'compact,delete');
  for (const letters of [topics.deadLetter, topics.ingestRejected]) {
    const lettersMs = Number(configOf(letters)['retention.ms']);
    assert.ok(Number(marks['retention.ms']) > lettersMs + segmentMs, letters);
  }
});
