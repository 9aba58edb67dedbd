import { randomBytes } from 'node:crypto';
import { PostriderError } from '../errors.ts';
import { acquireExclusive } from '../kafka/exclusive.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { timeToEnd } from '../ops/wait.ts';
import { counted } from '../printable.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { placeText, type Letter } from './letter.ts';
import type { LiveTraffic } from './live-traffic.ts';
import { LetterCounts } from './present.ts';
import { redrive } from './redrive.ts';
import {
  requireLetters,
  searchLetters,
  type LetterKind,
  type Search,
  type Selection,
} from './search.ts';
import type { Caller, Remedies, Sent, ServiceAccess } from './service.ts';
import { LeftOut, sentBefore, sift, type Judge, type Objection } from './sift.ts';

export interface SendTask<L extends Letter> {
  readonly selection: Selection<L>;
  /** Besides the rule about letters that were sent again before. */
  readonly judges: readonly Judge<L>[];
  /** Also letters that were last sent again before this time; epoch milliseconds. */
  readonly againMs?: number | undefined;
  /** The record that a letter becomes. */
  readonly sentAgain: (letter: L) => OutgoingRecord;
  /** Letters a second. */
  readonly rate: number;
  readonly remedies: Pick<Remedies, 'again' | 'goOn'>;
  /** Called for each letter that is not sent. */
  readonly onLeftOut?: (letter: L, objection: Objection) => void;
  /** The traffic that has priority. */
  readonly live?: LiveTraffic<L>;
  /** Waits for the outcome, once all letters are sent. */
  readonly afterwards?: (signal: AbortSignal) => Promise<void>;
}

/** The letters that were sent, and the reason why that is not all. */
export interface SendResult extends Sent {
  /** Undefined: every letter that nothing objects to was sent. */
  readonly failure: PostriderError | undefined;
}

/**
 * Only one process at a time may send the letters of a destination again, because those that another one has sent are
 * not known before they are marked.
 * @param destinations whose letters are sent; undefined: those of all, and calls of none
 * @param use gets a signal to end early: the caller ends it, or another process may have the right
 * @param waits whether to wait while another process has the right
 * @throws PostriderError `busy`; `stopped` if the caller ends it while it waits
 */
export async function alone<L extends Letter, T>(
  access: ServiceAccess,
  kind: LetterKind<L>,
  destinations: ReadonlySet<string> | undefined,
  { signal, onProgress }: Caller,
  use: (signal: AbortSignal) => Promise<T>,
  waits: boolean = false,
): Promise<T> {
  const { kafka, topology, clock, log } = access;
  const { config } = topology.topics;
  const letterTopic = await requireLetters(access, kind);
  await requireTopics(kafka, [{ name: config }]);
  const onWait = (): void => {
    onProgress({ kind: 'queues' });
  };
  const right = await acquireExclusive(
    kafka,
    {
      groupId: topology.redriveGroup(letterTopic),
      topic: config,
      parts: destinations && [...destinations],
      clock,
      log,
    },
    { signal, onWait: waits ? onWait : undefined },
  );
  if (right === undefined && signal.aborted)
    throw new PostriderError('stopped', 'stopped while it waited; nothing was done');
  if (right === undefined)
    throw new PostriderError('busy', `another redrive of these ${kind.noun}s is running`);
  try {
    return await use(AbortSignal.any([signal, right.lost]));
  } finally {
    await right.release();
  }
}

/**
 * Counts the letters that `sendLetters` would send.
 * @throws PostriderError `stopped`
 */
export async function countLetters<L extends Letter>(
  access: ServiceAccess,
  kind: LetterKind<L>,
  task: SendTask<L>,
  caller: Caller,
): Promise<Sent> {
  await requireLetters(access, kind);
  const counts = new LetterCounts(kind.view);
  const leftOut = new LeftOut(kind.noun);
  const { letters } = await sendable(access, kind, task, leftOut, caller);
  for await (const letter of letters) {
    counts.add(letter);
    caller.onProgress({ kind: 'sent' });
  }
  if (caller.signal.aborted)
    throw new PostriderError('stopped', 'stopped before all were counted; nothing was sent');
  const sent: Sent = { id: undefined, counts, leftOut };
  caller.onProgress({ kind: 'all-sent', sent });
  return sent;
}

/**
 * Sends letters again, for a process that is `alone`. What was sent is told also where not all could be: then the
 * result has the failure.
 * @param caller with the signal of `alone`
 * @throws PostriderError if nothing could be sent
 */
export async function sendLetters<L extends Letter>(
  access: ServiceAccess,
  kind: LetterKind<L>,
  task: SendTask<L>,
  caller: Caller,
): Promise<SendResult> {
  const { signal, onProgress } = caller;
  const id = randomBytes(4).toString('hex');
  const counts = new LetterCounts(kind.view);
  const leftOut = new LeftOut(kind.noun);
  const search = await sendable(access, kind, task, leftOut, caller);
  const { refused, unmarked, failure } = await write(access, task, { search, id, counts }, caller);
  if (failure !== undefined && counts.total === 0) throw failure;
  const sent: Sent = { id, counts, leftOut };
  onProgress({ kind: 'all-sent', sent });
  if (counts.total > 0 && failure === undefined) await task.afterwards?.(signal);
  const { redrives } = access.topology.topics;
  const { noun } = kind;
  if (unmarked.count > 0)
    return failed(
      'record-refused',
      `stopped: Kafka refuses to write to ${redrives}, so another run would send ${counted(unmarked.count, noun)} once more: ${unmarked.named}`,
    );
  if (failure !== undefined) return { ...sent, failure };
  if (signal.aborted) return failed('stopped', `stopped early; ${task.remedies.goOn}`);
  if (refused.count > 0)
    return failed(
      'record-refused',
      `Kafka refused ${counted(refused.count, noun)}: ${refused.named}`,
    );
  return { ...sent, failure: undefined };

  function failed(code: 'record-refused' | 'stopped', sentence: string): SendResult {
    return { ...sent, failure: new PostriderError(code, sentence) };
  }
}

/** The selected letters that can be sent. */
async function sendable<L extends Letter>(
  access: ServiceAccess,
  kind: LetterKind<L>,
  task: SendTask<L>,
  leftOut: LeftOut,
  caller: Caller,
): Promise<Search<L>> {
  const search = await searchLetters(access, kind, task.selection, caller);
  const judges = [sentBefore(search.redrives, task.againMs, task.remedies.again), ...task.judges];
  const letters = sift(search.letters, judges, (objection, letter) => {
    leftOut.add(objection);
    task.onLeftOut?.(letter, objection);
  });
  return { ...search, letters };
}

interface Writing<L extends Letter> {
  readonly search: Search<L>;
  readonly id: string;
  readonly counts: LetterCounts<L>;
}

interface Written {
  /** Letters that Kafka refuses, and those whose mark it refuses. */
  readonly refused: Places;
  readonly unmarked: Places;
  /** The error that ended it before all were sent. */
  readonly failure?: PostriderError;
}

async function write<L extends Letter>(
  { withProducer, topology, clock }: ServiceAccess,
  { live, sentAgain, rate }: SendTask<L>,
  { search, id, counts }: Writing<L>,
  { signal, onProgress }: Caller,
): Promise<Written> {
  const refused = new Places();
  const unmarked = new Places();
  try {
    await withProducer(
      (producer, ending) =>
        redrive<L>({
          letters: search.letters,
          sentAgain,
          producer,
          clock,
          redrivesTopic: topology.topics.redrives,
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
            counts.add(letter);
            onProgress({ kind: 'sent' });
          },
          onRefused: ({ record }, error) => {
            const place = placeText(record);
            refused.add(place);
            onProgress({ kind: 'refused', place, error });
          },
          onUnmarked: ({ record }, error) => {
            const place = placeText(record);
            unmarked.add(place);
            onProgress({ kind: 'unmarked', place, error });
          },
        }),
      timeToEnd(signal),
    );
  } catch (error) {
    if (!(error instanceof PostriderError)) throw error;
    return { refused, unmarked, failure: error };
  }
  return { refused, unmarked };
}

const mostNamed = 5;

/** The number of letters that something is about, and the places of the first of them. */
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
