import type { Target } from './engine/target.ts';

/** A bug that only whoever sees which code was reached finds in time. */
export const target: Target = {
  about: 'a bug behind four comparisons',
  seeds: ['abcd'],
  covers: ['/planted.child.ts'],
  mostBytes: 8,
  check(input) {
    if (!isHigh(input[0])) return;
    if (!isHigh(input[1])) return;
    if (!isHigh(input[2])) return;
    if (!isHigh(input[3])) return;
    throw new TypeError('found');
  },
};

function isHigh(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0xf0;
}
