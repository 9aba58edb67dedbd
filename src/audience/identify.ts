import { hash } from 'node:crypto';
import { encodeAudienceRoute } from '../event/audience-headers.ts';
import { maxCallBytes } from '../event/limits.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { kindOf, type Change, type SyncTarget } from './sync-target.ts';

export interface IdentifyOptions {
  readonly target: SyncTarget;
  /** Names this sync, in calls and message ids. */
  readonly sync: string;
  /** Of all its calls: when it began. */
  readonly timeMs: number;
  readonly callTopic: string;
  readonly callPartitions: number;
  readonly baseline: Baseline | undefined;
}

/** Calls about users who did not change. */
export interface Baseline {
  /** The only one that gets them; undefined: all that get the changes. */
  readonly destination: string | undefined;
}

/**
 * Makes the call about a change. Its message id follows from audience, sync and user, so each call of a
 * sync has one of its own, and a repetition on the way the same one.
 */
export class IdentifyCalls {
  readonly #options: IdentifyOptions;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #baselineHeaders: Readonly<Record<string, string>>;
  readonly #idPrefix: string;
  readonly #traitStart: string;
  readonly #end: string;

  constructor(options: IdentifyOptions) {
    const { target, sync, timeMs, baseline } = options;
    const { id, name, trait, source: sourceId, destinations } = target;
    this.#options = options;
    const headersFor = (ids: readonly string[] | undefined): Readonly<Record<string, string>> =>
      encodeAudienceRoute({
        sourceId,
        destinationIds: ids === undefined ? undefined : new Set(ids),
      });
    const { destination } = baseline ?? {};
    this.#headers = headersFor(destinations);
    this.#baselineHeaders = headersFor(destination === undefined ? destinations : [destination]);
    this.#idPrefix = `${id}\n${sync}\n`;
    this.#traitStart = `,"traits":{${JSON.stringify(trait)}:`;
    const context = JSON.stringify({ audience: { id, name, sync } });
    const timestamp = JSON.stringify(new Date(timeMs).toISOString());
    this.#end = `},"context":${context},"timestamp":${timestamp}}`;
  }

  /** Undefined where the call would be larger than the pipeline takes. */
  of(change: Change): PlacedRecord | undefined {
    const { userId } = change;
    const { callTopic, callPartitions } = this.#options;
    const value = `{"type":"identify","messageId":"${this.#messageId(userId)}","userId":${JSON.stringify(userId)}${this.#traitStart}${this.#traitOf(change)}${this.#end}`;
    if (Buffer.byteLength(value) > maxCallBytes) return undefined;
    return {
      topic: callTopic,
      partition: partitionOf(userId, callPartitions),
      key: userId,
      value,
      headers: kindOf(change) === 'baseline' ? this.#baselineHeaders : this.#headers,
    };
  }

  #messageId(userId: string): string {
    return hash('sha1', this.#idPrefix + userId, 'hex');
  }

  #traitOf({ value }: Change): string {
    if (value !== null) return value;
    return this.#options.target.kind === 'Audience' ? 'false' : 'null';
  }
}
