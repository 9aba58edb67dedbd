import { randomBytes } from 'node:crypto';
import { placeText, type Letter } from '../../dead-letter/letter.ts';
import { LetterCounts } from '../../dead-letter/present.ts';
import type { LiveTraffic } from '../../dead-letter/live-traffic.ts';
import { searchRanges } from '../../dead-letter/read-letters.ts';
import { redrive } from '../../dead-letter/redrive.ts';
import { sentBefore, sift, type Judge } from '../../dead-letter/sift.ts';
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
  redrivesOf,
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
  /** Besides what was sent again before. */
  readonly judges: readonly Judge<L>[];
  /** The record that a letter becomes. */
  readonly sentAgain: (letter: L) => OutgoingRecord;
  /** For each that is safe. */
  readonly onSent?: () => void;
  /** What goes before. */
  readonly live?: LiveTraffic;
  /** Looks at what becomes of them, once so many are sent. */
  readonly afterwards?: (sent: number, signal: AbortSignal) => Promise<Afterwards | undefined>;
}

/** What became of the letters, for programs and for people. */
interface Afterwards {
  readonly data: object;
  readonly lines: readonly string[];
}

/**
 * Sends letters again, or counts them. Asks first where nothing selects.
 * @returns how many
 * @throws PostriderError `busy` while another process sends letters of the same kind
 */
export async function redriveLetters<L extends Letter>(
  context: Context,
  kind: LetterKind<L>,
  task: RedriveTask<L>,
  options: RedriveOptions,
): Promise<number> {
  const isForAll = !isSelecting(options) && (task.selection.places ?? []).length === 0;
  if (isForAll && options.dryRun !== true && options.yes !== true) await askFirst(context, kind);
  const run = new LetterRedrive(context, kind, task, options);
  await (options.dryRun === true ? run.count() : run.sendAlone());
  return run.total;
}

async function askFirst<L extends Letter>(context: Context, kind: LetterKind<L>): Promise<void> {
  const topic = await requireLetters(context, kind);
  const kept = recordsOf(await searchRanges(context.kafka, topic, {}));
  await confirm(
    `this sends again all that was not sent before, of ${counted(kept, kind.noun)}`,
    'give places or options that select, or --yes',
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

  get total(): number {
    return this.#counts.total;
  }

  async count(): Promise<void> {
    await requireLetters(this.#context, this.#kind);
    const search = await this.#search(new AbortController().signal);
    const status = this.#context.status(() => search.progress());
    try {
      for await (const letter of search.letters) this.#counts.add(letter);
    } finally {
      status.stop();
    }
    this.#report();
    this.#answer({ dryRun: true, wouldBeSent: this.#counts.rows() });
  }

  /** What another process sends is not known here before it is marked: so one at a time. */
  async sendAlone(): Promise<void> {
    const { kafka, log } = this.#context;
    const topology = await this.#context.topology();
    const { config, redrives } = topology.topics;
    const letterTopic = await requireLetters(this.#context, this.#kind);
    await requireTopics(kafka, [{ name: config }]);
    const right = await acquireExclusive(kafka, {
      groupId: topology.redriveGroup(letterTopic),
      topic: config,
      clock: systemClock,
      log,
    });
    if (right === undefined)
      throw new PostriderError('busy', `another redrive of these ${this.#kind.noun}s is running`);
    try {
      await this.#send(redrives, AbortSignal.any([this.#context.stopping(), right.lost]));
    } finally {
      await right.release();
    }
  }

  async #send(redrivesTopic: string, signal: AbortSignal): Promise<void> {
    const { live, sentAgain } = this.#task;
    const { rate } = this.#options;
    const id = randomBytes(4).toString('hex');
    const search = await this.#search(signal);
    const goOn = goOnWith(this.#options);
    if (goOn !== undefined) this.#context.note(`if this is cut off, ${goOn}`);
    let refused = 0;
    let unmarked = 0;
    const status = this.#context.status(
      () => `${this.#counts.total} sent again; ${search.progress()}`,
    );
    try {
      await withProducer(
        this.#context,
        (producer) =>
          redrive({
            letters: search.letters,
            sentAgain,
            producer,
            clock: systemClock,
            redrivesTopic,
            rate,
            id,
            signal,
            ...(live === undefined ? {} : { giveWay: (ended) => live.giveWay(ended) }),
            onSent: (letter) => {
              this.#counts.add(letter);
              live?.wrote();
              this.#task.onSent?.();
            },
            onRefused: ({ record }, error) => {
              refused += 1;
              this.#context.note(`${placeText(record)} cannot be sent again: ${error.message}`);
            },
            onUnmarked: ({ record }, error) => {
              unmarked += 1;
              this.#context.note(
                `${placeText(record)} was sent, which cannot be written down: ${error.message}`,
              );
            },
          }),
        timeToEnd(signal),
      );
    } finally {
      status.stop();
    }
    this.#report();
    const { noun } = this.#kind;
    const { total } = this.#counts;
    this.#print(`${counted(total, noun)} sent again, in redrive ${id}`);
    const afterwards = total > 0 ? await this.#task.afterwards?.(total, signal) : undefined;
    afterwards?.lines.forEach((line) => {
      this.#print(line);
    });
    this.#answer({ redrive: id, sent: this.#counts.rows(), soFar: afterwards?.data ?? null });
    if (unmarked > 0)
      throw new PostriderError(
        'record-refused',
        `stopped: another run would send ${counted(unmarked, noun)}, named above, once more, because Kafka refuses to write to ${redrivesTopic}`,
      );
    if (signal.aborted) throw new PostriderError('stopped', `stopped early; ${goOn ?? sameGoesOn}`);
    if (refused > 0)
      throw new PostriderError(
        'record-refused',
        `Kafka refused ${counted(refused, noun)}, named above`,
      );
  }

  /** The letters that are meant and fit to be sent. */
  async #search(signal: AbortSignal): Promise<Search<L>> {
    const redrives = await redrivesOf(this.#context, this.#kind);
    const search = await searchLetters(this.#context, this.#kind, this.#task.selection, signal);
    const judges = [sentBefore(redrives, this.#options.again), ...this.#task.judges];
    const letters = sift(search.letters, judges, (objection) => {
      this.#leftOut.add(objection);
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

const sameGoesOn = 'the same command goes on where it ended';

/** What makes the same command go on where it ended, if it would not do so by itself. */
function goOnWith({ again }: RedriveOptions): string | undefined {
  if (again === undefined) return undefined;
  return `--again=${new Date(again).toISOString()} goes on where it ended`;
}
