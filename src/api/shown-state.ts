import { judgedView, noneGivenUp, type DestinationHealth } from '../event/destination-health.ts';
import type { Pauses } from '../resources/pauses/pauses.ts';
import type { Destination } from '../resources/resource.ts';
import type { Reports } from '../status/reports.ts';

/** Everything that is known beside the configuration. */
export interface KnownStates {
  readonly reports: Pick<Reports, 'about'>;
  readonly pauses: Pick<Pauses, 'get'>;
}

/** The state of a destination, as an answer has it beside its fields. Times are ISO 8601. */
export interface ShownState {
  readonly state: DestinationHealth;
  readonly since?: string;
  /** The time at which those were last heard who report on it; absent: nobody was. */
  readonly asOf?: string;
  /** The reason why nobody knows its state. */
  readonly why?: string;
}

/** @param known undefined: it could not be read in time */
export function shownState(
  destination: Pick<Destination, 'id' | 'uid' | 'enabled'>,
  known: KnownStates | undefined,
  nowMs: number,
): ShownState {
  const { id, uid, enabled } = destination;
  const said = known?.reports.about({ id, uid }, nowMs) ?? nothingSaid;
  const pausedSince = known?.pauses.get({ id, uid })?.since;
  const off = enabled ? 'enabled' : 'disabled';
  const { state, since, asOf } = judgedView(
    id,
    said,
    {
      configured: pausedSince === undefined ? off : 'paused',
      pausedSince,
      isHeard: known !== undefined,
      // Neither attempts nor dead letters are read for each question.
      past: undefined,
      givenUp: noneGivenUp,
    },
    nowMs,
  );
  const isSilent = said.workers.length === 0;
  const why = known === undefined ? notRead : isSilent ? noWorker : noReport;
  return {
    state,
    ...(since === undefined ? {} : { since }),
    ...(asOf === undefined ? {} : { asOf }),
    ...(state === 'unknown' ? { why } : {}),
  };
}

const nothingSaid = { workers: [], destinations: new Map(), heard: undefined };

const notRead = 'what workers report could not be read from Kafka in time; ask again';
const noWorker = 'no worker is running, or none can be heard';
const noReport = 'it had no event for some minutes, or its first answer has not come yet';
