import { asError, type PostriderError } from '../errors.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { SendWindow } from '../kafka/produce/send-window.ts';
import type { SteadyClock } from '../ops/clock.ts';
import type { Letter } from './letter.ts';
import { Pace } from './pace.ts';
import { redriveRecord } from './redrives.ts';

export interface RedriveOptions<L extends Letter> {
  readonly letters: AsyncIterable<L>;
  /** The record that a letter becomes. */
  readonly sentAgain: (letter: L) => OutgoingRecord;
  readonly producer: Pick<Producer, 'produce'>;
  readonly clock: SteadyClock;
  /** The topic of marks for letters that were sent again. */
  readonly redrivesTopic: string;
  /** Letters a second. */
  readonly rate: number;
  /**
   * Waits while live traffic has priority.
   * @param settled resolves when no copy is on its way
   */
  readonly giveWay?: (
    letter: L,
    signal: AbortSignal,
    settled: () => Promise<void>,
  ) => Promise<void>;
  /** Identifies this run in `redrives`. */
  readonly id: string;
  /** Ends the run early. Letters that were begun are finished. */
  readonly signal: AbortSignal;
  /** Kafka has the letter's copy. */
  readonly onWritten?: (letter: L) => void;
  readonly onSent?: (letter: L) => void;
  /** Kafka can never accept the letter's copy, for example because the topic's size limit was lowered. */
  readonly onRefused: (letter: L, error: PostriderError) => void;
  /** Kafka will never accept the mark of a letter that was sent, so the next run would send it once more. */
  readonly onUnmarked: (letter: L, error: PostriderError) => void;
}

/** The most bytes of letters that are on their way: enough for tens of thousands a second at 100 ms of distance to the brokers. */
const mostBytes = 32 * 1024 * 1024;
/** A letter's mark, and what it takes here beside its value. */
const overheadBytes = 1_024;
const fewLetters = 100;

/**
 * So many letters may be sent twice after a crash, because their copies are acknowledged and not marked yet: those of
 * about a second, and no more than 32,768.
 * @param rate letters a second
 */
export function mostInFlight(rate: number): number {
  return Math.min(Math.max(fewLetters, Math.ceil(rate)), mostBytes / overheadBytes);
}

/**
 * Sends letters again, and marks each that is acknowledged. Resolves when all are marked. The next run
 * continues one that was interrupted, because it skips marked letters. A mark that Kafka refuses ends the run
 * early.
 * @throws PostriderError `stopped` if the producer is closed before; a letter that is acknowledged afterwards is not
 * marked, as after a crash
 */
export async function redrive<L extends Letter>(options: RedriveOptions<L>): Promise<void> {
  const { letters, sentAgain, producer, clock } = options;
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  const pace = new Pace(options.rate, clock);
  const inFlight = new SendWindow(mostBytes);
  // A whole number: what is left of fractions that enter and leave keeps the window from being empty, and the run from ending.
  const leastBytes = Math.ceil(mostBytes / mostInFlight(options.rate));
  const sizeOf = ({ record }: L): number =>
    Math.max(leastBytes, overheadBytes + (record.value?.length ?? 0));
  const copies = new SendWindow(Infinity);
  const settled = (): Promise<void> => copies.emptied();
  let failure: Error | undefined;
  try {
    for await (const letter of letters) {
      await pace.turn(signal);
      await options.giveWay?.(letter, signal, settled);
      const size = sizeOf(letter);
      await inFlight.enter(size);
      if (signal.aborted) {
        inFlight.leave(size);
        break;
      }
      await copies.enter();
      produce(sentAgain(letter), size, (refused) => {
        copies.leave();
        if (refused === undefined) {
          options.onWritten?.(letter);
          writeDown(letter, size);
          return;
        }
        options.onRefused(letter, refused);
        inFlight.leave(size);
      });
    }
  } finally {
    await inFlight.emptied();
  }
  if (failure !== undefined) throw failure;

  /** Nobody catches what an acknowledgement throws, so a closed producer ends the run. */
  function produce(
    record: OutgoingRecord,
    size: number,
    done: (refused?: PostriderError) => void,
  ): void {
    try {
      producer.produce(record, done);
    } catch (error) {
      failure ??= asError(error);
      ending.abort();
      inFlight.leave(size);
    }
  }

  function writeDown(letter: L, size: number): void {
    const mark = { time: new Date(clock.now()).toISOString(), redrive: options.id };
    produce(redriveRecord(options.redrivesTopic, letter, mark), size, (refused) => {
      options.onSent?.(letter);
      if (refused !== undefined) {
        ending.abort();
        options.onUnmarked(letter, refused);
      }
      inFlight.leave(size);
    });
  }
}
