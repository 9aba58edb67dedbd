import { deliveryKey, type Envelope } from '../event/envelope.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { ConfigHistory, ConfigMoment } from '../resources/config/config-history.ts';
import { partitionKeyOf } from '../resources/resource.ts';
import {
  suppressedBy,
  type Suppressed,
  type SuppressedUsers,
} from '../resources/suppressions/suppressed-users.ts';
import type { Topology } from '../topology.ts';
import type { WholeCall } from './evidence.ts';
import { decideAgain, type Rulings } from './rulings.ts';

/** The destinations that an event may have gone to, and the places of their records. */
export class Scene {
  readonly #history: ConfigHistory;
  readonly #topology: Topology;
  readonly #call: WholeCall | undefined;
  readonly #then: ConfigMoment;
  readonly #now: ConfigMoment;
  readonly #wanted: ReadonlySet<string>;
  readonly #suppressed: Suppressed | undefined;
  readonly user: string | undefined;
  /** All destinations if the call is not known, otherwise those that are connected to its source. */
  readonly ids: readonly string[];

  constructor(
    history: ConfigHistory,
    topology: Topology,
    call: WholeCall | undefined,
    user: string | undefined,
    suppressed: SuppressedUsers,
  ) {
    this.#history = history;
    this.#topology = topology;
    this.#call = call;
    this.user = user;
    const found = call === undefined ? undefined : suppressedBy(suppressed, call.read.call);
    // An earlier call was routed.
    this.#suppressed =
      call !== undefined && found !== undefined && call.place.timeMs >= found.sinceMs
        ? found
        : undefined;
    this.#now = history.now();
    const then = call === undefined ? this.#now : history.at(call.place.timeMs);
    // The router waits for the configuration before it treats a source as unknown.
    const isKnown = this.#rulingsAt(then)?.source !== undefined;
    this.#then = isKnown ? then : this.#now;
    const rulings = this.#rulingsAt(this.#then);
    const wanted = rulings?.all.filter(({ unwanted }) => unwanted === undefined) ?? [];
    this.#wanted = new Set(wanted.map(({ destination }) => destination));
    this.ids =
      rulings?.source === undefined
        ? history.destinationIds()
        : rulings.all.map(({ destination }) => destination);
  }

  get hasCall(): boolean {
    return this.#call !== undefined;
  }

  /** Says whether the destination should have a record of the event. */
  expects(id: string): boolean {
    return this.#wanted.has(id);
  }

  /** Calls of other users may have the same message id, and their events lie in the same partition. */
  isOfUser({ destinationId }: Envelope, key: Buffer | null): boolean {
    return this.user === undefined || key?.toString() === deliveryKey(destinationId, this.user);
  }

  /** @param configOffset how far the router had read the configuration; undefined: not known */
  rulings(configOffset: number | undefined): Rulings | undefined {
    return this.#rulingsAt(
      configOffset === undefined ? this.#then : this.#history.beforeOffset(configOffset),
    );
  }

  deliveryTopics(): readonly string[] {
    const dedicated = this.ids.map((id) => this.#topology.dedicatedTopic(id).name);
    return [this.#topology.topics.delivery, ...dedicated];
  }

  /**
   * Undefined: all partitions, because the user is not known.
   * @param where `home`: also the partitions of rate limits; `own`: only those of the events' keys
   */
  partitions(
    ids: readonly string[],
    count: number,
    where: 'home' | 'own',
  ): ReadonlySet<number> | undefined {
    const { user } = this;
    if (user === undefined) return undefined;
    const keys = ids.flatMap((id) => {
      const homes = [this.#then, this.#now].map(({ destinations }) => {
        const destination = destinations.get(id);
        return destination === undefined ? undefined : partitionKeyOf(destination);
      });
      const own = deliveryKey(id, user);
      return where === 'own' ? [own] : [own, ...homes.filter((home) => home !== undefined)];
    });
    return new Set(keys.map((key) => partitionOf(key, count)));
  }

  #rulingsAt(moment: ConfigMoment): Rulings | undefined {
    const read = this.#call?.read;
    if (read === undefined) return undefined;
    const topics = {
      shared: this.#topology.topics.delivery,
      dedicated: (id: string) => this.#topology.dedicatedTopic(id).name,
    };
    return decideAgain(read, moment, this.#now, topics, this.#suppressed);
  }
}
