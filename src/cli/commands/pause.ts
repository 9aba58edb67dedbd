import type { Command } from 'commander';
import { formatDuration } from '../../duration.ts';
import { PostriderError } from '../../errors.ts';
import type { Identity } from '../../event/uid.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { systemClock } from '../../ops/clock.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import type { StoredResources } from '../../resources/config/stored-resources.ts';
import { requireDestination } from '../../resources/find-destination.ts';
import { pauseRecord, resumedRecord, type Pause } from '../../resources/pauses/pause.ts';
import { readPauses } from '../../resources/pauses/pauses.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import type { Topology } from '../../topology.ts';
import { timeToEnd, withProducer } from '../connect/with-producer.ts';
import { audited } from '../audit.ts';
import type { Context } from '../context.ts';

/** `postrider pause`: nothing is sent to a destination until `resume`, and nothing is lost. */
export function registerPause(program: Command, context: Context): void {
  program
    .command('pause')
    .description('send nothing to a destination until you resume it')
    .argument('<destination>')
    .action((id: string) =>
      audited(context, { action: 'pause', destination: id }, () => pause(context, id)),
    );
}

/** @throws PostriderError `not-found` */
export async function pause(context: Context, id: string): Promise<void> {
  const { topology, destinations } = await knownFor(context, [id]);
  const [destination = { id }] = destinations;
  const known = await readPauses(context.kafka, topology);
  const before = known.get(destination);
  if (before !== undefined) {
    context.print(`destination ${id} is paused already, since ${sinceText(before)}`);
    return;
  }
  const { pauses } = topology.topics;
  await writePauses(context, [
    pauseRecord(pauses, destination, known.begin(destination, systemClock.now())),
    resumedRecord(pauses, destination, undefined),
  ]);
  const keptFor = formatDuration(topology.pausedRetentionMs);
  context.print(
    `destination ${id} is paused: its events are kept for ${keptFor}, and \`postrider resume ${id}\` sends them`,
  );
}

interface Known {
  readonly topology: Topology;
  readonly stored: StoredResources;
  /** The destinations, as the command line names them. */
  readonly destinations: readonly Identity[];
}

/** @throws PostriderError `not-found` for a destination or a topic */
export async function knownFor(context: Context, ids: readonly string[]): Promise<Known> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const { paused, pauses } = topology.topics;
  await requireTopics(kafka, [{ name: pauses }, { name: paused }]);
  const stored = await readStoredResources({ kafka, topology, log });
  return { topology, stored, destinations: ids.map((id) => requireDestination(stored, id)) };
}

export function sinceText({ since, failingSince }: Pause): string {
  return failingSince === undefined
    ? since
    : `${since}, by disableAfter: it had failed since ${failingSince}`;
}

/**
 * In their order: the topic has one partition.
 * @param signal some time after it, this ends although Kafka is away
 * @throws PostriderError `stopped`
 */
export async function writePauses(
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
