import { hash } from 'node:crypto';
import { encodeAudienceRoute } from '../event/headers.ts';
import { isIdTooLong, isLongerThan, maxCallBytes } from '../event/limits.ts';
import { partitionOf } from '../kafka/produce/partitioner.ts';
import type { PlacedRecord } from '../kafka/produce/transactions.ts';
import { keyProperties, type EmittedCall } from '../resources/resource.ts';
import { kindOf, type Change, type SyncTarget } from './changes.ts';

export interface TraitCallsOptions {
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
 * Makes the calls for a change. The message id of each is derived from audience, sync and user, so each call of a sync
 * has its own id, and a repetition of the call the same one.
 */
export class TraitCalls {
  readonly #options: TraitCallsOptions;
  readonly #headers: Headers;
  readonly #removedHeaders: Headers;
  readonly #baselineHeaders: Headers;
  readonly #emit: readonly EmittedCall[];
  readonly #trait: string;
  readonly #change: CommonPart;
  readonly #baseline: CommonPart;

  constructor(options: TraitCallsOptions) {
    const { target, sync, timeMs, baseline, formerDestinations } = options;
    const { id, name, trait, source: sourceId, destinations, emit = ['identify'] } = target;
    this.#options = options;
    const headersFor = (ids: readonly string[] | undefined): Headers =>
      encodeAudienceRoute({
        sourceId,
        destinationIds: ids === undefined ? undefined : new Set(ids),
      });
    this.#headers = headersFor(destinations);
    this.#removedHeaders = headersFor(destinations && [...destinations, ...formerDestinations]);
    this.#baselineHeaders = headersFor(baseline?.destinations ?? destinations);
    this.#emit = emit;
    this.#trait = JSON.stringify(trait);
    this.#change = commonPartOf(id, name, sync, timeMs);
    this.#baseline = commonPartOf(id, name, baseline?.sync ?? sync, baseline?.timeMs ?? timeMs);
  }

  /** Undefined if a call would be larger than the pipeline accepts. */
  of(change: Change): readonly PlacedRecord[] | undefined {
    const { userId } = change;
    if (isIdTooLong(userId)) return undefined;
    const { callTopic, callPartitions } = this.#options;
    const isBaseline = kindOf(change) === 'baseline';
    const common = isBaseline ? this.#baseline : this.#change;
    const trait = this.#traitOf(change);
    const values = this.#emit.map((call) => this.#valueOf(call, userId, trait, common));
    if (values.some((value) => isLongerThan(value, maxCallBytes))) return undefined;
    return values.map((value) => ({
      topic: callTopic,
      partition: partitionOf(userId, callPartitions),
      key: userId,
      value,
      headers: isBaseline ? this.#baselineHeaders : this.#headersOf(change),
    }));
  }

  /** @param trait its value as JSON */
  #valueOf(
    call: EmittedCall,
    userId: string,
    trait: string,
    { idPrefix, end }: CommonPart,
  ): string {
    const kind = call === 'identify' ? '' : `${call}\n`;
    const messageId = hash('sha1', kind + idPrefix + userId, 'hex');
    const start = `{"type":"${call}","messageId":"${messageId}","userId":${JSON.stringify(userId)}`;
    return `${start}${this.#contentOf(call, trait)}${end}`;
  }

  /** Segment's shape of the call: a track call names the trait beside its value, and an audience has two events. */
  #contentOf(call: EmittedCall, trait: string): string {
    const pair = `${this.#trait}:${trait}`;
    if (call === 'identify') return `,"traits":{${pair}}`;
    const { kind } = this.#options.target;
    const isIn = trait === 'true';
    const event =
      kind === 'ComputedTrait' ? 'Trait Computed' : isIn ? 'Audience Entered' : 'Audience Exited';
    return `,"event":"${event}","properties":{"${keyProperties[kind]}":${this.#trait},${pair}}`;
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

/** The part that all calls of a sync have in common: what their ids begin with, and their end behind the trait. */
interface CommonPart {
  readonly idPrefix: string;
  readonly end: string;
}

function commonPartOf(id: string, name: string, sync: string, timeMs: number): CommonPart {
  const context = JSON.stringify({ audience: { id, name, sync } });
  const timestamp = JSON.stringify(new Date(timeMs).toISOString());
  return { idPrefix: `${id}\n${sync}\n`, end: `,"context":${context},"timestamp":${timestamp}}` };
}
