import { InvalidArgumentError, type Command } from 'commander';
import { AttemptReader, NewestLines } from '../../attempts/read-attempts.ts';
import { hintAt } from '../../near.ts';
import { printable, printableJson } from '../../printable.ts';
import { PostriderError } from '../../errors.ts';
import type { AttemptLine } from '../../event/attempt-line.ts';
import {
  noneGivenUp,
  type Evidence,
  type Past,
  byUrgency,
  judgedView,
  type JudgedView,
  type Said,
} from '../../event/destination-health.ts';
import { identityText } from '../../event/uid.ts';
import type { Notice } from '../../event/notice.ts';
import { systemClock } from '../../ops/clock.ts';
import { waitUnlessAborted } from '../../ops/wait.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { ConfiguredDestinations } from '../../status/configured.ts';
import {
  readGivenUp,
  readNotices,
  readStatus,
  sinceNotice,
  type GivenUp,
} from '../../status/read-status.ts';
import { readPipeline } from '../../status/pipeline.ts';
import { readUnwritable } from '../../status/unwritable.ts';
import type { Context } from '../context.ts';
import { destinationText, leftText, overviewText, type Overview } from '../status/text.ts';
import { readPauses, type Pauses } from '../../resources/pauses/pauses.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface Options extends OutputOptions {
  readonly customer?: string;
  readonly watch?: true;
  readonly limit: number;
}

const againMs = 2_000;
/** The number of attempts that are shown of one destination. */
const attemptsShown = 10;
const attemptsSinceMs = 5 * 60_000;
const clearScreen = '\u001B[H\u001B[2J\u001B[3J';

/** `postrider status`: how the pipeline and each destination are now. */
export function registerStatus(program: Command, context: Context): void {
  withOutput(program.command('status'))
    .description('show the state of the pipeline and of each destination, the worst first')
    .argument('[destination]', 'show only this one, with its URLs and last attempts')
    .option('--customer <id>', 'show only the destinations of this customer')
    .option('--watch', 'refresh every two seconds; Ctrl-C ends it')
    .option('--limit <n>', 'greatest number of destinations in a table', count, 50)
    .action((destination: string | undefined, options: Options) =>
      status(context, destination, options),
    );
}

async function status(
  context: Context,
  destination: string | undefined,
  options: Options,
): Promise<void> {
  if (destination !== undefined && options.customer !== undefined)
    throw new PostriderError('usage', 'give either a destination or --customer, not both');
  const { topics } = await context.topology();
  await requireTopics(context.kafka, [
    { name: topics.destinationStatus },
    { name: topics.notices },
  ]);
  const { stdout } = context.terminal;
  const show = async (): Promise<void> => {
    const text =
      destination === undefined
        ? await overview(context, options)
        : await oneDestination(context, destination, options);
    if (options.watch === true && stdout.isTTY === true) stdout.write(clearScreen);
    context.print(text);
  };
  await show();
  if (options.watch !== true) return;
  const stopping = context.stopping();
  for (;;) {
    await waitUnlessAborted(againMs, stopping);
    if (stopping.aborted) return;
    await show();
  }
}

async function overview(context: Context, options: Options): Promise<string> {
  const nowMs = systemClock.now();
  const topology = await context.topology();
  const { kafka } = context;
  const [known, pipeline] = await Promise.all([
    readKnown(context, nowMs),
    readPipeline(kafka, topology, nowMs),
  ]);
  const { said, configured, pauses, givenUp } = known;
  const workers = said.workers.toSorted((a, b) => (a.worker < b.worker ? -1 : 1));
  const destinations = wantedIds(known, options.customer)
    .map((id) => ({
      ...judged(known, id, undefined, nowMs),
      customer: configured.customerOf(id),
      deadLetters: givenUpOf(known, id).lastHour,
    }))
    .sort(byUrgency);
  for (const { destination } of destinations)
    if (pauses.resumedSince(configured.identityOf(destination)) !== undefined)
      context.note(
        `events that were kept for ${destination} may be left; ${leftText(destination)}`,
      );
  const unwritable = await readUnwritable(kafka, [
    ...topology.ingestTopics,
    topology.topics.ingestRejected,
    topology.topics.delivery,
    ...topology.retryTiersMs.map((tierMs) => topology.retryTopic(tierMs)),
    topology.topics.deadLetter,
    topology.topics.paused,
    ...Array.from(configured.dedicated(), (id) => topology.dedicatedTopic(id).name),
  ]);
  const shown: Overview = {
    at: new Date(nowMs).toISOString(),
    ...pipeline,
    unwritable,
    workers,
    heard: said.heard,
    destinations,
    isGivenUpCut: givenUp.isCut,
  };
  if (workers.length === 0)
    context.note('no worker reports a state: none is running, or none can reach Kafka');
  return textOf(options, shown, () => overviewText(shown, options.limit, nowMs));
}

/** @throws PostriderError `not-found` for a customer without destinations */
function wantedIds({ said, configured }: Known, customer: string | undefined): readonly string[] {
  const ids = [...new Set([...said.destinations.keys(), ...configured.ids()])];
  if (customer === undefined) return ids;
  const own = ids.filter((id) => configured.customerOf(id) === customer);
  if (own.length > 0) return own;
  const known = ids.flatMap((id) => configured.customerOf(id) ?? []);
  const hint = hintAt(customer, new Set(known));
  throw new PostriderError(
    'not-found',
    `no destination is of customer ${printable(customer)}${hint}`,
  );
}

async function oneDestination(context: Context, id: string, options: Options): Promise<string> {
  const nowMs = systemClock.now();
  const [known, recent] = await Promise.all([
    readKnown(context, nowMs),
    recentAttempts(context, id, nowMs),
  ]);
  const { said, configured, pauses, notices } = known;
  const attempts = recent.filter((line) => configured.isPresent(line));
  if (!said.destinations.has(id) && !configured.has(id))
    throw new PostriderError(
      'not-found',
      `there is no destination ${id}${hintAt(id, configured.ids())}`,
    );
  const view = judged(known, id, pastOf(attempts), nowMs);
  const deadLetters = givenUpOf(known, id).lastHour;
  const notice = notices.get(id);
  const resumedSince = pauses.resumedSince(configured.identityOf(id));
  const formerSecretUntil = configured.overlapEnd(id, nowMs);
  const customer = configured.customerOf(id);
  const data = {
    at: new Date(nowMs).toISOString(),
    ...view,
    customer: customer ?? null,
    deadLetters,
    resumedSince: resumedSince ?? null,
    formerSecretUntil: formerSecretUntil ?? null,
    notice: notice ?? null,
    attempts,
  };
  return textOf(options, data, (isWide) =>
    destinationText(
      { view, customer, deadLetters, resumedSince, formerSecretUntil, notice, attempts },
      isWide,
      nowMs,
    ),
  );
}

interface Known {
  readonly said: Said;
  readonly configured: ConfiguredDestinations;
  readonly pauses: Pauses;
  readonly notices: ReadonlyMap<string, Notice>;
  readonly givenUp: GivenUp;
}

/** The facts about destinations, without those about earlier ones of their ids. */
async function readKnown(context: Context, nowMs: number): Promise<Known> {
  const { kafka } = context;
  const { topics } = await context.topology();
  const [{ workers, destinations, heard }, configured, pauses, notices, givenUp] =
    await Promise.all([
      readStatus(kafka, topics.destinationStatus, nowMs),
      ConfiguredDestinations.read(kafka, topics.config),
      readPauses(kafka, { topics }),
      readNotices(kafka, topics.notices),
      readGivenUp(kafka, topics.deadLetter, nowMs),
    ]);
  const present = Array.from(destinations)
    .map(([id, all]) => [id, all.filter((each) => configured.isPresent(each))] as const)
    .filter(([, { length }]) => length > 0);
  return {
    said: { workers, destinations: new Map(present), heard },
    configured,
    pauses,
    notices: new Map([...notices].filter(([, notice]) => configured.isPresent(notice))),
    givenUp,
  };
}

async function recentAttempts(
  context: Context,
  destination: string,
  nowMs: number,
): Promise<AttemptLine[]> {
  const { topics } = await context.topology();
  const newest = new NewestLines(attemptsShown);
  const reader = new AttemptReader(context.kafka, topics.attempts, { destination });
  // Where its breaker is open, delays would be all that is to be seen.
  for await (const line of reader.read(nowMs - attemptsSinceMs))
    if (line.kind === 'attempt' || line.kind === 'dead-letter') newest.add(line);
  return newest.sorted();
}

function givenUpOf({ configured, givenUp }: Known, id: string): Evidence['givenUp'] {
  return givenUp.byDestination.get(identityText(configured.identityOf(id))) ?? noneGivenUp;
}

/** @param past what its last attempts came to; undefined: they were not read, or there was none */
function judged(known: Known, id: string, past: Past | undefined, nowMs: number): JudgedView {
  const { said, configured, pauses, notices } = known;
  const pausedSince = pauses.get(configured.identityOf(id))?.since;
  const off = configured.isDisabled(id) ? 'disabled' : 'enabled';
  const view = judgedView(
    id,
    said,
    {
      configured: pausedSince === undefined ? off : 'paused',
      pausedSince,
      past,
      givenUp: givenUpOf(known, id),
      isHeard: true,
    },
    nowMs,
  );
  return sinceNotice(view, notices.get(id));
}

/** @param lines the oldest first */
function pastOf(lines: readonly AttemptLine[]): Past | undefined {
  const attempts = lines.filter((line) => line.kind === 'attempt');
  const lastGood = attempts.findLastIndex(({ outcome }) => outcome === 'delivered');
  const bad = attempts.slice(lastGood + 1);
  const msOf = (line: AttemptLine | undefined): number | undefined =>
    line === undefined ? undefined : Date.parse(line.at);
  if (attempts.length === 0) return undefined;
  return {
    deliveredMs: msOf(attempts[lastGood]),
    badInRow: bad.length,
    badSinceMs: msOf(bad[0]),
    badMs: msOf(bad.at(-1)),
    isRefused: bad.at(-1)?.outcome === 'refused',
    deliveredLately: undefined,
    deliveredSinceLoss: 0,
  };
}

/** With `--watch`, JSON is a line each time. */
function textOf(
  { output, watch }: Options,
  data: unknown,
  text: (isWide: boolean) => string,
): string {
  if (output === 'json' && watch === true) return printableJson(data, 0);
  return present(
    output,
    () => data,
    (format) => text(format === 'wide'),
  );
}

function count(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number from 1 to 999999.');
}
