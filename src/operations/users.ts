import { affectedBy, findSources, type AffectedSource } from '../deletion/affected.ts';
import { deleteUsers } from '../deletion/delete-users.ts';
import { departureTierMs } from '../deletion/notification.ts';
import { DeletionReport } from '../deletion/report.ts';
import { collectUserIds } from '../deletion/user-ids.ts';
import type { ServiceAccess } from '../dead-letter/service.ts';
import { timeToEnd } from '../ops/wait.ts';
import { counted } from '../printable.ts';
import type { FollowedResources } from '../resources/config/config-topic.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { suppressionRecord } from '../resources/suppressions/suppressed-users.ts';
import type { Work } from './operations.ts';

/** The actions that concern a user of the platform. */
export interface UserOperations {
  /**
   * Tells every enabled destination that a user was deleted, and drops what is on its way to them.
   * @param source undefined: at all
   * @throws PostriderError `usage` for an id that no user can have, `not-found`, `resource-invalid`
   */
  deleteUser(user: string, source: string | undefined): UserDeletion;
  /**
   * Has calls of a user routed no more, or again.
   * @throws PostriderError `usage` for an id that no user can have, `not-found`
   */
  suppress(user: string, isLifted: boolean): Promise<void>;
}

export interface UserDeletion {
  /** The destinations that are notified, or would be. */
  readonly affected: readonly AffectedSource[];
  readonly work: Work;
}

export interface UserAccess extends ServiceAccess {
  readonly config: Pick<FollowedResources, 'resources' | 'offset' | 'caughtUp'>;
  /** See `fenceMs`. */
  readonly fenceMs: number;
}

export function createUserOperations(access: UserAccess): UserOperations {
  const { kafka, topology, clock, config, fenceMs, withProducer } = access;
  return {
    deleteUser: (user, source) => {
      const { ids: userIds } = collectUserIds([user], undefined);
      const sourceIds = findSources(config.resources, source);
      const affected = affectedBy(config.resources, sourceIds);
      const tierMs = departureTierMs(topology.retryTiersMs, fenceMs);
      const topics = [topology.topics.deletions, topology.retryTopic(tierMs)];
      const work: Work = async ({ signal, onSent }) => {
        await requireTopics(
          kafka,
          topics.map((name) => ({ name })),
        );
        const report = new DeletionReport();
        await withProducer(
          (producer) =>
            deleteUsers({
              userIds,
              sourceIds,
              config,
              topology,
              producer,
              clock,
              fenceMs,
              signal,
              onDeleted: (more, notified, effectiveMs) => {
                report.add(more, notified, effectiveMs);
                onSent();
              },
            }),
          timeToEnd(signal),
        );
        return { detail: sentenceOf(report) };
      };
      return { affected, work };
    },
    suppress: async (user, isLifted) => {
      const { ids } = collectUserIds([user], undefined);
      const topic = topology.topics.suppressions;
      await requireTopics(kafka, [{ name: topic }]);
      const time = isLifted ? undefined : new Date(clock.now()).toISOString();
      await withProducer(async (producer) => {
        await producer.send(ids.map((id) => suppressionRecord(topic, id, time)));
      });
    },
  };
}

function sentenceOf(report: DeletionReport): string {
  const { effectiveAt, notifications } = report;
  if (effectiveAt === undefined) return 'stopped; send the same again to delete the user';
  const parts = [
    `deleted as of ${effectiveAt}, with ${counted(notifications, 'notification')} on the way`,
    ...report.warnings(),
  ];
  return parts.join('. ');
}
