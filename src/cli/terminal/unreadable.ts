/** Why a given file cannot be read, as the end of a sentence that begins with its name. */
export function whyUnreadable(code: string): string {
  return reasons[code] ?? `cannot be read (${code})`;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EISDIR: 'is a folder; allowed: a file, or - for stdin',
  Z_BUF_ERROR: 'is gzip that is cut off',
  Z_DATA_ERROR: 'is gzip that is damaged',
};
