import { asError } from '../../errors.ts';
import { decodeStatus, type StatusRecord } from '../../event/destination-status.ts';
import { decodeNotice, type Notice } from '../../event/notice.ts';
import { isOf, type Identity, type WithUid } from '../../event/uid.ts';
import type { KafkaClient } from '../../kafka/client.ts';
import {
  followTable,
  newestByKey,
  type FollowedTable,
  type TableRules,
} from '../../kafka/follow/table.ts';
import type { Clock } from '../../ops/clock.ts';
import type { Logger } from '../../ops/log.ts';
import { customersLinkRules, type CustomersLinks } from '../../resources/customers/links.ts';
import type { AudienceRecord } from '../../resources/audiences/record.ts';
import { followAudienceRecords } from '../../resources/audiences/records.ts';
import {
  decodeResource,
  maskResource,
  parseRecordKey,
  recordKey,
  storedUid,
} from '../../resources/config/stored.ts';
import { Pauses } from '../../resources/pauses/pauses.ts';
import type { Destination, Resource } from '../../resources/resource.ts';
import type { Topology } from '../../topology.ts';

/** The state that is small enough for memory: compacted topics, of which the newest record of each key counts. */
export interface LiveState {
  /** By `<kind>/<id>`, secrets masked. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** Why a record cannot be read, by the same. */
  readonly unreadable: ReadonlyMap<string, string>;
  readonly pauses: Pick<Pauses, 'get' | 'resumedSince'>;
  /** Finds the destination that has the id now; undefined if none has. */
  identityOf(destinationId: string): Identity | undefined;
  /** The ids of the destinations that a customer has now. */
  destinationsOf(customer: string): ReadonlySet<string>;
  /** The number of customers that have destinations. */
  readonly customers: number;
  /** The links that show a customer all of their destinations. */
  readonly customersLinks: Pick<CustomersLinks, 'get' | 'byToken'>;
  readonly audiences: ReadonlyMap<string, AudienceRecord>;
  /** The last notice of each destination, and none of an earlier one of its id. */
  notices(): readonly Notice[];
  /** Workers' reports, also of workers that are gone; none of earlier destinations. */
  statuses(): readonly StatusRecord[];
  sourceOf(writeKey: string): string | undefined;
  /** All of this is what Kafka had then, in epoch milliseconds. */
  asOfMs(): number;
  stop(): Promise<void>;
}

export interface LiveStateOptions {
  readonly kafka: KafkaClient;
  readonly topology: Topology;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Resolves once all of it is loaded. */
export async function followLiveState(options: LiveStateOptions): Promise<LiveState> {
  const { kafka, topology, log, clock } = options;
  const { topics } = topology;
  const follow = <T, K>(topic: string, rules: TableRules<T, K>): FollowedTable<T, K> =>
    followTable(kafka, { topic, log, maxWaitMs: 500 }, rules);
  const config = follow(topics.config, {
    create: () => new MaskedResources(),
    apply: (resources, { key, value }) => {
      resources.put(key?.toString() ?? '', value?.toString() ?? null);
    },
  });
  const pauses = follow(topics.pauses, {
    create: () => new Pauses(),
    apply: (table, record) => table.apply(record),
  });
  const notices = follow(
    topics.notices,
    newestByKey((_, value) => decodeNotice(value)),
  );
  const statuses = follow(topics.destinationStatus, {
    create: () => new Statuses(clock),
    apply: (table, { key, value }) => {
      table.put(key?.toString() ?? '', value);
    },
  });
  const audiences = followAudienceRecords(kafka, topology, log);
  const links = follow(topics.links, customersLinkRules);
  const tables = [config, pauses, notices, statuses, audiences, links];
  const stop = async (): Promise<void> => {
    await Promise.all(tables.map((table) => table.stop()));
  };
  try {
    await Promise.all(tables.map(({ loaded }) => loaded));
  } catch (error) {
    await stop();
    throw error;
  }
  const identityOf = (id: string): Identity | undefined => config.current.identityOf(id);
  /** Reports on a destination that was deleted since are shown for as long as workers send them. */
  const isPresent = (said: WithUid & { readonly destination: string }): boolean => {
    const present = identityOf(said.destination);
    return present === undefined || isOf(present, said);
  };
  return {
    get resources() {
      return config.current.readable;
    },
    get unreadable() {
      return config.current.unreadable;
    },
    get pauses() {
      return pauses.current;
    },
    get customersLinks() {
      return links.current;
    },
    get customers() {
      return config.current.customers;
    },
    get audiences() {
      return audiences.current;
    },
    identityOf,
    destinationsOf: (customer) => config.current.destinationsOf(customer),
    notices: () => Array.from(notices.current.values()).filter(isPresent),
    statuses: () =>
      statuses.current.all().filter((each) => each.kind === 'worker' || isPresent(each)),
    sourceOf: (writeKey) => config.current.sourceOf(writeKey),
    asOfMs: () =>
      clock.now() - (performance.now() - Math.min(...tables.map(({ knownAtMs }) => knownAtMs))),
    stop,
  };
}

const none: ReadonlySet<string> = new Set();

/** The records of the topic `config` as people may see them. */
class MaskedResources {
  /** By `<kind>/<id>`, as the others. */
  readonly readable = new Map<string, Resource>();
  readonly unreadable = new Map<string, string>();
  /** The uids of resources that cannot be read. */
  readonly #uids = new Map<string, WithUid>();
  /** By write key, the source's id. */
  readonly #sources = new Map<string, string>();
  /** By customer, the ids of destinations. */
  readonly #customers = new Map<string, Set<string>>();

  put(key: string, value: string | null): void {
    const before = this.readable.get(key);
    if (before?.kind === 'Source')
      for (const each of before.writeKeys)
        // It may have moved to another source, which is written before.
        if (this.#sources.get(each) === before.id) this.#sources.delete(each);
    if (before?.kind === 'Destination') this.#leave(before);
    for (const map of [this.readable, this.unreadable, this.#uids]) map.delete(key);
    if (value === null) return;
    const read = readResource(key, value);
    if (typeof read === 'string') {
      this.unreadable.set(key, read);
      this.#uids.set(key, { uid: storedUid(value) });
      return;
    }
    this.readable.set(key, read);
    if (read.kind === 'Source') for (const each of read.writeKeys) this.#sources.set(each, read.id);
    if (read.kind === 'Destination' && read.customer !== undefined) {
      const ids = this.#customers.get(read.customer) ?? new Set();
      this.#customers.set(read.customer, ids.add(read.id));
    }
  }

  #leave({ id, customer }: Destination): void {
    const ids = customer === undefined ? undefined : this.#customers.get(customer);
    ids?.delete(id);
    if (customer !== undefined && ids?.size === 0) this.#customers.delete(customer);
  }

  get customers(): number {
    return this.#customers.size;
  }

  destinationsOf(customer: string): ReadonlySet<string> {
    return this.#customers.get(customer) ?? none;
  }

  /** Undefined: no destination has the id. */
  identityOf(id: string): Identity | undefined {
    const key = recordKey({ kind: 'Destination', id });
    const resource = this.readable.get(key);
    const found = resource?.kind === 'Destination' ? resource : this.#uids.get(key);
    return found === undefined ? undefined : { id, uid: found.uid };
  }

  sourceOf(writeKey: string): string | undefined {
    return this.#sources.get(writeKey);
  }
}

/** Why it cannot be read, as text. */
function readResource(key: string, value: string): Resource | string {
  const name = parseRecordKey(key);
  if (name === undefined) return 'its kind is not known to this version';
  try {
    return maskResource(decodeResource(name, value));
  } catch (error) {
    return asError(error).message;
  }
}

/** A killed worker takes nothing back: after an hour its topic has forgotten it, and so does this. */
const forgottenAfterMs = 3_600_000;
/** Each worker has a new name after a restart, whether or not anybody looks at the console. */
const sweepEveryMs = 60_000;

/** Workers' reports, also of workers that are gone, by the keys of their records. */
export class Statuses {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #statuses = new Map<string, StatusRecord>();
  #sweptMs = -Infinity;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The number of reports in memory. */
  get size(): number {
    return this.#statuses.size;
  }

  put(key: string, value: Buffer | null): void {
    const status = value === null ? undefined : decodeStatus(value);
    if (status === undefined) this.#statuses.delete(key);
    else this.#statuses.set(key, status);
    if (this.#clock.now() - this.#sweptMs > sweepEveryMs) this.#sweep();
  }

  all(): readonly StatusRecord[] {
    this.#sweep();
    return [...this.#statuses.values()];
  }

  #sweep(): void {
    this.#sweptMs = this.#clock.now();
    const fromMs = this.#sweptMs - forgottenAfterMs;
    for (const [key, { at }] of this.#statuses)
      if (Date.parse(at) < fromMs) this.#statuses.delete(key);
  }
}
