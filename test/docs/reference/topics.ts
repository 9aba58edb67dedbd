import { formatDuration } from '../../../src/duration.ts';
import { readSettings } from '../../../src/settings/read.ts';
import { createTopology, type Topic, type Topology } from '../../../src/topology.ts';
import { code, generated } from './text.ts';

const partitions = 12;

/** As it is with nothing set. */
export const topology: Topology = createTopology({
  prefix: readSettings({}).topicPrefix,
  partitions,
  replicationFactor: 3,
  retryTiersMs: readSettings({}).retryTiersMs,
  extraIngestTopics: [],
});

export function topicsPage(): string {
  const { delivery } = topology.topics;
  const topics = topology.all.flatMap((topic) =>
    topic.name === delivery ? [topic, topology.dedicatedTopic('<id>')] : [topic],
  );
  return [generated, intro, ...topics.map(entry), groups()].join('\n\n');
}

const intro = `# Topics

The names below have the default [prefix](settings.md#topic_prefix). \`postrider topics\` compares the topics that exist with these, and \`postrider topics --create\` creates them.

Every topic with more than one partition is keyed, so that the records of one user stay in one partition. The number of partitions comes from [\`TOPIC_PARTITIONS\`](settings.md#topic_partitions) unless it is given here.`;

function entry(topic: Topic): string {
  const { name, holds, keyedBy } = topic;
  const facts = [
    `- Key: ${keyedBy}`,
    ...(topic.partitions === partitions ? [] : [`- Partitions: ${topic.partitions}`]),
    `- Kept: ${kept(topic.config)}`,
    ...Object.entries(topic.config)
      .filter(([setting]) => !toldElsewhere.has(setting))
      .map(([setting, value]) => `- ${code(`${setting}=${value}`)}`),
  ];
  return [`## ${name}`, `${holds.charAt(0).toUpperCase()}${holds.slice(1)}.`, facts.join('\n')]
    .map((part, index) =>
      index === 0 ? part.replaceAll('<', '\\<') : part.replace('<id>', '`<id>`'),
    )
    .join('\n\n');
}

const toldElsewhere = new Set([
  'cleanup.policy',
  'retention.ms',
  'retention.bytes',
  'message.timestamp.type',
  'min.insync.replicas',
]);

function kept(config: Readonly<Record<string, string>>): string {
  const ms = config['retention.ms'];
  const bytes = config['retention.bytes'];
  const newest = 'the newest record of each key';
  if (ms === undefined) return newest;
  const mb = bytes === undefined ? '' : `, at most ${Number(bytes) / 1_048_576} MB a partition`;
  const time = `${spelled(Number(ms))}${mb}`;
  return config['cleanup.policy'] === 'delete' ? time : `${newest}, for ${time}`;
}

function spelled(ms: number): string {
  const days = ms / 86_400_000;
  return Number.isInteger(days) ? `${days} days` : formatDuration(ms);
}

function groups(): string {
  const { groups: names, topics } = topology;
  const rows = [
    [names.router, 'routers; they read the ingest topics'],
    [names.delivery, 'delivery workers; they read the shared delivery topic and retry topics'],
    [topology.dedicatedGroup('<id>'), 'delivery workers; they read the dedicated topic'],
    [names.notices, 'delivery workers; the one with the partition writes notices'],
    [topology.redriveGroup(topics.deadLetter), '`postrider dead-letters redrive`'],
    [topology.redriveGroup(topics.ingestRejected), '`postrider rejected redrive`'],
  ] as const;
  const lines = rows.map(([name, members]) => `- ${code(name)}: ${members}`);
  return ['## Consumer groups', lines.join('\n')].join('\n\n');
}
