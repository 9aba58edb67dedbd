import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { hintAt } from '../../../src/near.ts';
import { faults } from './faults.ts';

export interface Flags {
  readonly minutes: number;
  readonly seed: number;
  /** Only this fault. */
  readonly fault: string | undefined;
  readonly report: boolean;
}

export const usage: string = `npm run soak -- [--minutes N] [--seed N] [--fault NAME] [--report]

  --minutes N   no fault begins later than this; default 10
  --seed N      the order of the faults and their details; default: by chance, and printed
  --fault NAME  only this one: ${faults.map(({ name }) => name).join(', ')}
  --report      write the section "soak" of docs/reliability.md; with all faults only`;

const mostMinutes = 24 * 60;
const mostSeed = 2 ** 31 - 1;

/** @throws Error with a sentence for whoever typed them */
export function readFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      fault: { type: 'string' },
      report: { type: 'boolean', default: false },
    },
  });
  const { fault, report } = values;
  const names = faults.map(({ name }) => name);
  if (fault !== undefined && !names.includes(fault))
    throw new Error(
      `there is no fault ${fault}${hintAt(fault, names)} (known: ${names.join(', ')})`,
    );
  if (report && fault !== undefined)
    throw new Error('--report is about all faults: leave out --fault');
  return {
    minutes: wholeNumber('--minutes', values.minutes, mostMinutes),
    seed:
      values.seed === undefined
        ? randomInt(1, mostSeed)
        : wholeNumber('--seed', values.seed, mostSeed),
    fault,
    report,
  };
}

function wholeNumber(flag: string, text: string, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= most) return number;
  throw new Error(`${flag} must be a whole number from 1 to ${most}; it is "${text}"`);
}
