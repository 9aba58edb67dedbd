import type { Command, Help } from 'commander';
import { PostriderError } from '../../errors.ts';
import { hintAmong } from '../../near.ts';
import { describeGroups } from '../../settings/descriptions.ts';
import type { Context } from '../context.ts';

/** The parts of each command's `--help` besides its options: its group, and how it is used. */

const groups: Readonly<Record<string, readonly string[]>> = {
  'On your machine:': ['dev', 'demo', 'listen'],
  'Roles:': ['gateway', 'router', 'delivery', 'console', 'api'],
  'Configuration:': ['apply', 'diff', 'preview', 'get', 'delete', 'topics', 'secrets', 'schemas'],
  'State and history:': ['status', 'attempts', 'explain'],
  'Destinations:': ['send-test', 'retry', 'pause', 'resume', 'console-link'],
  'Calls and events:': ['produce', 'audience-sync', 'delete-user', 'suppress-user'],
  'Dead letters and rejected calls:': ['dead-letters', 'rejected'],
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
  api: 'api',
  apply: 'apply -f resources --prune',
  diff: 'diff -f resources --prune',
  preview: 'preview -f resources calls.ndjson',
  get: 'get destination crm -o yaml',
  delete: 'delete destination crm',
  topics: 'topics --create',
  'topics add-partitions': 'topics add-partitions --partitions 24',
  'secrets new': 'secrets new --ed25519',
  'secrets rotate': 'secrets rotate',
  'schemas register': 'schemas register',
  'schemas check': 'schemas check --subject web-calls-value',
  produce: 'produce --source shop history.ndjson.gz',
  'send-test': 'send-test crm',
  retry: 'retry crm',
  pause: 'pause crm',
  resume: 'resume crm ads --rate 500/s',
  'console-link': 'console-link crm --expires 30d --bodies',
  'audience-sync': 'audience-sync vip --dry-run',
  'delete-user': 'delete-user 019mr8mf4r --dry-run',
  'suppress-user': 'suppress-user 019mr8mf4r --lift',
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

/** The part of a command's `--help` beyond the line that the list of commands has. */
const details: Readonly<Record<string, string>> = {
  dev:
    'Starts a broker unless KAFKA_BROKERS is set, creates the topics, applies resources, and runs gateway, router, delivery, console and API. ' +
    'Prints `ready` with the addresses. Endpoints on loopback are allowed here. With --data-dir the next start finds the data, the ports and the secret key of this one again; DIR/brokers and DIR/secret-key hold what other commands need. A broker that runs in Docker keeps no data.',
  demo: 'Runs like `dev`, with a healthy endpoint, one that fails at random and one that is down. Exits with 0 only if every event is accounted for.',
  listen:
    'Answers with 200 unless options say otherwise. --status, --delay and --fail-rate rehearse failures.',
  gateway: 'Run any number of gateways behind a load balancer.',
  router: 'Run as many routers as you like, up to the number of partitions.',
  delivery: 'Run as many delivery workers as you like, up to the number of partitions.',
  console:
    'Operators can also send test events, resend dead letters, and retry, pause and resume destinations here.',
  api: 'Run any number of them. Listens on loopback unless API_TOKENS_FILE or API_OIDC_ISSUER says who may use it.',
  apply:
    'Validates all resources before it writes any. --prune deletes resources that neither the files have nor the API manages, after a question or with --yes. ' +
    '--dry-run exits with 3 if anything would change; without KAFKA_BROKERS it only checks the files.',
  diff: 'Shows each field before and after, without secrets. Exits with 3 if anything would change.',
  preview:
    'For each call and destination: the requests as they would be sent, without secrets, or the rule that leaves it out and the value that it met. ' +
    'Needs no Kafka for -f with a file of calls. With --last, the calls are read from Kafka, and the files count beside what is stored.',
  get: 'Never prints secrets. Audiences and computed traits show their last syncs too.',
  delete:
    'Says how many events wait for a destination, and asks. Events that are still on their way to it become dead letters. ' +
    'To delete an audience or a computed trait, choose --retire or --keep-traits.',
  topics: 'Lists each topic with its state and what differs.',
  'secrets new':
    'Prints whsec_… for both sides, or with --ed25519 whsk_… for the destination and in the next line whpk_… for its receivers. Needs no Kafka.',
  'secrets rotate':
    'Writes every secret again, and verifies that none is left that needs the previous key. You can repeat it.',
  'schemas register': 'Sets the compatibility of the subject to BACKWARD.',
  'schemas check':
    'Exits with 1 and says what breaks if the schema could not become the latest version. Before the first `register` there is nothing to compare with, and it says so.',
  produce:
    'Reports bad lines by number and imports the rest. Calls keep their timestamps. Calls whose message id the router remembers are dropped, as always.',
  'audience-sync':
    'Sends an identify call for each user who entered or left an audience, or whose value of a computed trait changed. ' +
    'Refuses to send if data looks broken: if too many users would leave, come or change at once.',
  'delete-user':
    'Sends one delete notification for each user, source and enabled destination. If you run it again, it notifies again.',
  status:
    'For each destination: its state and since when, the last answer, what waits, the next attempt, the success rate and the p99 of the response time.',
  attempts:
    'Each attempt with its answer, each delay with its end, and each dead letter. The topic `attempts` keeps three days.',
  explain:
    'Received or not, routed or not and by which rule, each attempt, where the event waits and until when, delivered, given up, dropped or sent again. ' +
    'Without --user it reads all partitions.',
  retry:
    'One waiting event is sent at once, and its answer printed. If the endpoint takes it, the others follow at its pace; if not, they stay where they are and follow as soon as it takes one. ' +
    'The rate limit, deadlines and numbers of attempts stay as they are. Exits with 1 if an endpoint took none.',
  pause: 'Keeps events of the destination, up to 14 days, and sends them after `postrider resume`.',
  resume:
    'Sends the kept events at --rate, and what waits in retry topics; new events go out as usual. Several destinations take hardly longer than one. You can stop it at any time and run it again.',
  'console-link':
    'Needs CONSOLE_URL as the console has it, and no key. --manage works where the console knows the API. --list prints the links that work, and --revoke ends one.',
  'dead-letters redrive':
    'Select by options or name places. Reports the outcome of what it sent. You can stop it at any time and run it again: it leaves out what it already sent.',
  'rejected redrive':
    'Calls whose own content was refused are sent only if --reason or a place names them.',
  completion:
    'For bash, add this line to ~/.bashrc once `postrider` is on your PATH: eval "$(postrider completion bash)"',
};

/** `postrider help`: of all, of a command, or what environment variables there are. */
export function registerHelp(program: Command, context: Context): void {
  program
    .helpCommand(false)
    .command('help')
    .description('explain all commands, one command, or the settings')
    .argument('[topic...]', 'a command, or `settings`')
    .action((topics: readonly string[]) => {
      if (topics.length === 1 && topics[0] === 'settings')
        context.print(settingsText(program.createHelp()));
      else commandOf(program, topics).outputHelp();
    });
}

/** Sorts the commands that are registered and adds their examples. */
export function explainCommands(program: Command): void {
  const registered = new Set(program.commands.map((command) => command.name()));
  const ofRegistered = (texts: Readonly<Record<string, string>>): [string[], string][] =>
    Object.entries(texts)
      .map(([path, text]): [string[], string] => [path.split(' '), text])
      .filter(([[name = '']]) => registered.has(name));
  for (const [group, names] of Object.entries(groups))
    for (const command of program.commands)
      if (names.includes(command.name())) command.helpGroup(group);
  commandOf(program, ['completion']).description(
    'print a script that makes your shell complete commands',
  );
  for (const [path, example] of ofRegistered(examples))
    explainCommand(commandOf(program, path), `${program.name()} ${example}`);
  for (const [path, more] of ofRegistered(details)) {
    const command = commandOf(program, path);
    const line = command.description();
    command.summary(line).description(`${line}\n\n${more}`);
  }
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

const settingsWidth = 80;

function settingsText(help: Help): string {
  const indent = '      ';
  const paragraph = (text: string): string =>
    help.boxWrap(text, settingsWidth - indent.length).replaceAll(/^/gm, indent);
  const groups = describeGroups().map(({ title, settings }) => {
    const entries = settings.map(({ name, description, fallback, allowed, isSecret }) => {
      const file = isSecret ? [paragraph(`Or: ${name}_FILE, a file that holds the value`)] : [];
      return [
        `  ${name}`,
        paragraph(description.replaceAll('`', '')),
        paragraph(`Default: ${fallback === '' ? 'none' : fallback}`),
        paragraph(`Allowed: ${allowed}`),
        ...file,
      ].join('\n');
    });
    return [`${title}:`, ...entries].join('\n\n');
  });
  const intro = 'Environment variables, which every command and role reads:';
  return [intro, ...groups].join('\n\n');
}
