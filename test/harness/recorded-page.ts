import { cpus, totalmem } from 'node:os';

/** Where and when something was measured. */
export interface Circumstances {
  /** `2026-11-24` */
  readonly date: string;
  readonly machine: string;
  readonly node: string;
}

export function circumstances(): Circumstances {
  const { model = 'unknown processor' } = cpus()[0] ?? {};
  const gb = Math.round(totalmem() / 2 ** 30);
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${model.trim()}, ${gb} GB`,
    node: process.version,
  };
}

/**
 * A page with another text under one of its headings `## name`. Where it has no such heading yet, it gets it,
 * before the first of those that come later.
 * @param names of all sections that a command may write, in the order of the page
 */
export function withSection(
  page: string,
  names: readonly string[],
  name: string,
  text: string,
): string {
  const headingOf = (each: string): string => `\n## ${each}\n`;
  const start = page.indexOf(headingOf(name));
  const section = `${headingOf(name)}\n${text}\n`;
  if (start >= 0) {
    const end = page.indexOf('\n## ', start + 1);
    return page.slice(0, start) + section + (end < 0 ? '' : page.slice(end));
  }
  const later = names.slice(names.indexOf(name) + 1).map((each) => page.indexOf(headingOf(each)));
  const at = later.find((found) => found >= 0) ?? page.length;
  return page.slice(0, at) + section + page.slice(at);
}
