import { loadFollower } from '../../kafka/follow/follower.ts';
import { readRange } from '../../kafka/read-range.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import type { ConfigTopicAccess } from '../config/config-topic.ts';
import type { Topology } from '../../topology.ts';
import { decodePause, type Pause } from './pause.ts';

export interface FollowedPauses {
  has(destinationId: string): boolean;
  get(destinationId: string): Pause | undefined;
  /** Calls back with the id of each destination that is paused or resumed from now on. */
  onChange(listener: (destinationId: string) => void): void;
  stop(): Promise<void>;
}

/** Loads all pauses and follows the topic `pauses` from there on. */
export async function followPauses({
  kafka,
  topology,
  log,
}: ConfigTopicAccess): Promise<FollowedPauses> {
  const pauses = new Map<string, Pause>();
  const listeners: ((id: string) => void)[] = [];
  const changed = (id: string): void => {
    for (const listener of listeners) listener(id);
  };
  const follower = await loadFollower(kafka, {
    topic: topology.topics.pauses,
    // An operator who resumes a destination waits until the workers have read that.
    maxWaitMs: 500,
    onRecord: ({ key, value }) => {
      const id = key?.toString() ?? '';
      apply(pauses, id, value);
      changed(id);
    },
    onRestart: () => {
      const ids = [...pauses.keys()];
      pauses.clear();
      ids.forEach(changed);
    },
    log,
  });
  return {
    has: (id) => pauses.has(id),
    get: (id) => pauses.get(id),
    onChange: (listener) => {
      listeners.push(listener);
    },
    stop: () => follower.stop(),
  };
}

/**
 * The pauses in force now, by destination.
 * @throws PostriderError `kafka-unavailable`
 */
export async function readPauses(
  kafka: KafkaClient,
  { topics }: Pick<Topology, 'topics'>,
): Promise<ReadonlyMap<string, Pause>> {
  const pauses = new Map<string, Pause>();
  for await (const { key, value } of readRange(kafka, { topic: topics.pauses }))
    apply(pauses, key?.toString() ?? '', value);
  return pauses;
}

function apply(pauses: Map<string, Pause>, id: string, value: Buffer | null): void {
  const pause = decodePause(value);
  if (pause === undefined) pauses.delete(id);
  else pauses.set(id, pause);
}
