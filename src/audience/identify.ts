import { hash } from 'node:crypto';
import { encodeAudienceRoute } from '../event/headers.ts';
import { isIdTooLong, isLongerThan, maxCallBytes } from '../event/limits.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { kindOf, type Change, type SyncTarget } from './changes.ts';

export interface IdentifyOptions {
  readonly target: SyncTarget;
  /** Identifies this sync in calls and message ids. */
  readonly sync: string;
  /** Time of all its calls: when the sync began. */
  readonly timeMs: number;
  readonly callTopic: string;
  readonly callPartitions: number;
  /** Destinations besides the target's own. They only get traits that are taken back. */
  readonly formerDestinations: readonly string[];
  readonly baseline: Baseline | undefined;
}

/** Calls about users who did not change. */
export interface Baseline {
  /** The only destinations that get them; undefined: all that get the changes. */
  readonly destinations: readonly string[] | undefined;
  /** All that get them, when the run began: users who were told before one was added have to be told again. */
  readonly reached: readonly string[];
  /** The calls take the trait back. */
  readonly isTakenBack: boolean;
  /** The sync's id, as the run that began it had it. */
  readonly sync: string;
  readonly timeMs: number;
}

type Headers = Readonly<Record<string, string>>;

/**
 * Makes the call for a change. Its message id is derived from audience, sync and user, so each call of a sync
 * has its own id, and a repetition of the call the same one.
 */
export class IdentifyCalls {
  readonly #options: IdentifyOptions;
  readonly #headers: Headers;
  readonly #removedHeaders: Headers;
  readonly #baselineHeaders: Headers;
  readonly #traitStart: string;
  readonly #change: CommonPart;
  readonly #baseline: CommonPart;

  constructor(options: IdentifyOptions) {
    const { target, sync, timeMs, baseline, formerDestinations } = options;
    const { id, name, trait, source: sourceId, destinations } = target;
    this.#options = options;
    const headersFor = (ids: readonly string[] | undefined): Headers =>
      encodeAudienceRoute({
        sourceId,
        destinationIds: ids === undefined ? undefined : new Set(ids),
      });
    this.#headers = headersFor(destinations);
    this.#removedHeaders = headersFor(destinations && [...destinations, ...formerDestinations]);
    this.#baselineHeaders = headersFor(baseline?.destinations ?? destinations);
    this.#traitStart = `,"traits":{${JSON.stringify(trait)}:`;
    this.#change = commonPartOf(id, name, sync, timeMs);
    this.#baseline = commonPartOf(id, name, baseline?.sync ?? sync, baseline?.timeMs ?? timeMs);
  }

  /** Undefined if the call would be larger than the pipeline accepts. */
  of(change: Change): PlacedRecord | undefined {
    const { userId } = change;
    if (isIdTooLong(userId)) return undefined;
    const { callTopic, callPartitions } = this.#options;
    const isBaseline = kindOf(change) === 'baseline';
    const { idPrefix, end } = isBaseline ? this.#baseline : this.#change;
    const messageId = hash('sha1', idPrefix + userId, 'hex');
    const value = `{"type":"identify","messageId":"${messageId}","userId":${JSON.stringify(userId)}${this.#traitStart}${this.#traitOf(change)}${end}`;
    if (isLongerThan(value, maxCallBytes)) return undefined;
    return {
      topic: callTopic,
      partition: partitionOf(userId, callPartitions),
      key: userId,
      value,
      headers: isBaseline ? this.#baselineHeaders : this.#headersOf(change),
    };
  }

  #headersOf({ value }: Change): Headers {
    return value === null ? this.#removedHeaders : this.#headers;
  }

  #traitOf(change: Change): string {
    const { baseline } = this.#options;
    const isTakenBack = kindOf(change) === 'baseline' && baseline?.isTakenBack === true;
    if (change.value !== null && !isTakenBack) return change.value;
    return this.#options.target.kind === 'Audience' ? 'false' : 'null';
  }
}

/** The part that all calls of a sync have in common. */
interface CommonPart {
  readonly idPrefix: string;
  readonly end: string;
}

function commonPartOf(id: string, name: string, sync: string, timeMs: number): CommonPart {
  const context = JSON.stringify({ audience: { id, name, sync } });
  const timestamp = JSON.stringify(new Date(timeMs).toISOString());
  return { idPrefix: `${id}\n${sync}\n`, end: `},"context":${context},"timestamp":${timestamp}}` };
}
