import { isOf, type Identity, type WithUid } from '../event/uid.ts';
import type { KafkaClient } from '../kafka/client.ts';
import { readRange } from '../kafka/read-range.ts';
import type { Destination } from '../resources/resource.ts';
import { overlapEnd } from '../resources/secret-overlap.ts';
import {
  decodeResource,
  maskResource,
  parseRecordKey,
  storedCustomer,
  storedUid,
} from '../resources/config/stored.ts';

/** The existing destinations, by id. A record is parsed only when it is needed. */
export class ConfiguredDestinations {
  readonly #records: ReadonlyMap<string, Buffer>;

  private constructor(records: ReadonlyMap<string, Buffer>) {
    this.#records = records;
  }

  /** @throws PostriderError `kafka-unavailable`, `not-found` */
  static async read(kafka: KafkaClient, configTopic: string): Promise<ConfiguredDestinations> {
    const records = new Map<string, Buffer>();
    for await (const { key, value } of readRange(kafka, { topic: configTopic })) {
      const name = parseRecordKey(key?.toString() ?? '');
      if (name?.kind !== 'Destination') continue;
      if (value === null) records.delete(name.id);
      else records.set(name.id, value);
    }
    return new ConfiguredDestinations(records);
  }

  ids(): Iterable<string> {
    return this.#records.keys();
  }

  has(id: string): boolean {
    return this.#records.has(id);
  }

  /** The destination that has the id now. */
  identityOf(id: string): Identity {
    return { id, uid: storedUid(this.#records.get(id)?.toString() ?? '') };
  }

  customerOf(id: string): string | undefined {
    const value = this.#records.get(id);
    // Most records need not be parsed where few have one.
    return value?.includes('"customer"') === true ? storedCustomer(value.toString()) : undefined;
  }

  /**
   * Says whether the report is about a destination that exists, or about a deleted one without a
   * successor.
   */
  isPresent(said: WithUid & { readonly destination: string }): boolean {
    return !this.has(said.destination) || isOf(this.identityOf(said.destination), said);
  }

  /** False too for a destination whose record this version cannot read. */
  isDisabled(id: string): boolean {
    return this.#destination(id)?.enabled === false;
  }

  /** Until when requests are signed with a former secret as well. */
  overlapEnd(id: string, nowMs: number): string | undefined {
    return overlapEnd(this.#destination(id) ?? {}, nowMs);
  }

  /** The ids of enabled destinations with a topic of their own, without those that this version cannot read. */
  *dedicated(): Generator<string> {
    for (const [id, value] of this.#records) {
      if (!value.includes('"dedicated"')) continue;
      const destination = this.#destination(id);
      if (destination?.topic === 'dedicated' && destination.enabled) yield id;
    }
  }

  #destination(id: string): Destination | undefined {
    const value = this.#records.get(id);
    if (value === undefined) return undefined;
    try {
      const resource = maskResource(decodeResource({ kind: 'Destination', id }, value.toString()));
      return resource.kind === 'Destination' ? resource : undefined;
    } catch {
      return undefined;
    }
  }
}
