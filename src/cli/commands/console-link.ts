import { InvalidArgumentError, Option, type Command } from 'commander';
import { formatDuration, parseDuration } from '../../duration.ts';
import { systemClock } from '../../ops/clock.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { requireDestination } from '../../resources/find-destination.ts';
import { notSet } from '../../settings/misspelt.ts';
import { settingsTable } from '../../settings/table.ts';
import { longestLinkMs } from '../../topology.ts';
import type { Context } from '../context.ts';

interface Options {
  readonly expires: number;
  readonly bodies?: true;
}

const minuteMs = 60_000;

/** `postrider console-link`: what a customer sees of their own destination. */
export function registerConsoleLink(program: Command, context: Context): void {
  program
    .command('console-link')
    .description('print a link that shows a customer one destination in the console, read-only')
    .argument('<destination>')
    .addOption(
      new Option('--expires <duration>', 'how long the link works')
        .argParser(parseExpires)
        .default(parseExpires('7d'), '7d'),
    )
    .option('--bodies', 'also show the bodies of events')
    .action((id: string, options: Options) => printLink(context, id, options));
}

async function printLink(
  context: Context,
  destination: string,
  { expires, bodies }: Options,
): Promise<void> {
  const { kafka, log, settings, environment } = context;
  const { consoleSessionKey: key, consoleUrl } = settings;
  const missing = key === undefined ? settingsTable.consoleSessionKey : settingsTable.consoleUrl;
  if (key === undefined || consoleUrl === undefined)
    throw notSet(missing.name, `${missing.allowed}, the same as for the console`, environment);
  const topology = await context.topology();
  const stored = await readStoredResources({ kafka, topology, log });
  const { uid = null } = requireDestination(stored, destination);
  const { makeLink } = await import('../../console/access/customer-link.ts');
  const untilMs = systemClock.now() + expires;
  const shown = { destination, uid, bodies: bodies === true, untilMs };
  context.print(makeLink(key, consoleUrl, shown));
  const until = new Date(untilMs).toISOString();
  context.note(`anyone with this link can see destination ${destination} until ${until}`);
}

function parseExpires(given: string): number {
  const valueMs = parseDuration(given) ?? NaN;
  if (valueMs >= minuteMs && valueMs <= longestLinkMs) return valueMs;
  throw new InvalidArgumentError(
    `Allowed: a duration such as 12h or 7d, from ${formatDuration(minuteMs)} to ${formatDuration(longestLinkMs)}.`,
  );
}
