import { describeLine } from '../../attempts/describe.ts';
import { ageText } from '../../dead-letter/texts.ts';
import { parseDuration } from '../../duration.ts';
import type { AttemptLine } from '../../event/attempt-line.ts';
import type { LastAnswer, UrlStatus, WorkerStatus } from '../../event/destination-status.ts';
import type { Notice } from '../../event/notice.ts';
import { counted, printable } from '../../printable.ts';
import { formatTable } from '../../resources/table.ts';
import type { JudgedView } from '../../event/destination-health.ts';
import type { Pipeline } from '../../status/pipeline.ts';
import type { UnwritableTopic } from '../../status/unwritable.ts';

/** The data of `postrider status`. */
export interface Overview extends Pipeline {
  readonly at: string;
  /** Topics of the pipeline that take no records, or not all. */
  readonly unwritable: readonly UnwritableTopic[];
  readonly workers: readonly WorkerStatus[];
  /**
   * The time at which a worker was last heard, also one that is gone; undefined: none was in the
   * last minutes.
   */
  readonly heard: string | undefined;
  /** The worst first. */
  readonly destinations: readonly CountedView[];
  /** There are more dead letters than were counted. */
  readonly isGivenUpCut: boolean;
}

/** With its customer, and its dead letters of the last hour. */
interface CountedView extends JudgedView {
  readonly customer: string | undefined;
  readonly deadLetters: number;
}

/** Length of an answer's beginning that is shown. */
const shownAnswer = 80;

/** @param limit greatest number of destinations */
export function overviewText(overview: Overview, limit: number, nowMs: number): string {
  const { backlog, unwritable, workers, heard, destinations, deadLetters, rejectedCalls } =
    overview;
  const stages = backlog.map(({ stage, topic, records, oldest }) => [
    stage,
    topic,
    String(records),
    ago(oldest, nowMs),
  ]);
  const rows = workers.map((each) => [
    each.worker,
    ago(each.startedAt, nowMs),
    String(each.inFlight),
    String(each.queued),
    String(lagOf(each)),
    each.isCutOff ? 'cannot reach most endpoints' : '',
  ]);
  const shown = destinations.slice(0, limit);
  const given = `dead letters of the last hour: ${deadLetters}; rejected calls: ${rejectedCalls}`;
  const parts = [
    formatTable(['STAGE', 'TOPIC', 'RECORDS BEHIND', 'OLDEST'], stages),
    ...unwritable.map(({ topic, problem }) => `topic ${topic} cannot be written: ${problem}`),
    given,
    formatTable(['WORKER', 'UP', 'IN FLIGHT', 'QUEUED', 'BEHIND', 'PROBLEM'], rows),
    ...oldText(heard, nowMs),
    statesText(destinations),
    destinationsTable(shown, overview.isGivenUpCut, nowMs),
    ...unknownText(shown),
  ];
  const left = destinations.length - shown.length;
  if (left > 0) parts.push(`${left} more: --limit ${destinations.length}, or -o json`);
  return parts.join('\n\n');
}

/** The data of `postrider status <destination>`. */
interface OneDestination {
  readonly view: JudgedView;
  readonly customer: string | undefined;
  /** The dead letters of the last hour. */
  readonly deadLetters: number;
  /** Since then it is not paused any more, and events that were kept for it may be left. */
  readonly resumedSince: string | undefined;
  /** Requests are signed with a former secret as well until then. */
  readonly formerSecretUntil: string | undefined;
  /** The last notice about it. */
  readonly notice: Notice | undefined;
  readonly attempts: readonly AttemptLine[];
}

export function destinationText(
  {
    view,
    customer,
    deadLetters,
    resumedSince,
    formerSecretUntil,
    notice,
    attempts,
  }: OneDestination,
  isWide: boolean,
  nowMs: number,
): string {
  const { destination, state, since, waiting, oldest, deadline, perMinute } = view;
  const forText = since === undefined ? '' : ` for ${ago(since, nowMs)}, since ${since}`;
  const tiers = Object.entries(waiting.tiers)
    .sort(byTier)
    .map(([tier, events]) => {
      const due = waiting.due[tier];
      const when = due === undefined ? '' : `, the last due in ${until(due.until, nowMs)}`;
      return `; ${events} in retry.${tier}${when}`;
    });
  const ends = deadline === undefined ? '' : `; the first is given up in ${until(deadline, nowMs)}`;
  const age = oldest === undefined ? '' : `; the oldest for ${ago(oldest, nowMs)}${ends}`;
  const urls = view.urls.map((url) => [
    url.url,
    url.breaker,
    ago(url.failingSince, nowMs),
    answerText(url.lastAnswer),
    ago(url.lastAnswer?.at, nowMs),
    until(url.nextProbe, nowMs),
  ]);
  const lines = attempts.map((line) => {
    const id = line.kind === 'bundle-deferred' ? '' : line.messageId;
    return [line.at, id, describeLine(line)];
  });
  const width = isWide ? Infinity : undefined;
  const parts = [
    [
      `${destination} is ${state}${forText}${state === 'unknown' ? `: ${whyUnknown}` : ''}`,
      ...(customer === undefined ? [] : [`customer: ${printable(customer)}`]),
      ...(view.asOf === undefined ? [] : [`as of ${ago(view.asOf, nowMs)} ago, ${view.asOf}`]),
      `waiting: ${waiting.total} (${waiting.here} in memory${tiers.join('')})${age}`,
      `dead letters of the last hour: ${deadLetters}`,
      `in the last three minutes: ${perMinute.delivered} delivered and ${perMinute.failed} failed a minute${took(view)}`,
      ...(resumedSince === undefined
        ? []
        : [
            `resumed since ${resumedSince}; events that were kept may be left: ${leftText(destination)}`,
          ]),
      ...(formerSecretUntil === undefined
        ? []
        : [`signed with the former secret as well until ${formerSecretUntil}`]),
      ...view.urls.flatMap(uncompressedText),
      ...(notice === undefined
        ? []
        : [`notice, ${ago(notice.at, nowMs)} ago: ${printable(notice.text)}`]),
    ].join('\n'),
  ];
  if (urls.length > 0) {
    const head = ['URL', 'BREAKER', 'FAILING', 'LAST ANSWER', 'AGO', 'NEXT TRY'];
    parts.push(formatTable(head, urls, width));
  }
  if (lines.length > 0) parts.push(formatTable(['TIME', 'MESSAGE', 'WHAT'], lines, width));
  return parts.join('\n\n');
}

/** Advice for an operator about events that a resume has left. */
export function leftText(destination: string): string {
  return `if no \`postrider resume ${destination}\` runs, one sends them`;
}

function uncompressedText({ url, uncompressedSince }: UrlStatus): readonly string[] {
  if (uncompressedSince === undefined) return [];
  return [`sent uncompressed since ${uncompressedSince}: ${url} answered 415 to a compressed body`];
}

const whyUnknown =
  'no worker reports on it, as none runs or it had no event for some minutes; the console knows its last answer';
/** Workers report every five seconds, and may miss one. */
const oldMs = 12_000;

function oldText(heard: string | undefined, nowMs: number): readonly string[] {
  if (heard === undefined || nowMs - Date.parse(heard) < oldMs) return [];
  return [`what follows is old: no worker was heard for ${ago(heard, nowMs)}`];
}

function unknownText(destinations: readonly JudgedView[]): readonly string[] {
  return destinations.some(({ state }) => state === 'unknown') ? [`unknown: ${whyUnknown}`] : [];
}

function destinationsTable(
  destinations: readonly CountedView[],
  isCut: boolean,
  nowMs: number,
): string {
  const isOfCustomers = destinations.some(({ customer }) => customer !== undefined);
  const head = [
    'DESTINATION',
    ...(isOfCustomers ? ['CUSTOMER'] : []),
    'STATE',
    'SINCE',
    'LAST ANSWER',
    'WAITING',
    'DEAD',
    'OLDEST',
    'NEXT TRY',
    'PER MINUTE',
    'P99',
    'AS OF',
  ];
  const rows = destinations.map((view) => [
    view.destination,
    ...(isOfCustomers ? [view.customer ?? ''] : []),
    view.state,
    ago(view.since, nowMs),
    shareText(view) + answerText(view.lastAnswer),
    view.waiting.total === 0 ? '' : String(view.waiting.total),
    view.deadLetters === 0 ? '' : `${view.deadLetters}${isCut ? '+' : ''}`,
    ago(view.oldest, nowMs),
    until(view.until, nowMs),
    rateText(view),
    view.p99Ms === undefined ? '' : `${view.p99Ms} ms`,
    ago(view.asOf, nowMs),
  ]);
  return formatTable(head, rows);
}

/** The number of destinations in each state, and of their customers. */
function statesText(destinations: readonly CountedView[]): string {
  const counts = new Map<string, number>();
  for (const { state } of destinations) counts.set(state, (counts.get(state) ?? 0) + 1);
  const each = Array.from(counts, ([state, number]) => `${number} ${state}`);
  const customers = new Set(destinations.flatMap(({ customer }) => customer ?? []));
  const whose = customers.size === 0 ? '' : ` of ${counted(customers.size, 'customer')}`;
  return `${counted(destinations.length, 'destination')}${whose}${each.length === 0 ? '' : `: ${each.join(', ')}`}`;
}

/** For a destination with several URLs, how many of them fail, if not all. */
function shareText({ urls }: JudgedView): string {
  const failing = urls.filter(
    ({ breaker, failingSince }) => breaker !== 'closed' || failingSince !== undefined,
  ).length;
  return failing > 0 && failing < urls.length ? `${failing} of ${urls.length} URLs: ` : '';
}

function byTier([a]: readonly [string, number], [b]: readonly [string, number]): number {
  return (parseDuration(a) ?? 0) - (parseDuration(b) ?? 0);
}

function rateText({ perMinute: { delivered, failed } }: JudgedView): string {
  if (delivered === 0 && failed === 0) return '';
  return failed === 0 ? String(delivered) : `${delivered}, ${failed} failed`;
}

function took({ p50Ms, p99Ms }: JudgedView): string {
  return p50Ms === undefined || p99Ms === undefined
    ? ''
    : `; latency p50 ${p50Ms} ms, p99 ${p99Ms} ms`;
}

function answerText(answer: LastAnswer | undefined): string {
  if (answer === undefined) return '';
  if (answer.outcome === 'delivered') return String(answer.status ?? 'delivered');
  const body = answer.answer?.slice(0, shownAnswer).trim() ?? '';
  return `${answer.detail ?? ''}${body === '' ? '' : ` "${body}"`}`;
}

function lagOf({ topics }: WorkerStatus): number {
  return Object.values(topics).reduce((sum, { lag }) => sum + lag, 0);
}

function ago(time: string | undefined, nowMs: number): string {
  return time === undefined ? '' : ageText(Date.parse(time), nowMs);
}

/** The time that is left until then. */
function until(time: string | undefined, nowMs: number): string {
  if (time === undefined) return '';
  const timeMs = Date.parse(time);
  return timeMs - nowMs < 1_000 ? 'now' : ageText(nowMs, timeMs);
}
