import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { createContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { describeSettings, readSettings } from '../../src/settings/read.ts';
import { compileCache } from '../harness/compile-cache.ts';
import { runCommand } from '../harness/run-command.ts';

const env = { PATH: process.env['PATH'] ?? '' };

/** Those that do something, each with the words that lead to it. */
function leaves(command: Command, path: readonly string[] = []): [readonly string[], Command][] {
  const children = command.createHelp().visibleCommands(command);
  const own = children.filter((each) => each.name() !== 'help' || path.length === 0);
  if (own.length === 0) return [[path, command]];
  return own.flatMap((each) => leaves(each, [...path, each.name()]));
}

/** What is printed, its colours left out or not. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more) }).outputHelp();
  return text;
}

const program = await createProgram(createContext({}));

describe('help', () => {
  for (const [path, command] of leaves(program)) {
    test(`of ${path.join(' ')} has an example that the command takes`, () => {
      const [, example = ''] = /\nExample:\n {2}postrider (.*)\n$/.exec(helpOf(command)) ?? [];
      const [line = ''] = example.split(' > ');
      const words = line.split(' ');
      assert.deepEqual(words.slice(0, path.length), path);
      const { operands, unknown } = command.parseOptions(words.slice(path.length));
      assert.deepEqual(unknown, []);
      const { registeredArguments: wanted } = command;
      const least = wanted.filter(({ required }) => required).length;
      const isMany = wanted.some(({ variadic }) => variadic);
      assert.ok(operands.length >= least && (isMany || operands.length <= wanted.length));
      for (const { long, mandatory } of command.options)
        if (mandatory) assert.ok(long !== undefined && command.getOptionValue(long.slice(2)));
    });
  }

  for (const name of ['status', 'pause', 'topics', 'dead-letters'])
    test(`of ${name} is the same where the other commands are not loaded`, async () => {
      const alone = await createProgram(createContext({}), [name]);
      assert.deepEqual(
        alone
          .createHelp()
          .visibleCommands(alone)
          .map((each) => each.name()),
        [name, 'help', 'completion'],
      );
      const texts = (all: Command): string[] =>
        leaves(all)
          .filter(([[first]]) => first === name)
          .map(([, command]) => helpOf(command));
      assert.deepEqual(texts(alone), texts(program));
    });

  test('names every command in a group', () => {
    const visible = program.createHelp().visibleCommands(program);
    assert.deepEqual(
      visible.filter((each) => each.helpGroup() === '').map((each) => each.name()),
      [],
    );
    assert.doesNotMatch(helpOf(program), /^Commands:$/m);
  });

  test('of the settings names each with its default and what it may be', async () => {
    const { code, stdout } = await runCommand(['help', 'settings'], env);
    assert.equal(code, 0);
    const defaults = describeSettings(readSettings({}));
    for (const [name, value] of Object.entries(defaults)) {
      const entry =
        new RegExp(`^ {2}${name}\\n((?: {6}.*\\n)+)`, 'm').exec(`${stdout}\n`)?.[1] ?? '';
      const shown = value === '' || value === 'not set' ? 'none' : value;
      const isOfTerminal = name === 'LOG_FORMAT';
      assert.ok(isOfTerminal || entry.includes(`Default: ${shown}\n`), `${name}: ${entry}`);
      assert.match(entry, /^ {6}[A-Z][^]*\. *\n {6}Default: [^]*\n {6}Allowed: \S/, name);
    }
    assert.match(stdout, /Allowed: 32 bytes in base64\n {6}Or: SECRET_KEY_FILE, a file that/);
    assert.match(stdout, /Default: 5s\n {6}Allowed: a duration[^.]* to 5s$/m);
  });

  test('on a command is its --help, and on none one sentence', async () => {
    const [help, same] = await Promise.all([
      runCommand(['help', 'dead-letters', 'redrive'], env),
      runCommand(['dead-letters', 'redrive', '--help'], env),
    ]);
    assert.equal(help.stdout, same.stdout);
    const none = await runCommand(['help', 'dead-letters', 'redo'], env);
    assert.deepEqual([none.code, none.stdout], [2, '']);
    assert.match(
      none.stderr,
      /^postrider: there is no help on "dead-letters redo"; allowed: list, .*\n$/,
    );
  });
});

describe('completion', () => {
  const main = fileURLToPath(import.meta.resolve('../../src/cli/main.ts'));
  /** For each line, what bash offers for the last of its words, with the function of bash-completion that it needs. */
  const complete = async (...lines: readonly string[]): Promise<string[][]> => {
    const script = `
      postrider() { "$NODE" "$MAIN" "$@"; }
      compopt() { :; }
      _get_comp_words_by_ref() {
        words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=\${words[cword]}; prev=\${words[cword-1]}
      }
      eval "$(postrider completion bash)"
      for line; do
        IFS=, read -ra words <<<"$line,"
        COMP_WORDS=(postrider "\${words[@]}"); COMP_CWORD=\${#words[@]}
        __postrider_complete
        echo "\${COMPREPLY[@]}"
      done`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', ...lines], {
      env: { ...compileCache(), ...env, NODE: process.execPath, MAIN: main },
    });
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '));
  };

  test('in bash knows commands, options, what an option may be, and files', async () => {
    const [command, option, value, files, all] = await complete(
      'dead-letters,re',
      'dead-letters,list,--re',
      'get,source,-o,y',
      'apply,-f,test/cli/hel',
      '',
    );
    assert.deepEqual(files, ['test/cli/help.test.ts']);
    assert.deepEqual([command, option, value], [['redrive'], ['--reason'], ['yaml']]);
    assert.ok(all?.includes('audience-sync'));
  });

  test('has a script for each shell, and names them for any other', async () => {
    const names = { zsh: /^#compdef postrider/m, fish: /^complete -c postrider/m };
    for (const [shell, line] of Object.entries(names))
      assert.match((await runCommand(['completion', shell], env)).stdout, line);
    const { code, stderr } = await runCommand(['completion', 'tcsh'], env);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^postrider: .*'tcsh' is invalid.*\. Allowed choices are zsh, bash, fish, /,
    );
  });
});

test('on a terminal the log has colours, unless NO_COLOR is set', async () => {
  const NODE_OPTIONS = '--import data:text/javascript,process.stderr.isTTY=true';
  // It logs a line, and ends for the folder.
  const dev = ['dev', '--data-dir', '/dev/null/x'];
  for (const [more, isColored] of [
    [{}, true],
    [{ NO_COLOR: '' }, true],
    [{ NO_COLOR: '1' }, false],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  ] as const) {
    const { stderr } = await runCommand(dev, { ...env, ...more, NODE_OPTIONS });
    assert.match(stderr, /endpoints on loopback are allowed/);
    assert.equal(stderr.includes('\u001b['), isColored, JSON.stringify(more));
  }
});
