import type { AuditEntry, RunOutcome } from '../../event/audit-entry.ts';
import type { AttemptLine } from '../../event/attempt-line.ts';
import type { DestinationHealth } from '../../event/destination-health.ts';
import type {
  DueSpan,
  LastAnswer,
  UrlStatus,
  WorkerStatus,
} from '../../event/destination-status.ts';
import type { EndAgain } from '../../event/sent-again.ts';

export type { AuditEntry, RunOutcome };

/**
 * What the console's HTTP API answers, under `/api/v1`. Times are ISO 8601, in UTC; a field without a value
 * is left out unless its type says null. Types only: the pages are built on them too.
 */

/** A customer's link that works; its token is in the link alone. */
export interface LinkRow {
  readonly id: string;
  readonly destination: string;
  readonly bodies: boolean;
  readonly until: string;
  readonly made: string;
  readonly by: string;
  readonly name?: string;
}

export interface MadeLink {
  readonly id: string;
  /** Behind the console's address. Nothing shows it again. */
  readonly path: string;
  readonly until: string;
}

/** Every answer to a GET says how new it is. */
export interface Dated {
  /** Everything that happened until then is in it; absent: what Kafka holds is still being read. */
  readonly asOf?: string;
  /** That it is old, in words; absent: it is as new as it can be. */
  readonly old?: string;
}

/** How new all answers are, and what keeps them from being right. */
export interface Freshness extends Dated {
  /** The cause before its consequences. */
  readonly concerns: readonly Concern[];
}

export interface Concern {
  readonly kind: 'kafka-away' | 'no-worker' | 'reports-old' | 'index-behind';
  readonly since?: string;
  readonly text: string;
  /** What to do. */
  readonly advice: string;
}

/** A list, a piece at a time: `next` is the cursor of the piece behind it; absent at the end. */
export interface Page<T> extends Dated {
  readonly items: readonly T[];
  readonly next?: string;
}

/** Every answer that is no success: RFC 9457, `application/problem+json`. */
export interface Problem {
  /** `about:blank`, or `/problems/<name>`. */
  readonly type: string;
  readonly title: string;
  readonly status: number;
  /** One sentence: what was wrong, where, and what is allowed. */
  readonly detail: string;
}

export interface Session {
  readonly user: string;
  /** By what the audit knows them, if that is not the name: `<issuer> <sub>`, or `link <id>` of a customer. */
  readonly subject?: string;
  readonly role: 'viewer' | 'operator' | 'customer';
  /** Of a customer: the only destination that may be seen. */
  readonly destination?: string;
  /** Of a customer: when the link ends. ISO 8601. */
  readonly until?: string;
  /** Whether bodies of events may be seen. */
  readonly bodies: boolean;
  /** Sent along as the header `x-csrf-token` with every POST. */
  readonly csrf: string;
  /** Nobody logs in: it listens on loopback only. */
  readonly isOpen: boolean;
}

/** How far the console itself is behind what Kafka holds. */
export interface Indexing {
  /** Nothing has waited for ten seconds to be read. */
  readonly isCaughtUp: boolean;
  /** Attempts from before are not known. */
  readonly since?: string;
}

export interface DestinationRow {
  readonly id: string;
  readonly name: string;
  readonly state: DestinationHealth;
  /** Of one that fails: another of its URLs takes the events. */
  readonly byOtherUrl?: true;
  readonly since?: string;
  /** When the workers that report on it were last heard; absent: none was. */
  readonly asOf?: string;
  readonly until?: string;
  readonly lastAnswer?: LastAnswer;
  /** Events. */
  readonly waiting: number;
  /** Of a paused destination: events that were kept since, as far as attempts go back. */
  readonly kept?: number;
  readonly oldest?: string;
  readonly nextTry?: string;
  /** When the first event that waits is given up. */
  readonly deadline?: string;
  /** Of the last three minutes: events delivered, and attempts that were no delivery. */
  readonly perMinute: { readonly delivered: number; readonly failed: number };
  readonly p99Ms?: number;
  /** Of the last 24 hours. */
  readonly deadLetters: number;
  readonly lastHour: LastHour;
}

export interface LastHour {
  /** From 0 to 1, of attempts; absent without any. */
  readonly successRate?: number;
  /** Twelve of five minutes, the oldest first; the last one is not over. */
  readonly points: readonly (readonly [delivered: number, failed: number, p99Ms: number | null])[];
}

/** By which destinations are listed, the most first. */
export const orders = ['urgency', 'dead-letters', 'waiting', 'p99'] as const;
export type Order = (typeof orders)[number];

export interface DestinationList extends Page<DestinationRow> {
  /** Of all that the search finds, whatever their state. */
  readonly counts: Readonly<Record<DestinationHealth, number>>;
  readonly overview: Overview;
  readonly indexing: Indexing;
}

/** Of all destinations, whatever is searched for. */
export interface Overview {
  readonly total: number;
  readonly counts: Readonly<Record<DestinationHealth, number>>;
  /** No URL of theirs takes events. */
  readonly getNothing: number;
  /** One of their URLs fails, and another takes the events. */
  readonly byOtherUrl: number;
}

export interface DestinationDetail extends DestinationRow, Dated {
  readonly urls: readonly UrlStatus[];
  readonly waitingBy: {
    /** In the workers' memory. */
    readonly here: number;
    /** By delay: `10s`, `1m`, … */
    readonly tiers: Readonly<Record<string, number>>;
    /** When what waits in a tier is due. */
    readonly due: Readonly<Record<string, DueSpan>>;
  };
  /**
   * As in resource files, its secrets masked; empty where it is not configured any more. Absent for a customer,
   * because a URL's query may have a token.
   */
  readonly resource?: object;
  readonly pause?: { readonly since: string };
  /** Dead letters that were never sent again, of the last thirty days. */
  readonly openDeadLetters: number;
  /** Since then it is not paused any more, and events that were kept for it may be left. */
  readonly resumedSince?: string;
  /** Requests are signed with a former secret as well until then. */
  readonly formerSecretUntil?: string;
}

export const ranges = ['1h', '24h', '3d'] as const;
export type Range = (typeof ranges)[number];

export interface Series extends Dated {
  /** Of the first point. */
  readonly from: string;
  readonly stepS: number;
  /** Every step of the range, also those without attempts. */
  readonly points: readonly SeriesPoint[];
  readonly urls: readonly UrlSeries[];
}

export interface SeriesPoint {
  readonly at: string;
  readonly delivered: number;
  readonly failed: number;
  readonly refused: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

export interface UrlSeries {
  /** Without credentials and query. */
  readonly url: string;
  /** Stretches with attempts, each a step long at least; neighbours with the same outcome are one. */
  readonly bands: readonly {
    readonly from: string;
    readonly to: string;
    readonly delivered: number;
    /** Refusals too. */
    readonly failed: number;
  }[];
  /** Absent where no worker says. */
  readonly breaker?: UrlStatus['breaker'];
}

/** `seq` grows; `after=<seq>` asks for what is newer. */
export type AttemptRow = AttemptLine & { readonly seq: string };

/** A letter was sent again. */
export interface SentAgain {
  readonly at: string;
  /** What became of the event; absent for calls. `unknown`: nothing is known yet, or no more. */
  readonly became?: EndAgain;
}

export interface DeadLetter {
  /** `<partition>:<offset>` in the topic of dead letters, as the command line names it. */
  readonly place: string;
  readonly at: string;
  readonly destination: string;
  readonly user: string;
  readonly reason: string;
  readonly detail: string;
  readonly messageId?: string;
  readonly type?: string;
  readonly source?: string;
  readonly attempts?: number;
  /** When the call was received. */
  readonly callTime?: string;
  /** When it was sent again before it became this letter. */
  readonly redrivenAt?: string;
  /** How the last answer of its endpoint begins. */
  readonly answer?: string;
  readonly url?: string;
  /** Of the body. */
  readonly bytes: number;
  readonly sentAgain?: SentAgain;
}

export interface DeadLetterCount {
  readonly destination: string;
  readonly reason: string;
  /** `2026-01-31`, in UTC. */
  readonly day: string;
  readonly count: number;
  /** Those that were never sent again. */
  readonly open: number;
}

export interface RejectedCall {
  /** `<partition>:<offset>` in the topic of rejected calls. */
  readonly place: string;
  readonly at: string;
  readonly reason: string;
  readonly detail: string;
  /** Of the record: usually the user. */
  readonly key?: string;
  /** The id of the source that its write key belongs to; absent where none does. */
  readonly source?: string;
  /** Where it first arrived. */
  readonly origin: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: number;
    readonly at: string;
  };
  /** Of the call. */
  readonly bytes: number;
  /** How it begins. */
  readonly sample: string;
  readonly sentAgain?: SentAgain;
}

export interface RejectedCount {
  /** Empty: its write key is missing or belongs to none. */
  readonly source: string;
  readonly reason: string;
  readonly day: string;
  readonly count: number;
  /** Those that were never sent again. */
  readonly open: number;
}

/** An event from its receipt to its end, as `postrider explain` tells it. */
export interface Story extends Dated {
  readonly messageId: string;
  readonly user: string | null;
  readonly source: string | null;
  readonly type: string | null;
  /** The name of a track call. */
  readonly event: string | null;
  readonly received: readonly {
    readonly at: string;
    readonly topic: string;
    /** `<partition>:<offset>` */
    readonly place: string;
    readonly outcome:
      'routed' | 'unwanted' | 'duplicate' | 'rejected' | 'unreadable' | 'not-routed-yet';
    readonly detail: string;
  }[];
  readonly destinations: readonly DestinationStory[];
  /** What is sent, its secrets masked; absent where nothing of it is kept or bodies may not be seen. */
  readonly copies?: readonly {
    readonly destination: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }[];
}

export interface DestinationStory {
  readonly destination: string;
  /** Which destination of the id; null: the first one. */
  readonly uid: string | null;
  readonly state:
    | 'delivered'
    | 'waiting'
    | 'on-its-way'
    | 'paused'
    | 'dead-letter'
    | 'sent-again'
    | 'dropped'
    | 'done'
    | 'no-trace'
    | 'unwanted';
  readonly at: string | null;
  readonly detail: string;
  readonly until: string | null;
  readonly deadline: string | null;
  readonly place: string | null;
  readonly unwanted: { readonly by: string; readonly unwanted?: string | undefined } | null;
  readonly happened: readonly { readonly at: string; readonly what: string }[];
}

/** `GET /events/search?user=`: what is known of a user's events, the newest first. Its story is `GET /events?message=`. */
/** What has become of an event, from the best to the worst. */
export const outcomes = ['delivered', 'dropped', 'kept', 'waiting', 'dead-letter'] as const;
export type EventOutcome = (typeof outcomes)[number];

export interface FoundEvent {
  readonly messageId: string;
  readonly user: string;
  readonly source: string;
  readonly type: string;
  readonly eventName: string | null;
  /** When something last happened to it. */
  readonly at: string;
  /** Where it fared worst. */
  readonly outcome: EventOutcome;
  readonly destinations: readonly string[];
}

export interface Pipeline extends Dated {
  readonly at: string;
  /** Dedicated topics and those of former retry tiers are in it while something waits in them. */
  readonly backlog: readonly {
    readonly stage: 'router' | 'delivery' | 'retry';
    readonly topic: string;
    /** Records not finished: of a retry topic, those not due too. One may hold many events. */
    readonly records: number;
    /** When the oldest of them was appended. */
    readonly oldest?: string | undefined;
  }[];
  /** Of the last hour. */
  readonly deadLetters: number;
  readonly rejectedCalls: number;
  readonly workers: readonly WorkerStatus[];
  /** What passed in the last minute, left to right. */
  readonly rates: readonly { readonly stage: Stage; readonly perMinute: number }[];
  /** The stage that holds the flow back; absent where none does. */
  readonly behind?: Stage;
}

/** Left to right; `dead-letter` and `rejected` are ways out. */
export const stages = [
  'ingest',
  'router',
  'delivery',
  'retry',
  'delivered',
  'dead-letter',
  'rejected',
] as const;
export type Stage = (typeof stages)[number];

export interface AudienceRow {
  readonly id: string;
  /** Absent where the resource is gone and users have its trait still. */
  readonly resource?: object;
  readonly told: readonly {
    readonly source: string;
    readonly trait: string;
    readonly members: number;
    readonly destinations?: readonly string[];
  }[];
  /** The newest first, at most 50. */
  readonly syncs: readonly SyncRun[];
}

export interface SyncRun {
  readonly sync: string;
  readonly action: string;
  readonly source: string;
  readonly trait: string;
  readonly startedAt: string;
  readonly durationMs: number;
  /** `unfinished`: it is sending, or was cut off. */
  readonly outcome: 'done' | 'unfinished' | 'refused' | 'failed';
  readonly reason?: string;
  readonly members: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  readonly baseline: number;
  readonly forgotten: number;
}

/** Its items are as in resource files, secrets masked. */
export interface Configuration extends Page<object> {
  /** All that there are, whatever is searched for. */
  readonly kinds: Readonly<Record<string, number>>;
  /** The first records that this version cannot read. */
  readonly unreadable: readonly { readonly name: string; readonly reason: string }[];
  readonly unreadableTotal: number;
}

/** What a person should read: a destination failing for long, disabled, well again. */
export interface Notice {
  readonly id: string;
  readonly at: string;
  readonly kind: string;
  readonly destination?: string;
  readonly text: string;
}
