import {
  previewRequests,
  type PreviewedRequest,
  type RoutedEvent,
} from '../../delivery/preview-requests.ts';
import { decodeEnvelope, envelopeHeader, userOf } from '../../event/envelope.ts';
import type { Unmet } from '../../event/filter.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { ConfigIndex } from '../../resources/config/config-index.ts';
import type { BatchRules, Destination, Source } from '../../resources/resource.ts';
import { unknownSource, type ReadCall } from '../../router/read-call.ts';
import type { DeliveryTopics, Routes } from '../../router/route-call.ts';
import { tellUnwanted, unmetBy, type Unwanted } from '../../router/unwanted.ts';
import { routesOf } from '../rulings.ts';

/** The requests that a call would become, with the resources of some files or of the `config` topic. */
export interface CallPreview {
  /** `line 3`, or where its record is. */
  readonly place: string;
  readonly messageId: string | null;
  readonly type: string | null;
  readonly event: string | null;
  readonly user: string | null;
  readonly source: string | null;
  /** Why no destination can get it. */
  readonly problem: string | null;
  /** By id: all that are connected to the source. */
  readonly destinations: readonly DestinationPreview[];
}

export interface DestinationPreview {
  readonly destination: string;
  readonly sent: boolean;
  /** The rule by which it is not sent. */
  readonly rule: Unwanted | 'disabled' | null;
  /** The same for people. */
  readonly detail: string | null;
  /** The condition of the filter that failed, and the values that it met. */
  readonly unmet: Unmet | null;
  /** One for each URL, of which the first success finishes the event. */
  readonly requests: readonly PreviewedRequest[];
  /** The body of each request, parsed; in a batch, the event's element of the array. */
  readonly body: unknown;
  /** The bounds of the array that the body stands in, also if it is alone; null: the request has this event alone. */
  readonly batch: BatchRules | null;
}

/** A call, or why there is none. */
export type PlacedCall =
  | { readonly place: string; readonly read: ReadCall; readonly problem?: undefined }
  | { readonly place: string; readonly read?: undefined; readonly problem: string };

export interface PreviewOptions {
  readonly sources: readonly Source[];
  readonly destinations: readonly Destination[];
  /** The source of all calls; undefined: each call names its own. */
  readonly sourceId?: string | undefined;
  /** Only this destination is told. */
  readonly destinationId?: string | undefined;
}

/** The router's decisions and the workers' requests, without either of them. */
export class Preview {
  readonly #index = new ConfigIndex();
  readonly #routes: Routes;
  readonly #sourceId: string | undefined;
  /** The source of a call that names none: the only one that there is. */
  readonly #onlySourceId: string | undefined;
  /** The ones that answers are about, by id. */
  readonly #told: readonly Destination[];

  constructor({ sources, destinations, sourceId, destinationId }: PreviewOptions) {
    for (const each of [...sources, ...destinations]) this.#index.put(each);
    this.#routes = routesOf(this.#index, noTopics);
    this.#sourceId = sourceId;
    const [only, ...others] = sourceIdsOf({ sources, destinations });
    this.#onlySourceId = others.length === 0 ? only : undefined;
    this.#told = destinations
      .filter(({ id }) => (destinationId ?? id) === id)
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  of({ place, read, problem }: PlacedCall): CallPreview {
    if (read === undefined) return { ...nobody, place, problem };
    const { call } = read;
    const event = call.fields['event'];
    const head = {
      place,
      messageId: call.messageId,
      type: call.type,
      event: typeof event === 'string' ? event : null,
      user: userOf(call),
    };
    const source = this.#sourceOf(read);
    if (source === undefined)
      return { ...head, source: null, problem: problemOf(read), destinations: [] };
    const events = new Map(
      this.#routes.route(read, source).map((record) => {
        const routed = eventOf(record);
        return [routed.envelope.destinationId, routed] as const;
      }),
    );
    const destinations = this.#told
      .filter(({ sources }) => sources.includes(source.id))
      .map((each) => this.#destination(each, read, events.get(each.id)));
    return { ...head, source: source.id, problem: null, destinations };
  }

  #sourceOf(read: ReadCall): Source | undefined {
    const id = this.#sourceId ?? (namesSource(read) ? undefined : this.#onlySourceId);
    if (id === undefined) return this.#routes.sourceOf(read);
    return this.#index.source(id) ?? { kind: 'Source', id, name: id, writeKeys: [] };
  }

  #destination(
    destination: Destination,
    read: ReadCall,
    event: RoutedEvent | undefined,
  ): DestinationPreview {
    const { id: name, enabled } = destination;
    if (event !== undefined) {
      const requests = previewRequests(destination, event);
      const body = parsed(event.body);
      const batch = destination.batch ?? null;
      return { destination: name, sent: true, ...noRule, requests, body, batch };
    }
    if (!enabled) return notSent(name, 'disabled', 'it is disabled', null);
    const rule = this.#routes.unwanted(read, destination) ?? null;
    if (rule === null) throw new Error(`the index leaves out ${name}, which wants the call`);
    const detail = tellUnwanted(rule, read, destination);
    const unmet = rule === 'filter' ? (unmetBy(read.call, destination) ?? null) : null;
    return notSent(name, rule, detail, unmet);
  }
}

const nobody = {
  messageId: null,
  type: null,
  event: null,
  user: null,
  source: null,
  destinations: [],
};
const noRule = { rule: null, detail: null, unmet: null };

function notSent(
  destination: string,
  rule: DestinationPreview['rule'],
  detail: string,
  unmet: Unmet | null,
): DestinationPreview {
  return { destination, sent: false, rule, detail, unmet, requests: [], body: null, batch: null };
}

/** Topics that nothing is written to. */
export const noTopics: DeliveryTopics = {
  shared: 'delivery',
  dedicated: (id: string): string => `delivery.${id}`,
};

function namesSource({ audience, writeKey }: ReadCall): boolean {
  return audience !== undefined || writeKey !== '';
}

function problemOf(read: ReadCall): string {
  return namesSource(read)
    ? unknownSource(read).detail
    : 'The call has no writeKey; name its source with --source.';
}

/** The sources that are there, and those that destinations name. */
export function sourceIdsOf({
  sources,
  destinations,
}: Pick<PreviewOptions, 'sources' | 'destinations'>): readonly string[] {
  const ofDestinations = destinations.flatMap((each) => each.sources);
  return [...new Set([...sources.map(({ id }) => id), ...ofDestinations])];
}

/** The parts of a record that a worker reads. */
function eventOf({ value, headers = {} }: OutgoingRecord): RoutedEvent {
  const envelope = decodeEnvelope(Buffer.from(headers[envelopeHeader] ?? ''));
  if (envelope === undefined) throw new Error('the router wrote no envelope');
  return { envelope, body: Buffer.from(value ?? '') };
}

/** The JSON that a body is; bodies are made by JSON.stringify. */
function parsed(body: Buffer): unknown {
  return JSON.parse(body.toString());
}
