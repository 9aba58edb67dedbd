import { InvalidArgumentError, Option, type Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import {
  CustomerLinks,
  linkDurations,
  madeLink,
  makeLink,
  readLinkDuration,
  revokedLink,
} from '../../console/access/customer-link.ts';
import type { LinkRow } from '../../console/api/answers/actions.ts';
import { decodeAuditEntry } from '../../event/audit-entry.ts';
import { followTable } from '../../kafka/follow/table.ts';
import { systemClock } from '../../ops/clock.ts';
import { readStoredResources } from '../../resources/config/config-topic.ts';
import { findDestination, requireDestination } from '../../resources/config/stored-resources.ts';
import { requireTopics } from '../../resources/require-topics.ts';
import { formatTable } from '../../resources/table.ts';
import { notSet } from '../../settings/misspelt.ts';
import { settingsTable } from '../../settings/table.ts';
import { writeAudit } from '../audit.ts';
import type { Context } from '../context.ts';
import { isForPrograms, present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface Options extends OutputOptions {
  readonly expires: number;
  readonly bodies?: true;
  readonly list?: true;
  readonly revoke?: string;
}

/** `postrider console-link`: what a customer sees of their own destination. */
export function registerConsoleLink(program: Command, context: Context): void {
  withOutput(program.command('console-link'))
    .description('print a link that shows a customer one destination in the console, read-only')
    .argument('[destination]')
    .addOption(
      new Option('--expires <duration>', 'how long the link works')
        .argParser(parseExpires)
        .default(parseExpires('7d'), '7d'),
    )
    .option('--bodies', 'also show the bodies of events')
    .option('--list', 'print the links that work, of one destination or all')
    .option('--revoke <id>', 'end a link, and every session that was begun with it')
    .action(async (destination: string | undefined, options: Options) => {
      if (options.revoke !== undefined) await revoke(context, options.revoke, options);
      else if (options.list === true) await list(context, destination, options);
      else if (destination === undefined)
        throw new PostriderError('usage', 'name a destination, or give --list or --revoke');
      else await printLink(context, destination, options);
    });
}

async function printLink(
  context: Context,
  destination: string,
  { expires, bodies, output }: Options,
): Promise<void> {
  const { kafka, log, settings, environment } = context;
  const { consoleUrl } = settings;
  const { name, allowed } = settingsTable.consoleUrl;
  if (consoleUrl === undefined)
    throw notSet(name, `${allowed}, the same as for the console`, environment);
  const topology = await context.topology();
  const stored = await readStoredResources({ kafka, topology, log });
  const { uid = null } = requireDestination(stored, destination);
  const untilMs = systemClock.now() + expires;
  const { path, link } = makeLink({ destination, uid, bodies: bodies === true, untilMs });
  await writeAudit(context, madeLink(link));
  const url = new URL(path, consoleUrl).href;
  const until = new Date(untilMs).toISOString();
  const data = { id: link.id, destination, url, bodies: link.bodies, until };
  context.print(
    present(
      output,
      () => data,
      () => url,
    ),
  );
  context.note(
    `anyone with this link can see destination ${destination} until ${until}; \`postrider console-link --revoke ${link.id}\` ends it`,
  );
}

async function list(
  context: Context,
  destination: string | undefined,
  options: OutputOptions,
): Promise<void> {
  const { kafka, log } = context;
  const topology = await context.topology();
  const stored = await readStoredResources({ kafka, topology, log });
  const links = await readLinks(context);
  const wanted = links
    .working(systemClock.now(), (id) => findDestination(stored, id))
    .filter((link) => destination === undefined || link.destination === destination);
  if (wanted.length === 0) context.note('no link works');
  if (wanted.length > 0 || isForPrograms(options))
    context.print(
      present(
        options.output,
        () => wanted.map((link) => ({ ...link, name: link.name ?? null })),
        () => tableOf(wanted),
      ),
    );
}

function tableOf(links: readonly LinkRow[]): string {
  const rows = links.map(({ id, destination, bodies, until, made, by, name }) => [
    id,
    destination,
    bodies ? 'yes' : 'no',
    until,
    made,
    name === undefined ? by : `${name} (${by})`,
  ]);
  return formatTable(['ID', 'DESTINATION', 'BODIES', 'UNTIL', 'MADE', 'BY'], rows);
}

async function revoke(context: Context, id: string, { output }: OutputOptions): Promise<void> {
  const link = (await readLinks(context)).get(id, systemClock.now());
  if (link === undefined)
    throw new PostriderError('not-found', `no link ${id} works; --list prints those that do`);
  await writeAudit(context, revokedLink(link));
  const { destination } = link;
  context.print(
    present(
      output,
      () => ({ id, destination, revoked: true }),
      () => `link ${id} of destination ${destination} is revoked`,
    ),
  );
}

async function readLinks(context: Context): Promise<CustomerLinks> {
  const { kafka, log } = context;
  const { audit: topic } = (await context.topology()).topics;
  await requireTopics(kafka, [{ name: topic }]);
  const nowMs = systemClock.now();
  const links = followTable(
    kafka,
    { topic, log },
    {
      create: () => new CustomerLinks(),
      apply: (table, { value }) => {
        const record = decodeAuditEntry(value);
        if (record !== undefined) table.apply(record, nowMs);
      },
    },
  );
  await links.loaded;
  await links.stop();
  return links.current;
}

function parseExpires(given: string): number {
  const lastsMs = readLinkDuration(given);
  if (lastsMs !== undefined) return lastsMs;
  throw new InvalidArgumentError(`Allowed: a duration such as 12h or 7d, ${linkDurations}.`);
}
