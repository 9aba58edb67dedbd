import { cells } from './peers/cells.ts';

/** What makes a benchmark longer or shorter than usual: set in the environment, and recorded with its figures. */
const defaults = { BENCH_ATTEMPTS: 10_000_000, PEERS_ROUNDS: 3, PEERS_EVENTS: 20_000 };
const names = Object.keys(defaults) as (keyof typeof defaults)[];

/** Ends the process if it is wrong. */
export function variable(name: keyof typeof defaults): number {
  const text = process.env[name];
  const number = Number(text ?? defaults[name]);
  if (text !== '' && Number.isSafeInteger(number) && number >= 1) return number;
  return refuse(`${name} is '${text ?? ''}'; allowed: a whole number from 1`);
}

/** Those cells of `peers` whose names begin with `PEERS_CELLS`; ends the process if there are none. */
export function chosenCells(): typeof cells {
  const beginning = process.env['PEERS_CELLS'] ?? '';
  const chosen = cells.filter(({ name }) => name.startsWith(beginning));
  if (chosen.length > 0) return chosen;
  const all = cells.map(({ name }) => `'${name}'`).join(', ');
  return refuse(`PEERS_CELLS is '${beginning}'; allowed: the beginning of one of ${all}`);
}

/** Those that are set, as they stand before a command; ends the process if one is wrong. */
export function givenVariables(): string {
  for (const name of names) variable(name);
  chosenCells();
  const given = [...names, 'PEERS_CELLS'].filter((name) => process.env[name] !== undefined);
  return given.map((name) => `${name}='${process.env[name] ?? ''}' `).join('');
}

function refuse(sentence: string): never {
  console.error(`bench: ${sentence}`);
  process.exit(2);
}
