import { readdirSync, readFileSync } from 'node:fs';

export const root: URL = new URL('../../', import.meta.url);

/** Every page that users read, by its path from the root. */
export const pages: readonly string[] = [
  'README.md',
  'src/client/README.md',
  ...readdirSync(new URL('docs/', root), { encoding: 'utf8', recursive: true })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Those that are not made from the code's own tables. */
export const writtenPages: readonly string[] = pages.filter(
  (page) => !page.startsWith('docs/reference/'),
);

export function readPage(page: string): string {
  return readFileSync(new URL(page, root), 'utf8');
}

export interface CodeOfPage {
  /** What stands in backticks within the text. */
  readonly words: readonly string[];
  /** The lines of code blocks, those that a backslash continues as one. */
  readonly lines: readonly string[];
}

/** A block may stand in a list, indented. */
const fenced = /^ *```\w*\n([^]*?)^ *```$/gm;

export function codeOf(markdown: string): CodeOfPage {
  const blocks = [...markdown.matchAll(fenced)].map(([, block = '']) => block);
  const text = markdown.replaceAll(fenced, '');
  const words = [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) =>
    word.replaceAll('\\|', '|'),
  );
  const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
  return { words, lines };
}
