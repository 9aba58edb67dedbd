import { Argument, type Command } from 'commander';
import { gunzipIfNeeded, importCalls, ImportProgress } from '../../bulk-import/import-calls.ts';
import { PostriderError } from '../../errors.ts';
import { systemClock } from '../../ops/clock.ts';
import { timeToEnd } from '../../ops/wait.ts';
import { counted } from '../../printable.ts';
import { findSource } from '../../resources/config/config-topic.ts';
import type { Context } from '../context.ts';
import { present, withOutput, type OutputOptions } from '../terminal/output.ts';
import type { StatusLine } from '../terminal/terminal.ts';
import { openInput, unreadableInput } from '../terminal/input.ts';
import { withProducer } from '../connect/with-producer.ts';

interface ProduceOptions extends OutputOptions {
  readonly source: string;
}

/** `postrider produce`: history and other bulk, straight to the ingest topic. */
export function registerProduce(program: Command, context: Context): void {
  withOutput(program.command('produce'))
    .description('import calls from a file, one JSON call per line, into the ingest topic')
    .requiredOption('--source <id>', 'the source that the calls come from')
    .addArgument(new Argument('[file]', 'NDJSON file, optionally gzipped').default('-', 'stdin'))
    .action((file: string, options: ProduceOptions) => produce(context, file, options));
}

async function produce(context: Context, file: string, options: ProduceOptions): Promise<void> {
  // Before Kafka is asked for anything.
  const input = await openInput(context, file);
  const { kafka, log } = context;
  const topology = await context.topology();
  const access = { kafka, topology, clock: systemClock, log };
  const source = await findSource(access, options.source);
  const [writeKey] = source.writeKeys;
  if (writeKey === undefined)
    throw new PostriderError('input-invalid', `source ${source.id} has no write key; give it one`);
  const stopping = context.stopping();
  stopping.addEventListener('abort', () => {
    // Nothing more may ever come from it.
    input.destroy();
  });
  const progress = new ImportProgress();
  const startMs = Date.now();
  const status = context.status(() => progressOf(progress, Date.now() - startMs));
  try {
    await withProducer(
      context,
      (producer) =>
        importCalls({
          input: gunzipIfNeeded(input),
          topic: topology.topics.ingest,
          writeKey,
          producer,
          signal: stopping,
          onBegun: (line) => {
            progress.begun(line);
          },
          onSent: (line) => {
            progress.lineSent(line);
          },
          onBad: (line, reason) => {
            progress.lineBad(line);
            reportBad(context, status, line, reason);
          },
        }),
      timeToEnd(stopping),
    );
  } catch (cause) {
    if (cause instanceof PostriderError && cause.code === 'kafka-refused') throw cause;
    if (!stopping.aborted)
      throw unreadableInput(file, cause, `; ${counted(progress.sent, 'call')} sent before`);
  } finally {
    status.stop();
  }
  const { sent, bad } = progress;
  const data = { source: source.id, sent, bad, stoppedEarly: stopping.aborted };
  context.print(
    present(
      options.output,
      () => data,
      () => `${counted(sent, 'call')} sent`,
    ),
  );
  if (stopping.aborted) throw new PostriderError('stopped', `stopped early, ${progress.placeText}`);
  if (bad > 0) {
    const lines = `${bad} of ${counted(sent + bad, 'line')}`;
    throw new PostriderError('input-invalid', `${lines} could not be sent, for the reasons above`);
  }
}

function reportBad(context: Context, status: StatusLine, line: number, reason: string): void {
  status.clear();
  context.note(`line ${line}: ${reason}`);
}

function progressOf({ sent, bad }: ImportProgress, tookMs: number): string {
  const perSecond = Math.round((sent * 1_000) / Math.max(1, tookMs));
  const numbers = [sent, perSecond].map((n) => n.toLocaleString('en'));
  const badLines = bad === 0 ? '' : `, ${counted(bad, 'bad line')}`;
  return `${numbers[0] ?? ''} calls sent, ${numbers[1] ?? ''}/s${badLines}`;
}
