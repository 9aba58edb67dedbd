import type { Command } from 'commander';
import { deadLetterView } from '../../dead-letter/dead-letter-view.ts';
import {
  notWhole,
  readDeadLetter,
  redriven,
  type DeadLetter,
} from '../../dead-letter/dead-letter.ts';
import { deletedSince } from '../../dead-letter/fenced.ts';
import { WaysBack } from '../../dead-letter/ways-back.ts';
import type { SearchArea } from '../../dead-letter/read-letters.ts';
import { formatDuration } from '../../duration.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { systemClock } from '../../ops/clock.ts';
import { followStoredResources, readStoredResources } from '../../resources/config/config-topic.ts';
import { requireDestination } from '../../resources/find-destination.ts';
import { startFence } from '../../resources/fence/fence-store.ts';
import { pauseRecord, type Pause } from '../../resources/pauses/pause.ts';
import { readPauses } from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';
import type { LetterKind } from '../letters/letters.ts';
import { withRate, type RedriveOptions } from '../letters/options.ts';
import { redriveLetters } from '../letters/redrive.ts';

/** Kafka's from this machine's, at most. */
const clocksDifferMs = 60_000;

const keptEvents: LetterKind<DeadLetter> = {
  noun: 'event',
  topicOf: ({ topics }) => topics.paused,
  read: readDeadLetter,
  view: deadLetterView,
};

/** `postrider pause` and `resume`: nothing is sent to a destination for a while, and nothing is lost. */
export function registerPause(program: Command, context: Context): void {
  program
    .command('pause')
    .description('send a destination nothing until it is resumed; its events are kept meanwhile')
    .argument('<destination>')
    .action((id: string) => pause(context, id));
}

export function registerResume(program: Command, context: Context): void {
  withRate(program.command('resume'), '100/s')
    .description('send to a paused destination again, first of all what was kept for it')
    .argument('<destination>')
    .action((id: string, options: Pick<RedriveOptions, 'rate'>) => resume(context, id, options));
}

async function pause(context: Context, id: string): Promise<void> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
  requireDestination(await readStoredResources({ kafka, topology, log }), id);
  const before = (await readPauses(kafka, topology)).get(id);
  if (before !== undefined) {
    context.print(`destination ${id} is paused already, since ${sinceText(before)}`);
    return;
  }
  await write(context, id, { since: new Date(systemClock.now()).toISOString() });
  const keptFor = formatDuration(topology.pausedRetentionMs);
  context.print(
    `destination ${id} is paused: its events are kept for ${keptFor}, and \`postrider resume ${id}\` sends them`,
  );
}

/**
 * Workers hear of it within a second. What one that had not heard kept meanwhile lies behind what is sent
 * again here, so it is looked for until nothing new is found.
 */
async function resume(
  context: Context,
  id: string,
  { rate }: Pick<RedriveOptions, 'rate'>,
): Promise<void> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { paused, pauses, deletions } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }, { name: deletions }]);
  const access = { kafka, topology, log };
  const config = await followStoredResources(access);
  try {
    requireDestination(config.resources, id);
    const before = (await readPauses(kafka, topology)).get(id);
    await write(context, id, undefined);
    context.print(
      before === undefined
        ? `destination ${id} was not paused; sending what is still kept for it`
        : `destination ${id} is resumed, after a pause since ${sinceText(before)}`,
    );
    const fence = await startFence(access);
    const waysBack = new WaysBack(config, topology);
    const judges = [
      notWhole,
      (letter: DeadLetter) => deletedSince(letter, fence),
      (letter: DeadLetter) => waysBack.objection(letter),
    ];
    const matches = (letter: DeadLetter): boolean => letter.destinationId === id;
    const sentAgain = (letter: DeadLetter): OutgoingRecord =>
      redriven(letter, waysBack.of(letter), systemClock.now());
    const options = { rate, yes: true, output: 'table' } as const;
    const sendKept = async (area: SearchArea): Promise<void> => {
      const startedMs = systemClock.now();
      const task = { selection: { area, matches }, judges, sentAgain };
      if ((await redriveLetters(context, keptEvents, task, options)) > 0)
        await sendKept({ sinceMs: startedMs - clocksDifferMs });
    };
    await sendKept({}).finally(() => fence.stop());
  } finally {
    await config.stop();
  }
}

function sinceText({ since, failingSince }: Pause): string {
  return failingSince === undefined
    ? since
    : `${since}, by disableAfter: it had failed since ${failingSince}`;
}

async function write(context: Context, id: string, pause: Pause | undefined): Promise<void> {
  const { pauses } = (await context.topology()).topics;
  await withProducer(context, (producer) => producer.send([pauseRecord(pauses, id, pause)]));
}
