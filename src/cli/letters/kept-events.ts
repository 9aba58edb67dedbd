import { deadLetterView } from '../../dead-letter/dead-letter-view.ts';
import { readDeadLetter, redriven, type DeadLetter } from '../../dead-letter/dead-letter.ts';
import type { LiveTraffic } from '../../dead-letter/live-traffic.ts';
import { pause } from '../../dead-letter/pause.ts';
import type { SearchArea } from '../../dead-letter/read-letters.ts';
import type { Objection } from '../../dead-letter/sift.ts';
import { writtenRanges } from '../../kafka/read-range.ts';
import { systemClock } from '../../ops/clock.ts';
import { looksForKeptMs } from '../../resources/pauses/pauses.ts';
import type { Context } from '../context.ts';
import {
  onSentOf,
  withLiveTraffic,
  type DeadRedriveOptions,
  type KnownWays,
} from './events-again.ts';
import type { LetterKind } from './letters.ts';
import { sendLetters } from './redrive.ts';

/** Events that are kept for paused destinations. */
export const keptEvents: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.paused,
  read: readDeadLetter,
  view: deadLetterView,
};

export interface KeptOptions extends Pick<DeadRedriveOptions, 'rate' | 'onSent'> {
  readonly destinations: ReadonlySet<string>;
  /** Nothing was kept for them before; undefined: not known. Epoch milliseconds. */
  readonly sinceMs: number | undefined;
}

export interface KeptResult {
  readonly sent: number;
  /** A sentence for each reason why events were left out. */
  readonly leftOut: readonly string[];
  /** Destinations for which events are still kept that another `resume` may send. */
  readonly left: ReadonlySet<string>;
}

/**
 * Sends what is kept for destinations that are not paused any more. What a worker kept that had not heard of
 * that yet lies behind what is sent here, so it is looked for until nothing new is found.
 * @param signal of `alone`
 */
export async function sendKept(
  context: Context,
  ways: KnownWays,
  options: KeptOptions,
  signal: AbortSignal,
): Promise<KeptResult> {
  return withLiveTraffic(context, ways.waysBack, (live) =>
    sendBeside(context, ways, { ...options, live }, signal),
  );
}

async function sendBeside(
  context: Context,
  { waysBack, judges }: KnownWays,
  {
    destinations,
    sinceMs,
    rate,
    live,
    ...rest
  }: KeptOptions & { readonly live: LiveTraffic<DeadLetter> },
  signal: AbortSignal,
): Promise<KeptResult> {
  const { paused } = (await context.topology()).topics;
  const options = { rate, yes: true, output: 'table' } as const;
  const heardByMs = systemClock.steadyNow() + looksForKeptMs;
  const leftOut: string[] = [];
  const left = new Set<string>();
  let sent = 0;
  let area: SearchArea = { sinceMs };
  for (let isHeard = false; ; isHeard = true) {
    const from = await endsOf(context, paused);
    const task = {
      selection: {
        area,
        matches: (letter: DeadLetter) => destinations.has(letter.destinationId),
      },
      judges: [
        ...judges,
        (letter: DeadLetter) =>
          waysBack.objection(letter, {
            unreachable: '`postrider resume` sends them once that has changed',
          }),
      ],
      sentAgain: (letter: DeadLetter) => redriven(letter, waysBack.of(letter), systemClock.now()),
      onLeftOut: ({ destinationId }: DeadLetter, { remedy }: Objection) => {
        if (remedy !== undefined) left.add(destinationId);
      },
      ...onSentOf(rest),
      live,
    };
    const result = await sendLetters(context, keptEvents, task, options, signal);
    leftOut.push(...result.leftOut);
    sent += result.sent;
    if (result.sent === 0 && isHeard) break;
    area = { sinceMs, from };
    await pause(systemClock, heardByMs - systemClock.steadyNow(), signal);
  }
  // Where a destination is paused again, its pause tells of them.
  return { sent, leftOut, left: new Set([...left].filter((id) => !waysBack.isPaused(id))) };
}

async function endsOf({ kafka }: Context, topic: string): Promise<readonly number[]> {
  const ends: number[] = [];
  for (const { partition, end } of await writtenRanges(kafka, topic)) ends[partition] = end;
  return ends;
}
