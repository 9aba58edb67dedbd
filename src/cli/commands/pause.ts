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
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

/** `postrider pause`: nothing is sent to a destination until `resume`, and nothing is lost. */
export function registerPause(program: Command, context: Context): void {
  withOutput(program.command('pause'))
    .description('send nothing to a destination until you resume it')
    .argument('<destination>')
    .action(async (id: string, { output }: OutputOptions) => {
      const done = await audited(context, { action: 'pause', destination: id }, () =>
        pause(context, id),
      );
      const { since, failingSince = null } = done.pause;
      const { wasPaused, keptForMs } = done;
      const data = { destination: id, since, failingSince, wasPaused, keptForMs };
      context.print(
        present(
          output,
          () => data,
          () => pausedText(id, done),
        ),
      );
    });
}

interface Paused {
  readonly pause: Pause;
  /** It had begun before. */
  readonly wasPaused: boolean;
  readonly keptForMs: number;
}

function pausedText(id: string, { pause, wasPaused, keptForMs }: Paused): string {
  if (wasPaused) return `destination ${id} is paused already, since ${sinceText(pause)}`;
  return `destination ${id} is paused: its events are kept for ${formatDuration(keptForMs)}, and \`postrider resume ${id}\` sends them`;
}

/** @throws PostriderError `not-found` */
export async function pause(context: Context, id: string): Promise<Paused> {
  const { topology, destinations } = await knownFor(context, [id]);
  const [destination = { id }] = destinations;
  const known = await readPauses(context.kafka, topology);
  const before = known.get(destination);
  const keptForMs = topology.pausedRetentionMs;
  if (before !== undefined) return { pause: before, wasPaused: true, keptForMs };
  const { pauses } = topology.topics;
  const begun = known.begin(destination, systemClock.now());
  await writePauses(context, [
    pauseRecord(pauses, destination, begun),
    resumedRecord(pauses, destination, undefined),
  ]);
  return { pause: begun, wasPaused: false, keptForMs };
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

export function sinceText({ since, failingSince, isGone }: Pause): string {
  if (isGone === true)
    return `${since}, by its endpoint: it answered 410, which means no more events`;
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
