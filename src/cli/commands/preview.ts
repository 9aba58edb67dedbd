import { Argument, Option, type Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { callsInFile } from '../../explain/preview/calls-in-file.ts';
import { presentPreview } from '../../explain/preview/present.ts';
import {
  Preview,
  sourceIdsOf,
  type PlacedCall,
  type PreviewOptions,
} from '../../explain/preview/preview.ts';
import { gunzipIfNeeded } from '../../bulk-import/import-calls.ts';
import { systemClock } from '../../ops/clock.ts';
import { counted } from '../../printable.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import {
  notStored,
  readableOfKind,
  type StoredResources,
} from '../../resources/config/stored-resources.ts';
import type { Destination, Source } from '../../resources/resource.ts';
import type { Context } from '../context.ts';
import { readLastCalls } from '../resources/last-calls.ts';
import { checkFirst, load } from '../resources/plan-files.ts';
import { openInput, unreadableInput } from '../terminal/input.ts';
import { parseLast, present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface Options extends OutputOptions {
  readonly file?: readonly string[];
  readonly last?: number;
  readonly source?: string;
  readonly destination?: string;
}

/** `postrider preview`: what calls would become, without sending anything. */
export function registerPreview(program: Command, context: Context): void {
  withOutput(program.command('preview'))
    .description('show what calls would become at each destination; nothing is sent')
    .addOption(
      // Not one option for several files, which would take the file with calls for another one.
      new Option(
        '-f, --file <file>',
        'YAML or JSON file with resources, a folder with such files, or - for stdin; can be repeated (default: what is stored)',
      ).argParser((file, before: readonly string[] | undefined) => [...(before ?? []), file]),
    )
    .addOption(
      new Option('--last <number>', 'the newest calls of --source, instead of a file').argParser(
        parseLast,
      ),
    )
    .option('--source <id>', 'source of the calls (default: each call has a writeKey)')
    .option('--destination <id>', 'only this destination')
    .addArgument(
      new Argument('[file]', 'NDJSON file with calls, optionally gzipped').default('-', 'stdin'),
    )
    .action((file: string, options: Options) => preview(context, file, options));
}

async function preview(context: Context, file: string, options: Options): Promise<void> {
  const { last, source, destination, output } = options;
  refuseContradictions(file, options);
  const resources = await resourcesFor(context, options);
  const scene = { ...resources, sourceId: source, destinationId: destination };
  refuseUnknown(scene);
  const decide = new Preview(scene);
  const calls =
    last === undefined
      ? await readFile(context, file)
      : await readLast(context, scene, source ?? '', last);
  const most = mostAnswers(scene);
  if (calls.length > most)
    throw new PostriderError(
      'input-invalid',
      `${counted(calls.length, 'call')} are too many for so many destinations; allowed are ${most.toLocaleString('en')}, or choose one with --destination`,
    );
  const previews = calls.map((call) => decide.of(call));
  context.print(
    present(
      output,
      () => previews,
      (format) => presentPreview(previews, format === 'wide'),
    ),
  );
  const bad = previews.filter(({ problem }) => problem !== null).length;
  if (bad > 0)
    throw new PostriderError(
      'input-invalid',
      `${bad} of ${counted(previews.length, 'call')} would not be routed, for the reasons above`,
    );
}

/** @throws PostriderError `usage` */
function refuseContradictions(file: string, { file: files, last, source }: Options): void {
  const problem = /\.ya?ml$/.test(file)
    ? `${file} is no file with calls; write -f before each file with resources`
    : last !== undefined && file !== '-'
      ? 'give a file with calls or --last, not both'
      : last !== undefined && source === undefined
        ? '--last needs --source, whose calls it reads'
        : last === undefined && file === '-' && files?.includes('-') === true
          ? 'resources and calls cannot both come from stdin'
          : undefined;
  if (problem !== undefined) throw new PostriderError('usage', problem);
}

type Resources = Pick<PreviewOptions, 'sources' | 'destinations'>;

/** The resources of the files, beside the stored ones where calls come from Kafka. Stored secrets stay sealed. */
async function resourcesFor(context: Context, { file, last }: Options): Promise<Resources> {
  const files = file === undefined ? undefined : await load(context, { file });
  if (files !== undefined) checkFirst(context, files, 'unknown', 'there is no preview');
  const given = (files?.documents ?? []).flatMap(({ parsed }) =>
    'resource' in parsed ? [parsed.resource] : [],
  );
  const isAll = files !== undefined && last === undefined;
  const stored: StoredResources = isAll ? new Map() : await readStored(context);
  const sources = new Map<string, Source>();
  const destinations = new Map<string, Destination>();
  for (const each of readableOfKind(stored, 'Source')) sources.set(each.id, each);
  for (const each of readableOfKind(stored, 'Destination')) destinations.set(each.id, each);
  for (const each of given)
    if (each.kind === 'Source') sources.set(each.id, each);
    else if (each.kind === 'Destination') destinations.set(each.id, each);
  return { sources: [...sources.values()], destinations: [...destinations.values()] };
}

async function readStored(context: Context): Promise<StoredResources> {
  const { kafka, log } = context;
  return readStoredResources({ kafka, topology: await context.topology(), log });
}

/** @throws PostriderError `not-found` */
function refuseUnknown({ sources, destinations, sourceId, destinationId }: PreviewOptions): void {
  const sourceIds = sourceIdsOf({ sources, destinations });
  if (sourceId !== undefined && !sourceIds.includes(sourceId))
    throw notStored('source', sourceId, sourceIds);
  const ids = destinations.map(({ id }) => id);
  if (destinationId !== undefined && !ids.includes(destinationId))
    throw notStored('destination', destinationId, ids);
}

/** The calls whose answers fit into memory. */
function mostAnswers({ destinations, destinationId }: PreviewOptions): number {
  return Math.floor(
    1_000_000 / (destinationId === undefined ? Math.max(1, destinations.length) : 1),
  );
}

async function readFile(context: Context, file: string): Promise<readonly PlacedCall[]> {
  const calls: PlacedCall[] = [];
  const input = gunzipIfNeeded(await openInput(context, file));
  try {
    for await (const call of callsInFile(input, systemClock.now())) calls.push(call);
  } catch (cause) {
    throw unreadableInput(file, cause);
  }
  return calls;
}

async function readLast(
  context: Context,
  { sources }: Resources,
  id: string,
  count: number,
): Promise<readonly PlacedCall[]> {
  const writeKeys = sources.find((source) => source.id === id)?.writeKeys ?? [];
  return readLastCalls(context, { id, writeKeys }, count);
}
