/** What the pages have in fenced blocks and tables, for tests that hold it equal to what the code does. */

export interface Block {
  readonly language: string;
  readonly text: string;
}

/** Every fenced block, without the indentation that it has within a list. */
export function blocksOf(markdown: string): Block[] {
  const blocks = markdown.matchAll(/^( *)```(\w*)\n([^]*?)^\1```$/gm);
  return [...blocks].map(([, indent = '', language = '', text = '']) => ({
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

/** The code of a page's block whose first line is a comment with this file name. */
export function programOf(markdown: string, name: string): string {
  const comments = [`// ${name}\n`, `# ${name}\n`];
  const found = blocksOf(markdown).find(({ text }) =>
    comments.some((comment) => text.startsWith(comment)),
  );
  if (found === undefined) throw new Error(`there is no block ${name}`);
  return found.text;
}

/** What stands under a heading, up to the next one of the same or a higher level. */
export function sectionOf(markdown: string, heading: string): string {
  const section: string[] = [];
  let level: number | undefined;
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (line.trimStart().startsWith('```')) isCode = !isCode;
    // A comment of a shell or of YAML begins like a heading.
    const [, marks, text] = (isCode ? null : /^(#+) (.*)$/.exec(line)) ?? [];
    if (level !== undefined && marks !== undefined && marks.length <= level) break;
    if (level !== undefined) section.push(line);
    else if (text === heading) level = marks?.length;
  }
  if (level === undefined) throw new Error(`there is no heading ${heading}`);
  return section.join('\n');
}

/** The cells of a section's tables, row by row, without the heads. */
export function rowsOf(section: string): string[][] {
  const lines = section.split('\n').map((line) => line.trim());
  const isRule = (line = ''): boolean => /^\|[ :|-]+\|$/.test(line);
  return lines
    .filter((line, index) => line.startsWith('|') && !isRule(line) && !isRule(lines[index + 1]))
    .map((line) =>
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    );
}

/** The words of a cell that are code. */
export function codeIn(cell: string = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}
