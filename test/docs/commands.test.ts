import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { CommanderError, type Command } from 'commander';
import { createContext } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/program.ts';
import { benchNames } from '../lab/bench/report.ts';
import { codeOf, pages, readPage, root, writtenPages } from './pages.ts';
import { shownCommands } from './shell.ts';

/** The program, which finds fault with what is wrong and does nothing else. */
async function inertProgram(): Promise<Command> {
  const makeInert = (command: Command): void => {
    command.exitOverride().configureOutput({ writeOut: nothing, outputError: nothing });
    // One that only holds others together has no options.
    if (command.commands.length === 0 || command.options.length > 0) command.action(nothing);
    command.commands.forEach(makeInert);
  };
  const program = await createProgram(createContext({}));
  makeInert(program);
  return program;
}

function nothing(): void {
  // Not even a line is printed.
}

/** What is wrong with a command line of ours; undefined: nothing. */
async function problemOf(args: readonly string[]): Promise<string | undefined> {
  try {
    (await inertProgram()).parse(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    return error instanceof Error ? error.message : String(error);
  }
}

/** The arguments where a command calls us: by itself, by npx, or in a container behind `--`. */
function argumentsOf(words: readonly string[]): readonly string[] | undefined {
  const at = words.findIndex((word) => /^(?:.*\/)?postrider$/.test(word));
  const before = words.slice(0, at).filter((word) => !/^[A-Z_]+=/.test(word));
  const isCalled = before.length === 0 || ['npx', '--', 'exec'].includes(before.at(-1) ?? '');
  return at >= 0 && isCalled ? words.slice(at + 1) : undefined;
}

for (const page of writtenPages)
  test(`every postrider command in a code block of ${page} is one that the CLI takes`, async () => {
    for (const { line, words } of shownCommands(readPage(page))) {
      const args = argumentsOf(words);
      if (args !== undefined)
        assert.equal(await problemOf(args), undefined, `${page}:${line}: ${words.join(' ')}`);
    }
  });

test('every npm script that a page names exists, and so does every benchmark', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };
  const benches = new Set<string>([...benchNames, 'NAME']);
  for (const page of pages) {
    const { words, lines } = codeOf(readPage(page));
    for (const text of [...words, ...lines])
      for (const [, script = '', rest = ''] of text.matchAll(/\bnpm run ([\w:-]+)([^#|&;)]*)/g)) {
        assert.ok(Object.hasOwn(scripts, script), `${page}: npm run ${script}`);
        if (script !== 'bench') continue;
        const named = rest.split(/\s+/).filter((word) => /^[a-z]+$/i.test(word));
        for (const name of named) assert.ok(benches.has(name), `${page}: npm run bench ${name}`);
      }
  }
});

test('every folder that a page gives to kubectl exists', () => {
  for (const page of pages)
    for (const { line, words } of shownCommands(readPage(page))) {
      const folder = words[words.indexOf('-k') + 1] ?? '';
      const isOurs = words[0] === 'kubectl' && words.includes('-k') && folder.startsWith('deploy/');
      if (isOurs) assert.ok(existsSync(new URL(folder, root)), `${page}:${line}: ${folder}`);
    }
});

test('every overlay is applied over what `kubectl scale` and `kubectl rollout undo` have changed', () => {
  const applied = pages.flatMap((page) => {
    const { words, lines } = codeOf(readPage(page));
    return [...words, ...lines].filter((text) => /^ *kubectl apply .*-k /.test(text));
  });
  assert.ok(applied.length > 3);
  for (const text of applied) assert.match(text, /apply --server-side --force-conflicts /);
});

describe('what is found in a code block', () => {
  const found = (script: string): (readonly string[])[] =>
    shownCommands(`# A page\n\n\`\`\`sh\n${script}\n\`\`\`\n`).map(({ words }) => words);

  test('is split as a shell does', () => {
    assert.deepEqual(found("A=1 postrider get source 'a b' | head -1 # the first"), [
      ['A=1', 'postrider', 'get', 'source', 'a b'],
      ['head', '-1'],
    ]);
    assert.deepEqual(found('postrider explain \\\n  id --user u > story.txt && true'), [
      ['postrider', 'explain', 'id', '--user', 'u'],
      ['true'],
    ]);
    assert.deepEqual(found("cat > x.yaml <<'YAML'\npostrider: nothing\nYAML\npostrider demo"), [
      ['cat'],
      ['postrider', 'demo'],
    ]);
    assert.deepEqual(found("it's waiting\npostrider demo").at(-1), ['postrider', 'demo']);
    assert.deepEqual(found('open "$(postrider console-link crm)"'), [
      ['open', 'substituted'],
      ['postrider', 'console-link', 'crm'],
    ]);
  });

  test('is a mistake where the CLI would refuse it', async () => {
    assert.equal(await problemOf(['dead-letters', 'list', '--reason', 'http-4xx']), undefined);
    assert.equal(await problemOf(['apply', '--help']), undefined);
    for (const args of [
      ['redrive'],
      ['dead-letters', 'redo'],
      ['status', '--whatch'],
      ['apply'],
      ['pause'],
      ['pause', 'crm', 'more'],
      ['listen', '--status', '42'],
      ['get', 'source', '-o', 'xml'],
    ])
      assert.notEqual(await problemOf(args), undefined, args.join(' '));
  });

  test('counts only where the command itself is called', () => {
    assert.deepEqual(argumentsOf(['KAFKA_BROKERS=k:9092', 'npx', 'postrider', 'demo']), ['demo']);
    assert.deepEqual(argumentsOf(['kubectl', 'exec', 'pod', '--', 'postrider', 'topics']), [
      'topics',
    ]);
    assert.equal(argumentsOf(['kubectl', 'create', 'namespace', 'postrider']), undefined);
  });
});
