import { randomBytes } from 'node:crypto';
import { placeText, type Letter } from '../../dead-letter/letter.ts';
import { LetterCounts } from '../../dead-letter/present.ts';
import type { LiveTraffic } from '../../dead-letter/live-traffic.ts';
import { searchRanges } from '../../dead-letter/read-letters.ts';
import { redrive } from '../../dead-letter/redrive.ts';
import { sentBefore, sift, type Judge, type Objection } from '../../dead-letter/sift.ts';
import { PostriderError } from '../../errors.ts';
import { acquireExclusive } from '../../kafka/exclusive.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { systemClock } from '../../ops/clock.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { confirm } from '../terminal/confirm.ts';
import type { Context } from '../context.ts';
import { counted } from '../terminal/counted.ts';
import { LeftOut } from './left-out.ts';
import { isSelecting, type RedriveOptions } from './options.ts';
import {
  recordsOf,
  requireLetters,
  searchLetters,
  type LetterKind,
  type Search,
  type Selection,
} from './letters.ts';
import { isForPrograms, present } from '../terminal/output.ts';
import { timeToEnd, withProducer } from '../connect/with-producer.ts';

export interface RedriveTask<L extends Letter> {
  readonly selection: Selection<L>;
  /** Besides the rule about letters that were sent again before. */
  readonly judges: readonly Judge<L>[];
  /** The record that a letter becomes. */
  readonly sentAgain: (letter: L) => OutgoingRecord;
  /** Called for each letter that is acknowledged, or would be sent. */
  readonly onSent?: () => void;
  /** Called for each letter that is not sent. */
  readonly onLeftOut?: (letter: L, objection: Objection) => void;
  /** The traffic that has priority. */
  readonly live?: LiveTraffic<L>;
  /** The only destinations whose letters are sent. Other runs may send those of others meanwhile. */
  readonly destinations?: ReadonlySet<string> | undefined;
  /** Waits for the outcome, once so many letters are sent. */
  readonly afterwards?: (sent: number, signal: AbortSignal) => Promise<Afterwards | undefined>;
}

/** The outcome, for programs and for people. */
interface Afterwards {
  readonly data: object;
  readonly lines: readonly string[];
}

/** What was done, for a caller that has no terminal. */
export interface RedriveResult {
  /** Letters that are acknowledged, or that would be sent. */
  readonly sent: number;
  /** A sentence for each reason why letters were left out. */
  readonly leftOut: readonly string[];
}

/**
 * Sends letters again, or counts them. Asks first if no option selects any.
 * @throws PostriderError `busy` while another process sends some of these; `record-refused`, `stopped` if some were
 * not sent
 */
export async function redriveLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
): Promise<RedriveResult> {
  const isForAll = !isSelecting(options) && (task.selection.places ?? []).length === 0;
  if (isForAll && options.dryRun !== true && options.yes !== true) await askFirst(context, kind);
  const run = new LetterRedrive(context, kind, task, options);
  await (options.dryRun === true
    ? run.count()
    : alone(context, kind, task, (signal) => run.send(signal)));
  return run.result;
}

/**
 * The same for a process that has the right to send them.
 * @param signal of `alone`
 * @throws PostriderError `record-refused`, `stopped` if some were not sent
 */
export async function sendLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
  signal: AbortSignal,
): Promise<RedriveResult> {
  const run = new LetterRedrive(context, kind, task, options);
  await run.send(signal);
  return run.result;
}

/**
 * Only one process at a time may send the letters of a destination again, because those that another one has sent are
 * not known before they are marked.
 * @param about undefined destinations: those of all, and calls of none
 * @param use gets a signal to end early: the command is to end, or another process may have the right
 * @param onWait called while another process has the right, which is waited for; undefined: nothing waits
 * @throws PostriderError `busy`; `stopped` for a command that is to end while it waits
 */
export async function alone<L extends Letter, T>(
  context: Context,
  kind: LetterKind<L>,
  { destinations }: Pick<RedriveTask<L>, 'destinations'>,
  use: (signal: AbortSignal) => Promise<T>,
  onWait?: () => void,
): Promise<T> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { config } = topology.topics;
  const letterTopic = await requireLetters(context, kind);
  await requireTopics(kafka, [{ name: config }]);
  const stopping = context.stopping();
  const right = await acquireExclusive(
    kafka,
    {
      groupId: topology.redriveGroup(letterTopic),
      topic: config,
      parts: destinations && [...destinations],
      clock: systemClock,
      log,
    },
    { signal: stopping, onWait },
  );
  if (right === undefined && stopping.aborted)
    throw new PostriderError('stopped', 'stopped while it waited; nothing was done');
  if (right === undefined)
    throw new PostriderError('busy', `another redrive of these ${kind.noun}s is running`);
  try {
    return await use(AbortSignal.any([stopping, right.lost]));
  } finally {
    await right.release();
  }
}

async function askFirst<L extends Letter>(context: Context, kind: LetterKind<L>): Promise<void> {
  const topic = await requireLetters(context, kind);
  const kept = recordsOf(await searchRanges(context.kafka, topic, {}));
  await confirm(
    context.terminal,
    `this sends all ${counted(kept, kind.noun)} again, except those that were sent before`,
    'select with options or places, or add --yes',
  );
}

class LetterRedrive<L extends Letter> {
  readonly #context: Context;
  readonly #kind: LetterKind<L>;
  readonly #task: RedriveTask<L>;
  readonly #options: RedriveOptions;
  readonly #counts: LetterCounts<L>;
  readonly #leftOut: LeftOut;

  constructor(
    context: Context,
    kind: LetterKind<L>,
    task: RedriveTask<L>,
    options: RedriveOptions,
  ) {
    this.#context = context;
    this.#kind = kind;
    this.#task = task;
    this.#options = options;
    this.#counts = new LetterCounts(kind.view);
    this.#leftOut = new LeftOut(kind.noun);
  }

  get result(): RedriveResult {
    return { sent: this.#counts.total, leftOut: this.#leftOut.sentences() };
  }

  async count(): Promise<void> {
    await requireLetters(this.#context, this.#kind);
    const signal = this.#context.stopping();
    const search = await this.#search(signal);
    const status = this.#context.status(() => search.progress());
    try {
      for await (const letter of search.letters) {
        this.#counts.add(letter);
        this.#task.onSent?.();
      }
    } finally {
      status.stop();
    }
    if (signal.aborted)
      throw new PostriderError('stopped', 'stopped before all were counted; nothing was sent');
    this.#report();
    this.#answer({ dryRun: true, wouldBeSent: this.#counts.rows() });
  }

  async send(signal: AbortSignal): Promise<void> {
    const id = randomBytes(4).toString('hex');
    const search = await this.#search(signal);
    const goOn = goOnWith(this.#options);
    if (goOn !== undefined) this.#context.note(`if this is interrupted, ${goOn}`);
    const { refused, unmarked, failure } = await this.#write(search, id, signal);
    if (failure !== undefined && this.#counts.total === 0) throw failure;
    this.#report();
    const { noun } = this.#kind;
    const { total } = this.#counts;
    this.#print(`${counted(total, noun)} sent again, in redrive ${id}`);
    const isWatched = total > 0 && failure === undefined;
    const afterwards = isWatched ? await this.#task.afterwards?.(total, signal) : undefined;
    afterwards?.lines.forEach((line) => {
      this.#print(line);
    });
    this.#answer({ redrive: id, sent: this.#counts.rows(), soFar: afterwards?.data ?? null });
    if (unmarked.count > 0)
      throw new PostriderError(
        'record-refused',
        `stopped: Kafka refuses to write to ${await this.#redrivesTopic()}, so another run would send ${counted(unmarked.count, noun)} once more: ${unmarked.named}`,
      );
    if (failure !== undefined) throw failure;
    if (signal.aborted) throw new PostriderError('stopped', `stopped early; ${goOn ?? sameGoesOn}`);
    if (refused.count > 0)
      throw new PostriderError(
        'record-refused',
        `Kafka refused ${counted(refused.count, noun)}: ${refused.named}`,
      );
  }

  /**
   * Tells of each letter that Kafka refuses, or whose mark it refuses, and returns their places. `failure` ended it
   * before all were sent.
   */
  async #write(
    search: Search<L>,
    id: string,
    signal: AbortSignal,
  ): Promise<{
    readonly refused: Places;
    readonly unmarked: Places;
    readonly failure?: PostriderError;
  }> {
    const { live, sentAgain, onSent } = this.#task;
    const { rate } = this.#options;
    const redrivesTopic = await this.#redrivesTopic();
    const refused = new Places();
    const unmarked = new Places();
    const status = this.#context.status(
      () => `${this.#counts.total} sent again; ${search.progress()}`,
    );
    try {
      await withProducer(
        this.#context,
        (producer, ending) =>
          redrive<L>({
            letters: search.letters,
            sentAgain,
            producer,
            clock: systemClock,
            redrivesTopic,
            rate,
            id,
            signal: AbortSignal.any([signal, ending]),
            ...(live === undefined
              ? {}
              : { giveWay: (letter, ended, settled) => live.giveWay(letter, ended, settled) }),
            onWritten: (letter) => {
              live?.wrote(letter);
            },
            onSent: (letter) => {
              this.#counts.add(letter);
              onSent?.();
            },
            onRefused: ({ record }, error) => {
              const place = placeText(record);
              refused.add(place);
              this.#context.note(`${place} cannot be sent again: ${error.message}`);
            },
            onUnmarked: ({ record }, error) => {
              const place = placeText(record);
              unmarked.add(place);
              this.#context.note(
                `${place} was sent, but cannot be marked as sent: ${error.message}`,
              );
            },
          }),
        timeToEnd(signal),
      );
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error;
      return { refused, unmarked, failure: error };
    } finally {
      status.stop();
    }
    return { refused, unmarked };
  }

  async #redrivesTopic(): Promise<string> {
    return (await this.#context.topology()).topics.redrives;
  }

  /** The selected letters that can be sent. */
  async #search(signal: AbortSignal): Promise<Search<L>> {
    const search = await searchLetters(this.#context, this.#kind, this.#task.selection, signal);
    const judges = [
      sentBefore(search.redrives, this.#options.again, this.#kind.sendsTwice),
      ...this.#task.judges,
    ];
    const letters = sift(search.letters, judges, (objection, letter) => {
      this.#leftOut.add(objection);
      this.#task.onLeftOut?.(letter, objection);
    });
    return { ...search, letters };
  }

  /** For people. */
  #print(line: string): void {
    if (!isForPrograms(this.#options)) this.#context.print(line);
  }

  /** For programs: all at once. */
  #answer(data: object): void {
    const { output } = this.#options;
    if (isForPrograms(this.#options))
      this.#context.print(
        present(
          output,
          () => data,
          () => '',
        ),
      );
  }

  #report(): void {
    this.#print(this.#counts.present(this.#kind.noun));
    for (const each of this.#leftOut.sentences()) this.#context.note(each);
    if (this.#counts.total === 0 && this.#leftOut.isEmpty)
      this.#context.note(`no ${this.#kind.noun} matches`);
  }
}

const mostNamed = 5;

/** How many letters something is about, and where the first of them are. */
class Places {
  count = 0;
  readonly #first: string[] = [];

  add(place: string): void {
    this.count += 1;
    if (this.#first.length < mostNamed) this.#first.push(place);
  }

  get named(): string {
    return this.#first.join(', ') + (this.count > mostNamed ? ', …' : '');
  }
}

const sameGoesOn = 'the same command continues where this one stopped';

/** The option with which the same command continues where it stopped, if it would not do so by itself. */
function goOnWith({ again }: RedriveOptions): string | undefined {
  if (again === undefined) return undefined;
  return `--again=${new Date(again).toISOString()} continues where this one stopped`;
}
