/** `1 call`, `2 calls`. `noun`: its singular, with a regular plural. */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
