import { InvalidArgumentError, Option, type Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { linkDurations, readLinkDuration } from '../../resources/customers/link-terms.ts';
import { notSet } from '../../settings/misspelt.ts';
import { settingsTable } from '../../settings/table.ts';
import { systemClock } from '../../ops/clock.ts';
import type { Context } from '../context.ts';
import {
  linkToCustomer,
  linkToDestination,
  revokeLink,
  workingLinks,
  type NewLink,
  type WorkingLink,
} from '../console/links.ts';
import { parseCustomer } from '../letters/options.ts';
import { formatTable } from '../../resources/table.ts';
import { isForPrograms, present, withOutput, type OutputOptions } from '../terminal/output.ts';

interface Options extends OutputOptions {
  readonly customer?: string;
  readonly manage?: true;
  readonly expires: number;
  readonly bodies?: true;
  readonly list?: true;
  readonly revoke?: string;
}

/** `postrider console-link`: the console for a customer. */
export function registerConsoleLink(program: Command, context: Context): void {
  withOutput(program.command('console-link'))
    .description('print a link that shows a customer their destinations in the console')
    .argument('[destination]', 'show this one alone, read-only')
    .option('--customer <id>', 'show all destinations of this customer', parseCustomer)
    .option(
      '--manage',
      'with --customer: destinations can be added, changed and deleted, and events sent again',
    )
    .addOption(
      new Option('--expires <duration>', 'how long the link works')
        .argParser(parseExpires)
        .default(parseExpires('7d'), '7d'),
    )
    .option('--bodies', 'also show the bodies of events')
    .option('--list', 'print the links that work, of one destination or customer, or all')
    .option('--revoke <id>', 'end a link, and every session that was begun with it')
    .action(async (destination: string | undefined, options: Options) => {
      if (options.revoke !== undefined) await revoke(context, options.revoke, options);
      else if (options.list === true) await list(context, destination, options);
      else await make(context, destination, options);
    });
}

async function make(
  context: Context,
  destination: string | undefined,
  { customer, manage, expires, bodies, output }: Options,
): Promise<void> {
  if (destination !== undefined && customer !== undefined)
    throw new PostriderError('usage', 'give either a destination or --customer, not both');
  if (manage === true && customer === undefined)
    throw new PostriderError('usage', '--manage needs --customer: one destination is read-only');
  const { settings, environment } = context;
  const { consoleUrl } = settings;
  const { name, allowed } = settingsTable.consoleUrl;
  if (consoleUrl === undefined)
    throw notSet(name, `${allowed}, the same as for the console`, environment);
  const wanted = { bodies: bodies === true, untilMs: systemClock.now() + expires };
  let made: NewLink;
  if (customer !== undefined)
    made = await linkToCustomer(context, { ...wanted, customer, manage: manage === true });
  else if (destination !== undefined)
    made = await linkToDestination(context, { ...wanted, destination });
  else
    throw new PostriderError('usage', 'name a destination, or give --customer, --list or --revoke');
  const { path, grants, ...link } = made;
  const url = new URL(path, consoleUrl).href;
  const until = new Date(wanted.untilMs).toISOString();
  context.print(
    present(
      output,
      () => ({ ...link, url, bodies: wanted.bodies, until }),
      () => url,
    ),
  );
  context.note(
    `anyone with this link can ${grants} until ${until}; \`postrider console-link --revoke ${link.id}\` ends it`,
  );
}

async function list(
  context: Context,
  destination: string | undefined,
  { customer, output }: Options,
): Promise<void> {
  const isAll = destination === undefined && customer === undefined;
  const wanted = (await workingLinks(context)).filter(
    (link) =>
      isAll ||
      (destination !== undefined && link.destination === destination) ||
      (customer !== undefined && link.customer === customer),
  );
  if (wanted.length === 0) context.note('no link works');
  if (wanted.length > 0 || isForPrograms({ output }))
    context.print(
      present(
        output,
        () => wanted,
        () => tableOf(wanted),
      ),
    );
}

function tableOf(links: readonly WorkingLink[]): string {
  const rows = links.map(({ id, destination, customer, manage, bodies, until, made, by, name }) => [
    id,
    destination ?? '',
    customer ?? '',
    manage ? 'yes' : 'no',
    bodies ? 'yes' : 'no',
    until,
    made,
    name === null ? by : `${name} (${by})`,
  ]);
  const head = ['ID', 'DESTINATION', 'CUSTOMER', 'MANAGE', 'BODIES', 'UNTIL', 'MADE', 'BY'];
  return formatTable(head, rows);
}

async function revoke(context: Context, id: string, { output }: OutputOptions): Promise<void> {
  const revoked = await revokeLink(context, id);
  const [[what, whose] = []] = Object.entries(revoked);
  context.print(
    present(
      output,
      () => ({ id, ...revoked, revoked: true }),
      () => `link ${id} of ${what} ${whose} is revoked`,
    ),
  );
}

function parseExpires(text: string): number {
  const lastsMs = readLinkDuration(text);
  if (lastsMs !== undefined) return lastsMs;
  throw new InvalidArgumentError(`Allowed: a duration such as 12h or 7d, ${linkDurations}.`);
}
