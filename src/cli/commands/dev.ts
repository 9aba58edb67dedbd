import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { shutdownSignal } from '../../ops/process.ts';
import { typedKind } from '../../resources/present.ts';
import type { Context } from '../context.ts';
import { checkFirst, load } from '../resources/plan-files.ts';
import { startPipeline, type Pipeline } from '../roles/pipeline.ts';

interface DevOptions {
  readonly file?: readonly string[];
  readonly dataDir?: string;
  readonly json?: true;
}

/** `postrider dev`: the whole pipeline in one process, for a developer's machine. */
export function registerDev(program: Command, context: Context): void {
  program
    .command('dev')
    .description('run all roles in one process, with a Kafka broker and topics, for development')
    .option('-f, --file <files...>', 'resources to apply: YAML or JSON files, or folders of them')
    .option('--data-dir <dir>', "keep the broker's data and the secret key in this folder")
    .option('--json', 'print `ready` as one JSON object')
    .action((options: DevOptions) => dev(context, options));
}

async function dev(context: Context, options: DevOptions): Promise<void> {
  const signalled = shutdownSignal();
  const resources =
    options.file === undefined ? undefined : await load(context, { file: options.file });
  const startsEmpty = context.settings.kafkaBrokers === undefined && options.dataDir === undefined;
  if (resources !== undefined) checkFirst(context, resources, startsEmpty ? 'none' : 'unknown');
  if (context.settings.deliveryAllowNetworks === undefined) {
    context.log.info({}, 'endpoints on loopback are allowed; DELIVERY_ALLOW_NETWORKS decides');
  }
  const starting = startPipeline(context, { dataDir: options.dataDir, resources });
  const pipeline = await Promise.race([starting, signalled]);
  if (typeof pipeline === 'string') process.exit(0);
  const applied = pipeline.applied.map(({ kind, id }) => `${typedKind(kind)} ${id}`).join(', ');
  if (options.json === true) context.log.info({}, `applied ${applied || 'nothing'}`);
  else if (applied !== '') context.print(`applied  ${applied}`);
  context.print(options.json === true ? readyJson(pipeline) : readyText(pipeline));
  const signal = await Promise.race([signalled, pipeline.brokerEnded]);
  if (signal === undefined) {
    throw new PostriderError('broker-unavailable', 'the Kafka broker stopped unexpectedly');
  }
  await pipeline.stop();
  process.exit(0);
}

function readyJson({ brokers, roles }: Pipeline): string {
  return JSON.stringify({
    ready: true,
    gateway: roles.gatewayUrl,
    ops: roles.ops.url,
    console: roles.consoleUrl,
    api: roles.apiUrl,
    brokers,
  });
}

function readyText({ brokers, roles }: Pipeline): string {
  return `ready  gateway ${roles.gatewayUrl ?? ''}  ops ${roles.ops.url}  console ${roles.consoleUrl ?? ''}  api ${roles.apiUrl ?? ''}  brokers ${brokers.join(',')}`;
}
