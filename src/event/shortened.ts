/** The text, or its beginning with an ellipsis if it has more characters (UTF-16 code units) than that. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 2);
  // Not half of a character that has two code units.
  const isHalf = last >= 0xd800 && last < 0xdc00;
  return `${text.slice(0, isHalf ? most - 2 : most - 1)}…`;
}
