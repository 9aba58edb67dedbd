import { timeText } from '../dead-letter/texts.ts';
import type { WithUid } from '../event/uid.ts';
import type { ConfigIndex } from '../resources/config/config-index.ts';
import type { ConfigMoment } from '../resources/config/config-history.ts';
import type { Destination, Source } from '../resources/resource.ts';
import type { Suppressed } from '../resources/suppressions/suppressed-users.ts';
import type { ReadCall } from '../router/read-call.ts';
import { Routes, type DeliveryTopics } from '../router/route-call.ts';
import { tellUnwanted, type Unwanted } from '../router/unwanted.ts';

/** The router's own decision whether a destination gets a call. */
export interface Ruling extends WithUid {
  readonly destination: string;
  /** Why it does not get the call; undefined: it does. */
  readonly unwanted?: Unwanted | 'disabled' | 'not-connected' | 'suppressed';
  /** The reason for people. */
  readonly detail: string;
  /**
   * `then`: by the configuration of the routing; `now`: by the current one, because it has changed
   * since.
   */
  readonly by: 'then' | 'now';
}

export interface Rulings {
  readonly source: Source | undefined;
  /** A ruling for each destination that is connected to the source, then or now. */
  readonly all: readonly Ruling[];
}

/** Repeats the router's decision on a call with the configuration of a moment. */
export function decideAgain(
  read: ReadCall,
  then: ConfigMoment,
  now: ConfigMoment,
  topics: DeliveryTopics,
  suppressed?: Suppressed,
): Rulings {
  const routes = routesOf(then.index, topics);
  const source = routes.sourceOf(read);
  if (source === undefined) return { source, all: [] };
  const isConnected = ({ sources }: Destination): boolean => sources.includes(source.id);
  const connected = new Map(
    [...now.destinations, ...then.destinations].filter(([, each]) => isConnected(each)),
  );
  const rule = (id: string): Ruling => {
    const by = then.isOfThen({ kind: 'Destination', id }) ? 'then' : 'now';
    const destination = then.destinations.get(id);
    if (destination === undefined || !isConnected(destination)) {
      const detail = `it was not connected to source ${source.id}`;
      return { destination: id, unwanted: 'not-connected', detail, by };
    }
    if (!destination.enabled)
      return { destination: id, unwanted: 'disabled', detail: 'it is disabled', by };
    if (suppressed !== undefined) {
      const detail = `its user is suppressed since ${timeText(suppressed.sinceMs)} (suppress-user)`;
      return { destination: id, unwanted: 'suppressed', detail, by };
    }
    const unwanted = routes.unwanted(read, destination);
    if (unwanted === undefined) return { destination: id, detail: '', by };
    return { destination: id, unwanted, detail: tellUnwanted(unwanted, read, destination), by };
  };
  const all = Array.from(connected)
    .map(([id, { uid }]) => ({ ...rule(id), uid }))
    .sort((a, b) => (a.destination < b.destination ? -1 : 1));
  return { source, all };
}

/** The router's decisions by these resources. */
export function routesOf(index: ConfigIndex, topics: DeliveryTopics): Routes {
  const config = {
    offset: 0,
    source: (id: string) => index.source(id),
    sourceByWriteKey: (writeKey: string) => index.sourceByWriteKey(writeKey),
    destinationsOf: (sourceId: string) => index.destinationsOf(sourceId),
    caughtUp: () => Promise.resolve(),
  };
  return new Routes(config, topics);
}
