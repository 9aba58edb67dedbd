import { days } from './ordinary-days/days.ts';
import { cells } from './peers/cells.ts';

/** What makes a benchmark longer or shorter than usual: set in the environment, and recorded with its figures. */
const defaults = {
  BENCH_ATTEMPTS: 10_000_000,
  BATCH_ROUNDS: 3,
  BATCH_EVENTS: 400_000,
  PEERS_ROUNDS: 3,
  PEERS_EVENTS: 20_000,
};
const names = Object.keys(defaults) as (keyof typeof defaults)[];

/** Ends the process if it is wrong. */
export function variable(name: keyof typeof defaults): number {
  const text = process.env[name];
  const number = Number(text ?? defaults[name]);
  if (text !== '' && Number.isSafeInteger(number) && number >= 1) return number;
  return refuse(`${name} is '${text ?? ''}'; allowed: a whole number from 1`);
}

/** The cells of `peers` whose names begin with `PEERS_CELLS`; ends the process if there are none. */
export function chosenCells(): typeof cells {
  return chosenBy('PEERS_CELLS', cells);
}

/** The days of `ordinary-days` whose names begin with `ORDINARY_DAYS`; ends the process if there are none. */
export function chosenDays(): typeof days {
  return chosenBy('ORDINARY_DAYS', days);
}

const choices = ['PEERS_CELLS', 'ORDINARY_DAYS'] as const;

function chosenBy<T extends { readonly name: string }>(
  variableName: (typeof choices)[number],
  all: readonly T[],
): readonly T[] {
  const beginning = process.env[variableName] ?? '';
  const chosen = all.filter(({ name }) => name.startsWith(beginning));
  if (chosen.length > 0) return chosen;
  const allowed = all.map(({ name }) => `'${name}'`).join(', ');
  return refuse(`${variableName} is '${beginning}'; allowed: the beginning of one of ${allowed}`);
}

/** Those that are set, as they stand before a command; ends the process if one is wrong. */
export function givenVariables(): string {
  for (const name of names) variable(name);
  chosenCells();
  chosenDays();
  const given = [...names, ...choices].filter((name) => process.env[name] !== undefined);
  return given.map((name) => `${name}='${process.env[name] ?? ''}' `).join('');
}

function refuse(sentence: string): never {
  console.error(`bench: ${sentence}`);
  process.exit(2);
}
