import { Option, type Argument, type Command } from 'commander';
import { createContext } from '../../../src/cli/context.ts';
import { createProgram } from '../../../src/cli/program.ts';
import { code, generated, markCode, sentence } from './text.ts';

export async function commandsPage(): Promise<string> {
  const program = await createProgram(createContext({}));
  const sections = groupsOf(program).flatMap(([title, commands]) => [
    `## ${title}`,
    ...commands.flatMap((command) => entries(command, command.name())),
  ]);
  return [generated, intro, ...sections].join('\n\n');
}

const intro = `# Commands

In a clone, run \`npx postrider COMMAND\`. In the container image, the command is the argument. \`--help\` after any command prints what this page says about it.

- **Exit codes.** 0: success. 1: failure. 2: wrong usage. 3: \`diff\` or \`apply --dry-run\` found changes. 141: nothing reads the output any more, as in \`postrider get source | head -1\`.
- **Errors** are one line on stderr. \`--verbose\` adds the stack and what the Kafka client logs.
- **Kafka away.** One-shot commands warn after 1 s and fail after 10 s if Kafka is unreachable. Roles keep trying. If Kafka refuses a login or a certificate, both end at once and name the setting.
- **Output.** Commands that print data take \`-o table|wide|json|yaml\`. A table leaves out rarely needed columns and is cut to the width of the terminal; \`wide\` prints all columns in full; \`json\` and \`yaml\` are for programs. \`NO_COLOR\` turns off colors in the log.

The [settings](settings.md) are environment variables.`;

/** As `--help` groups them, in that order. */
function groupsOf(program: Command): [title: string, commands: Command[]][] {
  const groups = new Map<string, Command[]>();
  for (const command of program.createHelp().visibleCommands(program)) {
    const title = command.helpGroup().replace(/:$/, '');
    groups.set(title, [...(groups.get(title) ?? []), command]);
  }
  return [...groups];
}

/** One section for a command that does something by itself, and for each of its commands. */
function entries(command: Command, path: string): string[] {
  const parts = command.createHelp().visibleCommands(command);
  const own = parts.filter((each) => each.name() !== 'help');
  const inner = own.flatMap((each) => entries(each, `${path} ${each.name()}`));
  // A command without options of its own only holds others together.
  if (inner.length > 0 && !command.createHelp().visibleOptions(command).some(isOwn)) return inner;
  const [line = '', ...more] = command.description().split('\n\n');
  const facts = [
    ...command.registeredArguments.map(argumentLine),
    ...command.createHelp().visibleOptions(command).filter(isOwn).map(optionLine),
  ];
  return [
    `### ${path}`,
    sentence(line),
    ...more.map(markCode),
    ['```', `postrider ${path} ${command.usage()}`.replace('[options] ', '').trim(), '```'].join(
      '\n',
    ),
    ...(facts.length === 0 ? [] : [facts.join('\n')]),
    ...example(command),
    ...inner,
  ];
}

function isOwn({ long }: Option): boolean {
  return long !== '--help';
}

function argumentLine(argument: Argument): string {
  const { required, variadic, defaultValueDescription } = argument;
  const name = `${argument.name()}${variadic ? '...' : ''}`;
  const shown = code(required ? `<${name}>` : `[${name}]`);
  return described(shown, argument.description, defaultValueDescription);
}

function optionLine(option: Option): string {
  const { flags, description, argChoices, defaultValueDescription } = option;
  const value = option.defaultValue as string | number | undefined;
  const byItself = defaultValueDescription ?? (value === undefined ? undefined : String(value));
  const choices = argChoices === undefined ? '' : `. One of ${argChoices.map(code).join(', ')}`;
  return described(code(flags), `${description}${choices}`, byItself);
}

function described(name: string, text: string, byDefault: string | undefined): string {
  const words = text === '' ? '' : `: ${sentence(text)}`;
  return `- ${name}${words}${byDefault === undefined ? '' : ` Default: ${code(byDefault)}.`}`;
}

/** What commander prints after the options. */
function example(command: Command): string[] {
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more) }).outputHelp();
  const [, found] = /\nExample:\n {2}(.*)\n$/.exec(text) ?? [];
  return found === undefined ? [] : ['Example:', ['```', found, '```'].join('\n')];
}
