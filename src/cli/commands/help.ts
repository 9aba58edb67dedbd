import type { Command } from 'commander';
import { PostriderError } from '../../errors.ts';
import { hintAmong } from '../../near.ts';
import { formatTable } from '../../resources/table.ts';
import { describeDefaults } from '../../settings/read.ts';
import { settingsTable } from '../../settings/table.ts';
import type { Context } from '../context.ts';

/** What `--help` says of each command besides its options: where it belongs, and how it is used. */

const groups: Readonly<Record<string, readonly string[]>> = {
  'On your machine:': ['dev', 'demo', 'listen'],
  'Roles:': ['gateway', 'router', 'delivery', 'console'],
  'Configuration:': ['apply', 'diff', 'get', 'delete', 'topics', 'secrets', 'schemas'],
  'How it goes:': ['status', 'attempts', 'explain'],
  'Destinations:': ['send-test', 'pause', 'resume', 'console-link'],
  'Calls and events:': ['produce', 'audience-sync', 'delete-user'],
  'What was given up:': ['dead-letters', 'rejected'],
  'This command:': ['help', 'completion'],
};

const examples: Readonly<Record<string, string>> = {
  dev: 'dev -f shop.yaml --data-dir .cache/dev',
  demo: 'demo --stay',
  listen: 'listen --port 9000 --secret teehee --fail-rate 0.1',
  gateway: 'gateway',
  router: 'router',
  delivery: 'delivery',
  console: 'console',
  apply: 'apply -f resources --prune',
  diff: 'diff -f resources --prune',
  get: 'get destination crm -o yaml',
  delete: 'delete destination crm',
  topics: 'topics --create',
  'secrets rotate': 'secrets rotate',
  'schemas register': 'schemas register',
  'schemas check': 'schemas check --subject web-calls-value',
  produce: 'produce --source shop history.ndjson.gz',
  'send-test': 'send-test crm',
  pause: 'pause crm',
  resume: 'resume crm --rate 500/s',
  'console-link': 'console-link crm --expires 30d --bodies',
  'audience-sync': 'audience-sync vip --dry-run',
  'delete-user': 'delete-user 019mr8mf4r --dry-run',
  status: 'status crm',
  attempts: 'attempts crm --failed --since 1h',
  explain: 'explain 0a1b2c3d-4e5f --user 019mr8mf4r',
  'dead-letters list': 'dead-letters list --destination crm --reason http-4xx --since 2h',
  'dead-letters summary': 'dead-letters summary --since 7d',
  'dead-letters show': 'dead-letters show 3:1041 -o json',
  'dead-letters redrive': 'dead-letters redrive --destination crm --reason expired,http-4xx',
  'rejected list': 'rejected list --reason unknown-write-key -o wide',
  'rejected show': 'rejected show 0:77',
  'rejected redrive': 'rejected redrive --source shop --dry-run',
  help: 'help dead-letters redrive',
  completion: 'completion fish > ~/.config/fish/completions/postrider.fish',
};

/** `postrider help`: of all, of a command, or what environment variables there are. */
export function registerHelp(program: Command, context: Context): void {
  program
    .helpCommand(false)
    .command('help')
    .description('explain all commands, one command, or the settings')
    .argument('[topic...]', 'a command, or `settings`')
    .action((topics: readonly string[]) => {
      if (topics.length === 1 && topics[0] === 'settings') context.print(settingsText());
      else commandOf(program, topics).outputHelp();
    });
}

/** Sorts the commands and adds their examples; all must have been registered. */
export function explainCommands(program: Command): void {
  for (const [group, names] of Object.entries(groups))
    for (const command of program.commands)
      if (names.includes(command.name())) command.helpGroup(group);
  commandOf(program, ['completion']).description('print what makes a shell complete commands');
  for (const [path, example] of Object.entries(examples))
    explainCommand(commandOf(program, path.split(' ')), `${program.name()} ${example}`);
}

function explainCommand(command: Command, example: string): void {
  command.addHelpText('after', `\nExample:\n  ${example}`);
  const inherited = command.configureOutput();
  // Commander names what is missing, and not what it may be.
  command.configureOutput({
    outputError: (text, write) => {
      const isMissing = text.startsWith('error: missing required argument');
      const said = isMissing ? `${text.trimEnd()}; for example: ${example}` : text;
      inherited.outputError?.(said, write);
    },
  });
}

/** @throws PostriderError `usage` */
function commandOf(program: Command, path: readonly string[]): Command {
  return path.reduce((command, word) => {
    const found = command.commands.find((each) => each.name() === word);
    if (found !== undefined) return found;
    const visible = command.createHelp().visibleCommands(command);
    const names = visible.map((each) => each.name());
    const allowed = command === program ? ['settings', ...names] : names;
    const hint = hintAmong(word, allowed, 'allowed');
    throw new PostriderError('usage', `there is no help on "${path.join(' ')}"${hint}`);
  }, program);
}

function settingsText(): string {
  const defaults = describeDefaults();
  const rows = Object.values(settingsTable).map(({ name, allowed, secret }) => [
    name,
    (defaults[name] ?? '').replace('not set', ''),
    secret === true ? `${allowed}; or ${name}_FILE names a file with it` : allowed,
  ]);
  return `Environment variables, which every command and role reads:\n\n${formatTable(
    ['NAME', 'DEFAULT', 'ALLOWED'],
    rows,
    Infinity,
  )}`;
}
