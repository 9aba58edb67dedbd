import { PostriderError } from '../errors.ts';
import { withAdmin, type TopicSpec } from '../kafka/admin.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { missingTopics } from '../resources/require-topics.ts';
import { diffTopics } from '../resources/topics.ts';
import type { Topology } from '../topology.ts';

/**
 * Checks that every ingest topic exists and can be read safely. With producers' own timestamps, old calls
 * would expire at once. Records of another system's topic that are larger than our topics allow could not
 * even be rejected.
 * @throws PostriderError `topics-differ`
 */
export async function checkIngestTopics(kafka: KafkaClient, topology: Topology): Promise<void> {
  const existing = await withAdmin(kafka, (admin) => admin.describeTopics(topology.ingestTopics));
  const problems = ingestProblems(topology, [...existing.values()]);
  if (problems.length > 0) throw new PostriderError('topics-differ', problems.join('; '));
}

/** One sentence for each topic that keeps the router from starting. */
export function ingestProblems(topology: Topology, existing: readonly TopicSpec[]): string[] {
  const own = new Set(topology.all.map(({ name }) => name));
  const readable = new Set(existing.filter(hasAppendTime).map(({ name }) => name));
  return diffTopics(topology, [], existing)
    .filter(({ name, state }) => topology.ingestTopics.includes(name) && state !== 'ok')
    .flatMap(({ name, state, details }) => {
      if (!own.has(name)) {
        return state === 'missing'
          ? [`topic ${name}, named in INGEST_TOPICS, does not exist`]
          : [`topic ${name}, named in INGEST_TOPICS, cannot be read: ${details.join(', ')}`];
      }
      if (state === 'missing') return [missingTopics([name])];
      // Other differences are left to `postrider topics`, because none of them makes reading unsafe.
      return readable.has(name) ? [] : [`topic ${name} cannot be read: ${details.join(', ')}`];
    });
}

function hasAppendTime({ config }: TopicSpec): boolean {
  return config['message.timestamp.type'] === 'LogAppendTime';
}
