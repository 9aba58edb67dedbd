import { InvalidArgumentError } from 'commander';

/** `1 call`, `2 calls`. `noun`: its singular, with a regular plural. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

/** The value of an option that is a number of things. */
export function parseCount(text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count > 0) return count;
  throw new InvalidArgumentError('Allowed: a whole number from 1 on.');
}
