import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Place } from '../../dead-letter/letter.ts';
import type { SearchArea } from '../../dead-letter/read-letters.ts';
import { parseDuration } from '../../duration.ts';
import { PostriderError } from '../../errors.ts';
import { customerProblem } from '../../event/customer.ts';
import { normalizeTimestamp } from '../../event/timestamp.ts';
import { parseRate } from '../../resources/schema/texts.ts';
import { parseCount, withOutput, type OutputOptions } from '../terminal/output.ts';

/** Options that select letters, the same for all kinds of letters. */

export interface SearchOptions {
  readonly user?: string;
  readonly since?: number;
  readonly until?: number;
  readonly scan?: true;
}

export interface ListOptions extends SearchOptions, OutputOptions {
  readonly limit: number;
}

export interface RedriveOptions extends SearchOptions, OutputOptions {
  readonly rate: number;
  readonly dryRun?: true;
  readonly yes?: true;
  /** Include letters that were last sent again before this time. */
  readonly again?: number;
}

export function withSearchOptions(command: Command): Command {
  return command
    .option(
      '--since <time>',
      'only those written since then: 2h (ago) or an ISO 8601 time',
      parseTime,
    )
    .option('--until <time>', 'only those written before this time', parseTime)
    .option('--scan', 'read all partitions, to find those from before partitions were added');
}

export function withListOptions(command: Command): Command {
  return withOutput(command).option('--limit <count>', 'show at most this many', parseCount, 1_000);
}

export function withRedriveOptions(command: Command, rate: string): Command {
  return withRate(withOutput(command), rate)
    .argument('[place...]', 'only these: <partition>:<offset>, as in the list', parsePlaces)
    .option('--dry-run', 'send nothing; count what would be sent')
    .option('--yes', 'do not ask, even if no option selects any and all are sent')
    .addOption(
      new Option(
        '--again [time]',
        'also those that were already sent again: at any time, or before this time',
      )
        .argParser(parseTime)
        .preset('0s'),
    );
}

function withRate(command: Command, rate: string): Command {
  return command.addOption(rateOption('how many to send per time').default(parsePace(rate), rate));
}

export function rateOption(description: string): Option {
  return new Option('--rate <rate>', description).argParser(parsePace);
}

const selecting = [
  'source',
  'destination',
  'customer',
  'reason',
  'user',
  'message',
  'since',
  'until',
];

/** Tells whether any option selects letters. */
export function isSelecting(options: object): boolean {
  return selecting.some((name) => name in options);
}

/** @throws PostriderError `usage` */
export function refusePlacesWithSelection(places: readonly Place[], options: object): void {
  if (places.length > 0 && (isSelecting(options) || 'scan' in options))
    throw new PostriderError('usage', 'give either places or options that select, not both');
}

/**
 * @param key of the selected records, if known
 * @throws PostriderError `usage`
 */
export function searchAreaOf(
  { since: sinceMs, until: untilMs, scan }: SearchOptions,
  key: string | undefined,
): SearchArea {
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new PostriderError('usage', '--since must be earlier than --until');
  return { sinceMs, untilMs, key: scan === true ? undefined : key };
}

/** `2h`: so long ago; or a time in ISO 8601. Epoch milliseconds. */
export function parseTime(text: string): number {
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return Date.now() - agoMs;
  const time = normalizeTimestamp(text);
  if (time !== undefined) return Date.parse(time);
  throw new InvalidArgumentError('Allowed: a duration ago, e.g. 2h, or a time in ISO 8601.');
}

export function parsePause(text: string): number {
  const pauseMs = parseDuration(text);
  if (pauseMs !== undefined) return pauseMs;
  throw new InvalidArgumentError('Allowed: a duration such as 30s; 0s: not at all.');
}

/** Letters a second. */
function parsePace(text: string): number {
  const perSecond = parseRate(text);
  if (perSecond !== undefined) return perSecond;
  throw new InvalidArgumentError('Allowed: a rate such as 100/s or 30/m.');
}

export function parsePlace(text: string): Place {
  const match = /^(\d{1,9}):(\d{1,15})$/.exec(text);
  if (match !== null) return { partition: Number(match[1]), offset: Number(match[2]) };
  throw new InvalidArgumentError('Allowed: <partition>:<offset>, as in the list.');
}

/** Ids of destinations. */
export function parseIds(text: string): ReadonlySet<string> {
  const ids = text.split(',').map((id) => id.trim());
  if (!ids.includes('')) return new Set(ids);
  throw new InvalidArgumentError('Allowed: ids of destinations, separated by commas.');
}

/** Reads the id of a customer, or says what it should be like. */
export function parseCustomer(text: string): string {
  const problem = customerProblem(text);
  if (problem === undefined) return text;
  throw new InvalidArgumentError(`It ${problem}.`);
}

/** One more of several. */
function parsePlaces(text: string, before: readonly Place[] = []): readonly Place[] {
  return [...before, parsePlace(text)];
}
