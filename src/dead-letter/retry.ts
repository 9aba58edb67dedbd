import { PostriderError } from '../errors.ts';
import type { AttemptEnded, AttemptLine } from '../event/attempt-line.ts';
import { isOf, type Identity } from '../event/uid.ts';
import { waitUnlessAborted } from '../ops/wait.ts';
import { readPauses } from '../resources/pauses/pauses.ts';
import { recallWaiting } from '../resources/pauses/recall-waiting.ts';
import { requireTopics } from '../resources/require-topics.ts';
import { findDestinations, writePauses } from './pause.ts';
import type { ServiceAccess } from './service.ts';

/** The time to look for an answer: an attempt takes five seconds, and its line comes within another one. */
export const answerMs = 8_000;
const lookAgainMs = 500;
/** Workers hear of a recall within half a second. What one of them has put off until then is recalled too. */
const heardMs = 2_000;

/** Reads the topic `attempts`, in which workers write what endpoints answer. */
export interface AttemptLines {
  /** Leaves out what is there by now. */
  skip(): Promise<void>;
  /** Reads on to the end of the topic. */
  read(sinceMs: number): AsyncGenerator<AttemptLine>;
}

export interface RetryCaller {
  readonly attempts: AttemptLines;
  /** Ends the wait for answers. */
  readonly signal: AbortSignal;
  /** Undefined: no event was tried. */
  readonly onAnswer: (destination: string, answer: AttemptEnded | undefined) => void;
}

/**
 * Recalls what waits for the destinations. Their workers try one event each, and go on if an endpoint takes it.
 * @returns what each endpoint answered, by destination; nothing of those for which no event was tried
 * @throws PostriderError `not-found`; `resource-invalid` for a destination to which nothing is sent
 */
export async function retryDestinations(
  access: ServiceAccess,
  ids: readonly string[],
  { attempts, signal, onAnswer }: RetryCaller,
): Promise<ReadonlyMap<string, AttemptEnded>> {
  const { kafka, topology, clock } = access;
  const destinations = await findDestinations(access, ids);
  await requireTopics(kafka, [{ name: topology.topics.attempts }]);
  const pauses = await readPauses(kafka, topology);
  for (const each of destinations) {
    const { id, resource } = each;
    if (pauses.has(each))
      throw nothingIsSent(id, `paused; \`postrider resume ${id}\` sends what waits`);
    if (resource?.enabled === false) throw nothingIsSent(id, 'disabled; enable it first');
  }
  const write = (records: Parameters<typeof writePauses>[1]): Promise<void> =>
    writePauses(access, records, signal);
  const deps = { kafka, topology, clock, write };
  const answers = new Answers(attempts, destinations, onAnswer);
  await attempts.skip();
  await recallWaiting(deps, destinations);
  const sinceMs = clock.steadyNow();
  while (!answers.areComplete && clock.steadyNow() - sinceMs < answerMs && !signal.aborted) {
    await waitUnlessAborted(lookAgainMs, signal);
    await answers.look();
  }
  answers.end();
  const back = destinations.filter(({ id }) => answers.byId.get(id)?.outcome === 'delivered');
  if (back.length === 0 || signal.aborted) return answers.byId;
  await waitUnlessAborted(heardMs - (clock.steadyNow() - sinceMs), signal);
  await recallWaiting(deps, back);
  return answers.byId;
}

function nothingIsSent(id: string, why: string): PostriderError {
  return new PostriderError(
    'resource-invalid',
    `nothing is sent to destination ${id}: it is ${why}`,
  );
}

/** The answers of endpoints from now on. */
class Answers {
  readonly byId: Map<string, AttemptEnded> = new Map();
  readonly #reader: AttemptLines;
  readonly #destinations: ReadonlyMap<string, Identity>;
  readonly #onAnswer: RetryCaller['onAnswer'];

  constructor(
    reader: AttemptLines,
    destinations: readonly Identity[],
    onAnswer: RetryCaller['onAnswer'],
  ) {
    this.#reader = reader;
    this.#destinations = new Map(destinations.map((each) => [each.id, each]));
    this.#onAnswer = onAnswer;
  }

  get areComplete(): boolean {
    return this.byId.size === this.#destinations.size;
  }

  /** Reads on. The best of several answers of a destination counts: each event may be refused for its own sake. */
  async look(): Promise<void> {
    const found = new Map<string, AttemptEnded>();
    for await (const line of this.#reader.read(0)) {
      if (line.kind !== 'attempt' || this.byId.has(line.destination)) continue;
      const destination = this.#destinations.get(line.destination);
      if (destination === undefined || !isOf(destination, line)) continue;
      if (found.get(line.destination)?.outcome !== 'delivered') found.set(line.destination, line);
    }
    for (const [id, line] of found) {
      this.byId.set(id, line);
      this.#onAnswer(id, line);
    }
  }

  end(): void {
    for (const id of this.#destinations.keys())
      if (!this.byId.has(id)) this.#onAnswer(id, undefined);
  }
}
