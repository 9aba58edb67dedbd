/** Random choices by one source of chance. */
export interface Dice {
  /** Both included. */
  readonly whole: (least: number, most: number) => number;
  readonly oneOf: <T>(items: readonly T[]) => T;
  readonly chance: (share: number) => boolean;
}

/** @param random from 0 to below 1 */
export function diceOf(random: () => number): Dice {
  const whole = (least: number, most: number): number =>
    Math.floor(least + (most - least + 1) * random());
  return {
    whole,
    oneOf: <T>(items: readonly T[]) => items[whole(0, items.length - 1)] as T,
    chance: (share) => random() < share,
  };
}
