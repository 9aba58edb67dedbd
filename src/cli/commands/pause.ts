import type { Command } from 'commander';
import { formatDuration } from '../../duration.ts';
import { topicOf } from '../../dead-letter/ways-back.ts';
import { PostriderError } from '../../errors.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { systemClock } from '../../ops/clock.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { readableOfKind, type StoredResources } from '../../resources/config/stored-resources.ts';
import { requireDestination } from '../../resources/find-destination.ts';
import { pauseRecord, resumedRecord, type Pause } from '../../resources/pauses/pause.ts';
import { readPauses } from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import type { Topology } from '../../topology.ts';
import { timeToEnd, withProducer } from '../connect/with-producer.ts';
import type { Context } from '../context.ts';
import {
  keptEvents,
  sendKept,
  withWaysBack,
  type DeadRedriveOptions,
} from '../letters/events-again.ts';
import { alone } from '../letters/redrive.ts';
import { withRate } from '../letters/options.ts';

/** `postrider pause` and `resume`: nothing is sent to a destination for a while, and nothing is lost. */
export function registerPause(program: Command, context: Context): void {
  program
    .command('pause')
    .description('send nothing to a destination until you resume it')
    .argument('<destination>')
    .action((id: string) => pause(context, id));
}

export function registerResume(program: Command, context: Context): void {
  withRate(program.command('resume'), '100/s')
    .description('send to a paused destination again, kept events first')
    .argument('<destination>')
    .action(async (id: string, options: Pick<DeadRedriveOptions, 'rate'>) => {
      await resume(context, id, options);
    });
}

/** @throws PostriderError `not-found` */
export async function pause(context: Context, id: string): Promise<void> {
  const { topology } = await knownFor(context, id);
  const before = (await readPauses(context.kafka, topology)).get(id);
  if (before !== undefined) {
    context.print(`destination ${id} is paused already, since ${sinceText(before)}`);
    return;
  }
  const { pauses } = topology.topics;
  await write(context, [
    pauseRecord(pauses, id, { since: isoNow() }),
    resumedRecord(pauses, id, undefined),
  ]);
  const keptFor = formatDuration(topology.pausedRetentionMs);
  context.print(
    `destination ${id} is paused: its events are kept for ${keptFor}, and \`postrider resume ${id}\` sends them`,
  );
}

/**
 * Waits while events of another destination are resumed: this one stays paused meanwhile. Until all events are
 * sent, the topic `pauses` says so, because they would be forgotten if this ends before, or has to leave some out.
 * @returns a sentence for each reason why events were left out
 * @throws PostriderError `not-found`, `stopped`
 */
export async function resume(
  context: Context,
  id: string,
  options: Pick<DeadRedriveOptions, 'rate' | 'onSent'>,
): Promise<readonly string[]> {
  const { topology, stored } = await knownFor(context, id);
  const { pauses, deletions } = topology.topics;
  const destination = readableOfKind(stored, 'Destination').find((each) => each.id === id);
  const topic = topicOf(destination, topology);
  // While the destination is paused, so that a refusal changes nothing.
  await requireTopics(context.kafka, [{ name: deletions }, { name: topic }]);
  const sayThatItWaits = (): void => {
    context.note('waiting until another `resume` has ended');
  };
  const sendAll = async (signal: AbortSignal): Promise<readonly string[]> => {
    const before = (await readPauses(context.kafka, topology)).get(id);
    const resumed = [resumedRecord(pauses, id, isoNow()), pauseRecord(pauses, id, undefined)];
    await write(context, resumed, signal);
    context.print(
      before === undefined
        ? `destination ${id} was not paused; sending what is still kept for it`
        : `destination ${id} is resumed, after a pause since ${sinceText(before)}`,
    );
    const { leftOut, areLeft } = await withWaysBack(context, (ways) =>
      sendKept(context, ways, id, options, signal),
    );
    if (!areLeft) await write(context, [resumedRecord(pauses, id, undefined)], signal);
    return leftOut;
  };
  return alone(context, keptEvents, sendAll, sayThatItWaits);
}

/** @throws PostriderError `not-found` for a destination or a topic */
async function knownFor(
  context: Context,
  id: string,
): Promise<{ readonly topology: Topology; readonly stored: StoredResources }> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
  const stored = await readStoredResources({ kafka, topology, log });
  requireDestination(stored, id);
  return { topology, stored };
}

function sinceText({ since, failingSince }: Pause): string {
  return failingSince === undefined
    ? since
    : `${since}, by disableAfter: it had failed since ${failingSince}`;
}

function isoNow(): string {
  return new Date(systemClock.now()).toISOString();
}

/**
 * In their order: the topic has one partition.
 * @param signal some time after it, this ends although Kafka is away
 * @throws PostriderError `stopped`
 */
async function write(
  context: Context,
  records: readonly OutgoingRecord[],
  signal?: AbortSignal,
): Promise<void> {
  const stopped = new PostriderError(
    'stopped',
    'Kafka did not answer until this had to end; `resume` goes on when it is repeated',
  );
  const givenUp = signal && timeToEnd(signal).then(() => Promise.reject(stopped));
  await withProducer(context, (producer) => producer.send(records), givenUp);
}
