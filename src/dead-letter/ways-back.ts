import { isOf, type Identity } from '../event/uid.ts';
import type { LentResources } from '../resources/config/config-topic.ts';
import { deliveredAs, nameOfDestination } from '../resources/notice-hook.ts';
import type { FollowedPauses } from '../resources/pauses/pauses.ts';
import { partitionKeyOf, type Destination } from '../resources/resource.ts';
import { recordKey } from '../resources/config/stored.ts';
import type { Topology } from '../topology.ts';
import type { DeadLetter, WayBack } from './dead-letter.ts';
import type { Remedies } from './service.ts';
import type { Objection } from './sift.ts';

type Reach = Destination | keyof typeof beyondReach;

const beyondReach = {
  deleted: 'because their destination is deleted and they would become dead letters again',
  disabled: 'because their destination is disabled and they would become dead letters again',
  unreadable: 'because this version cannot read their destination',
} as const;

/** The topic that the destination's events go to: its dedicated topic if it has one and is enabled, else the shared one. */
export function topicOf(
  destination: Pick<Destination, 'id' | 'topic' | 'enabled'> | undefined,
  { topics, dedicatedTopic }: Pick<Topology, 'topics' | 'dedicatedTopic'>,
): string {
  const isDedicated = destination?.topic === 'dedicated' && destination.enabled;
  return isDedicated ? dedicatedTopic(destination.id).name : topics.delivery;
}

/** Knows the way back of dead letters by the configuration as it is at the moment. */
export class WaysBack {
  readonly #config: LentResources;
  readonly #topology: Pick<Topology, 'topics' | 'dedicatedTopic'>;
  readonly #pauses: Pick<FollowedPauses, 'has'>;

  constructor(
    config: LentResources,
    topology: Pick<Topology, 'topics' | 'dedicatedTopic'>,
    pauses: Pick<FollowedPauses, 'has'>,
  ) {
    this.#config = config;
    this.#pauses = pauses;
    this.#topology = topology;
  }

  /** To the destination's current topic; to the shared one if it has none. */
  of({ destinationId }: Pick<DeadLetter, 'destinationId'>): WayBack {
    const reach = this.#reach(destinationId);
    const destination = typeof reach === 'string' ? undefined : reach;
    return {
      topic: topicOf(destination, this.#topology),
      partitionKey: destination && partitionKeyOf(destination),
      configOffset: this.#config.offset,
    };
  }

  /** Why a letter would only come back from its destination. */
  async objection(
    { destinationId: id, envelope }: DeadLetter,
    { unreachable, earlier }: Pick<Remedies, 'unreachable' | 'earlier'>,
  ): Promise<Objection | undefined> {
    await this.#config.fresh();
    const reach = this.#reach(id);
    if (reach !== 'deleted' && envelope !== undefined && !isOf(this.#identityOf(id), envelope)) {
      const why = 'because they are of an earlier destination of this id';
      return { why, name: id, ...(earlier === undefined ? {} : { remedy: earlier }) };
    }
    if (typeof reach === 'string')
      return { why: beyondReach[reach], name: id, remedy: unreachable };
    if (!this.isPaused(id)) return undefined;
    return {
      why: 'because their destination is paused and they would only be kept',
      name: id,
      remedy: '`postrider resume` ends the pause',
    };
  }

  isPaused(id: string): boolean {
    return this.#pauses.has(this.#identityOf(id));
  }

  /** The letter of the destination that has its id now, also where it was an earlier one's. */
  adopted(letter: DeadLetter): DeadLetter {
    const { destinationId, envelope } = letter;
    if (envelope === undefined) return letter;
    const { uid } = this.#identityOf(destinationId);
    return { ...letter, envelope: { ...envelope, uid } };
  }

  #identityOf(id: string): Identity {
    return { id, uid: this.#config.resources.get(recordKey(nameOfDestination(id)))?.uid };
  }

  #reach(id: string): Reach {
    const stored = this.#config.resources.get(recordKey(nameOfDestination(id)));
    if (stored === undefined) return 'deleted';
    const resource = stored.sealed?.sealed;
    if (resource?.kind !== 'Destination' && resource?.kind !== 'NoticeHook') return 'unreadable';
    const destination = deliveredAs(resource, id);
    if (destination === undefined) return 'deleted';
    return destination.enabled ? destination : 'disabled';
  }
}
