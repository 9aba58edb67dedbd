import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import { formatTable } from '../../resources/table.ts';
import {
  createTopics,
  findDifferences,
  inspectTopics,
  type TopicFinding,
} from '../../resources/topics.ts';
import type { Context } from '../context.ts';
import { registerAddPartitions } from './topics-add-partitions.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface TopicsOptions extends OutputOptions {
  readonly create?: true;
  readonly check?: true;
}

/** `postrider topics`: what exists against what should. */
export function registerTopics(program: Command, context: Context): void {
  const command = withOutput(program.command('topics'))
    .description('compare the topics that exist with those that should exist')
    .option('--create', 'create missing topics; what exists stays as it is')
    .option('--check', 'exit with 1 if anything differs')
    .action((options: TopicsOptions) => topics(context, options));
  registerAddPartitions(command, context);
}

async function topics(context: Context, options: TopicsOptions): Promise<void> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const access = { kafka, topology, clock: systemClock, log };
  let findings = await inspectTopics(access);
  if (options.create === true) {
    await createTopics(kafka, findings);
    findings = await inspectTopics(access);
  }
  const answer = findings.map(({ name, state, partitions, details }) => {
    return { name, state, partitions, details };
  });
  context.print(
    present(
      options.output,
      () => answer,
      (format) => tableOf(findings, format),
    ),
  );
  const differing = findDifferences(findings);
  if (options.check !== true || differing.length === 0) return;
  const names = differing.map(({ name, state }) => `${name} (${state})`).join(', ');
  throw new PostriderError('topics-differ', `topics differ from what should be: ${names}`);
}

function tableOf(findings: readonly TopicFinding[], format: 'table' | 'wide'): string {
  const width = format === 'wide' ? Infinity : undefined;
  return formatTable(['TOPIC', 'STATE', 'PARTITIONS', 'DETAILS'], findings.map(rowOf), width);
}

function rowOf({ name, state, partitions, details }: TopicFinding): readonly string[] {
  return [name, state, String(partitions), details.join('; ')];
}
