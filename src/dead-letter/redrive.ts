import type { PostriderError } from '../errors.ts';
import type { Producer } from '../kafka/producer.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { SendWindow } from '../kafka/send-window.ts';
import type { Clock } from '../ops/clock.ts';
import { redriveKey, type Letter } from './letter.ts';
import { Pace } from './pace.ts';
import { redriveRecord, type Redrive, type Redrives } from './redrives.ts';

export interface RedriveOptions {
  readonly letters: AsyncIterable<Letter>;
  /** The record that a letter becomes. */
  readonly sentAgain: (letter: Letter) => OutgoingRecord;
  readonly producer: Pick<Producer, 'produce'>;
  readonly clock: Clock;
  /** Where it is written down what was sent again. */
  readonly redrivesTopic: string;
  /** Letters a second. */
  readonly rate: number;
  /** Names this run in `redrives`. */
  readonly id: string;
  /** Ends the run early; what was begun is finished. */
  readonly signal: AbortSignal;
  readonly onSent?: (letter: Letter) => void;
  /** Kafka can never take it back, e.g. because the topic's size limit was lowered. */
  readonly onRefused: (letter: Letter, error: PostriderError) => void;
}

/** Some seconds of the default rate, and a bound for memory. */
const mostInFlight = 500;

/**
 * Sends letters again, and writes down each that is safe. Resolves when all are: a run that was cut off
 * is taken up by another, which skips what is written down.
 */
export async function redrive(options: RedriveOptions): Promise<void> {
  const { letters, sentAgain, producer, clock, signal } = options;
  const pace = new Pace(options.rate, clock);
  const inFlight = new SendWindow(mostInFlight);
  for await (const letter of letters) {
    await pace.turn();
    await inFlight.enter();
    if (signal.aborted) {
      inFlight.leave();
      break;
    }
    producer.produce(sentAgain(letter), (refused) => {
      if (refused === undefined) {
        writeDown(letter);
        return;
      }
      options.onRefused(letter, refused);
      inFlight.leave();
    });
  }
  await inFlight.emptied();

  function writeDown(letter: Letter): void {
    const mark: Redrive = { time: new Date(clock.now()).toISOString(), redrive: options.id };
    producer.produce(redriveRecord(options.redrivesTopic, letter, mark), () => {
      options.onSent?.(letter);
      inFlight.leave();
    });
  }
}

/** Those that were not sent again before; the others are counted by `onSkipped`. */
export async function* notRedriven(
  letters: AsyncIterable<Letter>,
  already: Redrives,
  onSkipped: (letter: Letter) => void,
): AsyncGenerator<Letter, void, undefined> {
  for await (const letter of letters) {
    if (already.has(redriveKey(letter))) onSkipped(letter);
    else yield letter;
  }
}
