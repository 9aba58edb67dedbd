/**
 * The trait under which an audience or computed trait of this name is delivered: `Big Spenders (30 Days)`
 * becomes `big_spenders_30_days`, `VIP30Days` `vip30_days`. Words start at an upper-case letter behind a
 * lower-case one or a digit, and at the last capital of several before a lower-case letter; between
 * words, and for everything that is neither letter nor digit, stands one `_`.
 * Empty if the name has neither letters nor digits.
 */
export function traitName(name: string): string {
  return (
    name
      .normalize('NFC')
      .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '_')
      .replace(/(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, '_')
      .toLowerCase()
      // What JavaScript makes of the Turkish İ, whose dot is no letter.
      .replaceAll('i\u0307', 'i')
      .replace(/[^\p{L}\p{N}]+/gu, '_')
      .replace(/^_|_$/g, '')
  );
}

/** Whether a trait that was given beside the name is valid. */
export function isTraitName(text: string): boolean {
  return /^[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)*$/u.test(text);
}
