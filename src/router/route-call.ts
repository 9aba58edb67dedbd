import { createHash } from 'node:crypto';
import { bodyMakerOf, type BodyMaker } from '../event/body-shape.ts';
import type { Call } from '../event/call.ts';
import { textOf } from '../event/check-call.ts';
import {
  deliveryKey,
  encodeEnvelope,
  envelopeHeader,
  eventNameOf,
  userOf,
  type Envelope,
} from '../event/envelope.ts';
import { compileFilter, passes } from '../event/filter.ts';
import { urlPathOf, urlValuesOf, type UrlPath } from '../event/url-template.ts';
import { webhooksEnabled } from '../event/integrations.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import type { Config } from '../resources/config/config.ts';
import type { RoutedDestination } from '../resources/config/connected.ts';
import { partitionKeyOf, type Source } from '../resources/resource.ts';
import type { ReadCall } from './read-call.ts';
import type { Unwanted } from './unwanted.ts';

/** The part of the configuration that the router needs. */
export type RouterConfig = Pick<
  Config,
  'offset' | 'source' | 'sourceByWriteKey' | 'destinationsOf' | 'caughtUp'
>;

/**
 * Decides which records a call becomes. The same call, arrival and configuration give the same
 * bytes, whatever was routed before.
 */
export class Routes {
  readonly #config: RouterConfig;
  readonly #topics: DeliveryTopics;
  /** A destination is replaced by another object when it changes. */
  readonly #outlets = new WeakMap<RoutedDestination, Outlet>();

  constructor(config: RouterConfig, topics: DeliveryTopics) {
    this.#config = config;
    this.#topics = topics;
  }

  /** Undefined if no source has the call's write key, or the one that its audience names is not there. */
  sourceOf({ writeKey, audience }: ReadCall): Source | undefined {
    return audience === undefined
      ? this.#config.sourceByWriteKey(writeKey)
      : this.#config.source(audience.sourceId);
  }

  /**
   * Says whether the configuration, as far as it is read, has what the call names: its source, and
   * the enabled destinations that a sync wrote it for.
   */
  hasAllOf(read: ReadCall): boolean {
    const source = this.sourceOf(read);
    const named = read.audience?.destinationIds;
    if (source === undefined || named === undefined) return source !== undefined;
    const connected = this.#config.destinationsOf(source.id);
    return [...named].every((id) => connected.get(id) !== undefined);
  }

  /**
   * One record for each enabled destination of its source that wants the call, all with the same body
   * unless they differ in `payload` or `body`.
   */
  route(read: ReadCall, source: Source): OutgoingRecord[] {
    const records: OutgoingRecord[] = [];
    const candidates = this.#candidates(read, source);
    if (candidates.length === 0 || !webhooksEnabled(read.call)) return records;
    const user = userOf(read.call);
    const eventName = eventNameOf(read.call);
    const bodies = new Bodies(read.call);
    for (const destination of candidates) {
      if (this.#unwanted(read, destination) !== undefined) continue;
      const outlet = this.#outletOf(destination);
      records.push({
        topic: outlet.topic,
        partitionKey: outlet.partitionKey,
        elsewhereAfterMs: outlet.elsewhereAfterMs,
        key: Buffer.from(deliveryKey(destination.id, user)),
        value: bodies.of(outlet),
        headers: {
          [envelopeHeader]: this.#envelope(read, eventName, source, destination, outlet),
        },
      });
    }
    return records;
  }

  /** Ordered by id. All others do not want the call. */
  #candidates({ call, audience }: ReadCall, source: Source): readonly RoutedDestination[] {
    const connected = this.#config.destinationsOf(source.id);
    const named = audience?.destinationIds;
    if (named === undefined) return connected.candidates(call);
    return [...named].sort().flatMap((id) => connected.get(id) ?? []);
  }

  /** Why an enabled destination of the call's source does not get the call; undefined: it does. */
  unwanted(read: ReadCall, destination: RoutedDestination): Unwanted | undefined {
    return webhooksEnabled(read.call) ? this.#unwanted(read, destination) : 'integrations';
  }

  #unwanted(read: ReadCall, destination: RoutedDestination): Unwanted | undefined {
    const allowed = read.audience?.destinationIds;
    if (allowed !== undefined && !allowed.has(destination.id)) return 'audience';
    return this.#outletOf(destination).unwanted(read.call);
  }

  #envelope(
    { call, arrival, audience }: ReadCall,
    eventName: string | undefined,
    source: Source,
    destination: RoutedDestination,
    { urlPaths }: Outlet,
  ): string {
    const envelope: Envelope = {
      destinationId: destination.id,
      uid: destination.uid,
      sourceId: source.id,
      messageId: call.messageId,
      type: call.type,
      eventName,
      previousId: call.type === 'alias' ? textOf(call.fields['previousId']) : undefined,
      urlValues: urlPaths && urlValuesOf(urlPaths, call),
      configOffset: this.#config.offset,
      appendTimeMs: arrival.origin.appendTimeMs,
      isSync: audience === undefined ? undefined : true,
      redrivenMs: arrival.redrivenMs,
      attempts: 0,
    };
    return encodeEnvelope(envelope);
  }

  #outletOf(destination: RoutedDestination): Outlet {
    let outlet = this.#outlets.get(destination);
    if (outlet === undefined) {
      outlet = createOutlet(destination, this.#topics);
      this.#outlets.set(destination, outlet);
    }
    return outlet;
  }
}

/** The bodies of one call. Each is built at its first use, and once for all destinations that get the same. */
class Bodies {
  readonly #call: Call;
  #standard: Buffer | undefined;
  #full: Buffer | undefined;
  #shaped: Map<string, Buffer> | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  of({ body, shapeId }: Pick<Outlet, 'body' | 'shapeId'>): Buffer {
    if (shapeId !== undefined) return this.#shapedBy(body, shapeId);
    return body.payload === 'full'
      ? (this.#full ??= this.#build(body))
      : (this.#standard ??= this.#build(body));
  }

  #shapedBy(body: BodyMaker, shapeId: string): Buffer {
    this.#shaped ??= new Map();
    let built = this.#shaped.get(shapeId);
    if (built === undefined) {
      built = this.#build(body);
      this.#shaped.set(shapeId, built);
    }
    return built;
  }

  #build(body: BodyMaker): Buffer {
    return Buffer.from(body.build(this.#call));
  }
}

/** A short text that is the same for equal texts: a long one would be compared for each destination of each call. */
function idOfText(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** The part of a destination that the router needs, looked up in constant time. */
interface Outlet {
  readonly topic: string;
  /**
   * The time for which events wait while the topic cannot be written; undefined: there is no other
   * topic for them.
   */
  readonly elsewhereAfterMs: number | undefined;
  /** See `partitionKeyOf`. */
  readonly partitionKey: string | undefined;
  readonly body: BodyMaker;
  /** The same for destinations whose bodies have the same shape; undefined: they have none. */
  readonly shapeId: string | undefined;
  /** The paths of the placeholders in its URLs; undefined: there are none. */
  readonly urlPaths: readonly UrlPath[] | undefined;
  /** By the destination's own rules; undefined: it wants the call. */
  unwanted(call: Call): Unwanted | undefined;
}

export interface DeliveryTopics {
  readonly shared: string;
  dedicated(destinationId: string): string;
}

/**
 * Longer than Kafka takes to notice that a broker crashed and to elect leaders: an event that takes another way may
 * overtake others of its user.
 */
const dedicatedPatienceMs = 15_000;

function createOutlet(destination: RoutedDestination, topics: DeliveryTopics): Outlet {
  const { id, topic } = destination;
  const events = destination.events === undefined ? undefined : new Set<string>(destination.events);
  const isNamed = eventNameTest(destination.eventNames);
  const filter = destination.filter === undefined ? undefined : compileFilter(destination.filter);
  const isDedicated = topic === 'dedicated';
  const body = bodyMakerOf(destination);
  return {
    topic: isDedicated ? topics.dedicated(id) : topics.shared,
    elsewhereAfterMs: isDedicated ? dedicatedPatienceMs : undefined,
    partitionKey: partitionKeyOf(destination),
    body,
    shapeId: body.shape === undefined ? undefined : idOfText(body.shape),
    urlPaths: destination.urlPaths?.map(urlPathOf),
    unwanted: (call) => {
      const { type, fields } = call;
      if (events?.has(type) === false) return 'events';
      if (type === 'track' && !isNamed(String(fields['event']))) return 'event-names';
      return filter === undefined || passes(filter, call) ? undefined : 'filter';
    },
  };
}

function eventNameTest(eventNames: readonly string[] | undefined): (name: string) => boolean {
  if (eventNames === undefined) return () => true;
  const names = new Set(eventNames.filter((name) => !name.endsWith('*')));
  const prefixes = eventNames.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
