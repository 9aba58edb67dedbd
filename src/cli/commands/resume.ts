import type { Command } from 'commander';
import { clocksApartMs } from '../../dead-letter/read-letters.ts';
import { topicOf } from '../../dead-letter/ways-back.ts';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import { ofKind, readableOfKind } from '../../resources/config/stored-resources.ts';
import { pauseRecord, resumedRecord, type Pause } from '../../resources/pauses/pause.ts';
import { readPauses } from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { auditedRun, ofDestinations } from '../audit.ts';
import type { Context } from '../context.ts';
import { withWaysBack } from '../letters/events-again.ts';
import { keptEvents, sendKept, type KeptOptions } from '../letters/kept-events.ts';
import { rateOption } from '../letters/options.ts';
import { alone } from '../letters/redrive.ts';
import { confirm } from '../terminal/confirm.ts';
import { counted } from '../terminal/counted.ts';
import {
  isForPrograms,
  present,
  withOutput,
  withoutPrinting,
  type OutputOptions,
} from '../terminal/output.ts';
import { knownFor, sinceText, writePauses } from './pause.ts';

/** `postrider resume`: destinations get their events again, and what was kept for them. */
export function registerResume(program: Command, context: Context): void {
  withOutput(program.command('resume'))
    .description('send to paused destinations again, kept events first')
    .argument('[destination...]')
    .option('--all', 'all that are paused, and those whose `resume` was cut off')
    .option('--yes', 'do not ask before --all')
    .addOption(
      rateOption('how many kept events to send per time, of all these destinations').default(
        undefined,
        `${rateOfEach}/s for each destination`,
      ),
    )
    .action((ids: readonly string[], options: ResumeOptions) => resumeAny(context, ids, options));
}

interface ResumeOptions extends OutputOptions {
  readonly all?: true;
  readonly yes?: true;
  readonly rate?: number;
}

export interface Resumed {
  readonly destinations: readonly {
    readonly destination: string;
    /** ISO 8601; null: it was not paused. */
    readonly pausedSince: string | null;
    /** Events are still kept that another `resume` may send. */
    readonly isLeft: boolean;
  }[];
  /** Kept events that were sent. */
  readonly sent: number;
  /** A sentence for each reason why events were left out. */
  readonly leftOut: readonly string[];
}

const nothingResumed: Resumed = { destinations: [], sent: 0, leftOut: [] };

/** Kept events a second. */
const rateOfEach = 100;

/** @throws PostriderError `usage`, `not-found`, `stopped` */
async function resumeAny(
  context: Context,
  ids: readonly string[],
  options: ResumeOptions,
): Promise<void> {
  const { all, yes, rate, output } = options;
  if (ids.length > 0 === (all === true))
    throw new PostriderError('usage', 'name destinations, or give --all');
  const wanted = all === true ? await pausedIds(context) : ids;
  if (wanted.length === 0) {
    context.note('no destination is paused');
    if (isForPrograms(options))
      context.print(
        present(
          output,
          () => nothingResumed,
          () => '',
        ),
      );
    return;
  }
  const { length } = wanted;
  if (all === true && yes !== true)
    await confirm(
      context.terminal,
      `this resumes ${counted(length, 'destination')} and sends what was kept`,
      'name destinations, or add --yes',
    );
  const done = { action: 'resume', ...ofDestinations(new Set(wanted)) } as const;
  const quiet = isForPrograms(options) ? withoutPrinting(context) : context;
  await auditedRun(context, done, wanted.join(', '), async (onSent) => {
    const resumed = await resume(quiet, wanted, { rate: rate ?? rateOfEach * length, onSent });
    if (isForPrograms(options))
      context.print(
        present(
          output,
          () => resumed,
          () => '',
        ),
      );
    return resumed;
  });
}

/** The destinations that are paused, or whose resume was cut off, and still exist. */
async function pausedIds(context: Context): Promise<readonly string[]> {
  const { topology, stored } = await knownFor(context, []);
  const pauses = await readPauses(context.kafka, topology);
  return ofKind(stored, 'Destination')
    .map(({ name, uid }) => ({ id: name.id, uid }))
    .filter((each) => pauses.has(each) || pauses.resumedSince(each) !== undefined)
    .map(({ id }) => id);
}

/**
 * Waits while events of any of these destinations are resumed elsewhere: they all stay paused meanwhile. Until all
 * events are sent, the topic `pauses` says so, because they would be forgotten if this ends before, or has to leave
 * some out.
 * @throws PostriderError `not-found`, `stopped`
 */
export async function resume(
  context: Context,
  ids: readonly string[],
  options: Pick<KeptOptions, 'rate' | 'onSent'>,
): Promise<Resumed> {
  const { topology, stored, destinations: named } = await knownFor(context, [...new Set(ids)]);
  const { pauses: topic, deletions } = topology.topics;
  const destinations = new Set(ids);
  const readable = readableOfKind(stored, 'Destination').filter(({ id }) => destinations.has(id));
  const topics = new Set([
    topology.topics.delivery,
    ...readable.map((each) => topicOf(each, topology)),
  ]);
  // While the destinations are paused, so that a refusal changes nothing.
  await requireTopics(context.kafka, [
    { name: deletions },
    ...Array.from(topics, (name) => ({ name })),
  ]);
  const sayThatItWaits = (): void => {
    context.note('waiting until another `resume` of one of these destinations has ended');
  };
  const sendAll = async (signal: AbortSignal): Promise<Resumed> => {
    const pauses = await readPauses(context.kafka, topology);
    const keptSinceMs = pauses.keptSinceMs(named);
    const sinceMs =
      keptSinceMs === undefined ? undefined : Math.max(0, keptSinceMs - clocksApartMs);
    const since = new Date(systemClock.now()).toISOString();
    const begun = named.map((each) => resumedRecord(topic, each, pauses.end(each, since)));
    const ends = named.map((each) => pauseRecord(topic, each, undefined));
    await writePauses(context, [...begun, ...ends], signal);
    for (const each of named) context.print(resumedText(each.id, pauses.get(each)));
    const { sent, leftOut, left } = await withWaysBack(context, (ways) =>
      sendKept(context, ways, { ...options, destinations, sinceMs }, signal),
    );
    const done = named.filter(({ id }) => !left.has(id));
    const over = done.map((each) => resumedRecord(topic, each, undefined));
    if (over.length > 0) await writePauses(context, over, signal);
    return {
      destinations: named.map((each) => ({
        destination: each.id,
        pausedSince: pauses.get(each)?.since ?? null,
        isLeft: left.has(each.id),
      })),
      sent,
      leftOut,
    };
  };
  return alone(context, keptEvents, { destinations }, sendAll, sayThatItWaits);
}

function resumedText(id: string, before: Pause | undefined): string {
  return before === undefined
    ? `destination ${id} was not paused; sending what is still kept for it`
    : `destination ${id} is resumed, after a pause since ${sinceText(before)}`;
}
