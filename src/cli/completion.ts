import { readdirSync } from 'node:fs';
import path from 'node:path';
import type { Argument, Option, RootCommand } from '@bomb.sh/tab';
import type { Command } from 'commander';
import { readStoredResources } from '../resources/config/config-topic.ts';
import { ofKind } from '../resources/config/stored-resources.ts';
import { parseKind } from '../resources/present.ts';
import type { ResourceKind } from '../resources/resource.ts';
import type { Context } from './context.ts';

/** Somebody has pressed a key and waits. */
const giveUpMs = 2_000;

/**
 * Completes values that the library cannot read from the commands: files and folders, and ids of
 * resources, which are read from Kafka when one is wanted.
 * @param words the line to complete, without the program's name; the last may be empty
 */
export async function completeValues(
  root: RootCommand,
  program: Command,
  words: readonly string[],
  context: Context,
): Promise<void> {
  const command = commandOf(program, words);
  if (command === undefined) return;
  const [name, line] = command;
  const known = root.commands.get(name);
  if (known === undefined) return;
  const word = words.at(-1) ?? '';
  const offer = (place: Option | Argument | undefined, values: readonly string[]): void => {
    if (place !== undefined)
      place.handler = (complete) => {
        for (const value of values) complete(value, '');
      };
  };
  const before = words.at(-2) ?? '';
  for (const { flags, long, short } of line.options) {
    if (before !== long && before !== short) continue;
    const place = known.options.get(long?.slice(2) ?? '');
    if (/<(?:files?|dir)(?:\.\.\.)?>/.test(flags)) offer(place, filesFor(word));
    const kind = kindOfOption.get(long ?? '');
    if (kind !== undefined) offer(place, await idsOf(context, kind));
    return;
  }
  for (const argument of line.registeredArguments) {
    const name = argument.name();
    const place = known.arguments.get(name);
    if (name === 'file') offer(place, filesFor(word));
    const kind = name === 'destination' ? 'Destination' : name === 'id' && kindIn(words);
    if (kind !== false && kind !== undefined) offer(place, await idsOf(context, kind));
  }
}

const kindOfOption: ReadonlyMap<string, ResourceKind> = new Map([
  ['--destination', 'Destination'],
  ['--source', 'Source'],
]);

/** The command that the line begins with, and its name behind that of the program. */
function commandOf(
  program: Command,
  words: readonly string[],
): [name: string, command: Command] | undefined {
  let command = program;
  const path: string[] = [];
  for (const word of words.slice(0, -1)) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) break;
    command = next;
    path.push(word);
  }
  return path.length === 0 ? undefined : [path.join(' '), command];
}

/** The kind in `get KIND ID`; undefined where it is none, or is not complete yet. */
function kindIn(words: readonly string[]): ResourceKind | undefined {
  const [, kind, id] = words;
  if (kind === undefined || id === undefined) return undefined;
  try {
    return parseKind(kind);
  } catch {
    return undefined;
  }
}

/** None where Kafka is away, or nobody has said where it is. */
async function idsOf(context: Context, kind: ResourceKind): Promise<readonly string[]> {
  try {
    await context.reachKafka(giveUpMs);
    const { kafka, log } = context;
    const stored = await readStoredResources({ kafka, topology: await context.topology(), log });
    return ofKind(stored, kind).map(({ name }) => name.id);
  } catch {
    return [];
  }
}

/**
 * The files and folders that begin with the word. For a folder alone also what is in it: shells put a space behind
 * the only value that they are offered.
 */
function filesFor(word: string): readonly string[] {
  const split = word.lastIndexOf('/') + 1;
  const folder = word.slice(0, split);
  const found = entriesOf(folder, word.slice(split));
  const [only] = found;
  return found.length === 1 && only?.endsWith('/') === true
    ? [only, ...entriesOf(only, '')]
    : found;
}

function entriesOf(folder: string, prefix: string): readonly string[] {
  const isHidden = (name: string): boolean => name.startsWith('.') && !prefix.startsWith('.');
  try {
    return readdirSync(path.resolve(folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(prefix) && !isHidden(name))
      .map((each) => `${folder}${each.name}${each.isDirectory() ? '/' : ''}`);
  } catch {
    return [];
  }
}
