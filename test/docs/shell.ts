/** A command as a page shows it, with the line of the page that it begins at. */
export interface ShownCommand {
  readonly line: number;
  readonly words: readonly string[];
}

/**
 * The commands in the code blocks of a page, as a shell splits them: at `|`, `&&`, `;` and line ends, inside
 * `$(…)` too, and without variables, redirections, comments and the text of here-documents. Blocks that
 * show output or a usage are `text`, and others have a language of their own; neither has commands.
 */
export function shownCommands(markdown: string): ShownCommand[] {
  const blocks = markdown.matchAll(/^( *)```(\w*)[^\n]*\n([^]*?)^\1```$/gm);
  return [...blocks].flatMap(({ index, 2: language = '', 3: script = '' }) => {
    const line = markdown.slice(0, index).split('\n').length + 1;
    return shells.has(language) ? commandsOf(script, line) : [];
  });
}

/** Without a language, a block may have commands too. */
const shells = new Set(['', 'sh', 'bash', 'shell', 'console']);

/** An apostrophe in what a command prints begins no quotation: without an end, it is one of these. */
function commandsOf(script: string, firstLine: number, mayQuote: boolean = true): ShownCommand[] {
  const found: ShownCommand[] = [];
  let line = firstLine;
  let end: string | undefined;
  let begun: { text: string; line: number } | undefined;
  for (const text of script.split('\n')) {
    if (end !== undefined) {
      if (text.trim() === end) end = undefined;
    } else {
      const whole = `${begun?.text ?? ''}${text.replace(/^\s*\$ /, '')}`;
      begun = { text: whole, line: begun?.line ?? line };
      // A line goes on after a backslash, a pipe, and inside quotes.
      if (text.endsWith('\\')) begun.text = `${whole.slice(0, -1)} `;
      else if (/(?:\||&&)\s*$/.test(text) || (mayQuote && isQuoteOpen(whole)))
        begun.text = `${whole} `;
      else {
        for (const words of splitCommands(whole)) found.push({ line: begun.line, words });
        end = /<<-?'?(\w+)'?/.exec(whole)?.[1];
        begun = undefined;
      }
    }
    line += 1;
  }
  return begun === undefined || !mayQuote ? found : commandsOf(script, firstLine, false);
}

function isQuoteOpen(text: string): boolean {
  let quote = '';
  for (const character of withoutComment(text)) {
    if (quote === '' && /['"]/.test(character)) quote = character;
    else if (character === quote) quote = '';
  }
  return quote !== '';
}

function withoutComment(text: string): string {
  return text.replace(/(?:^|\s)#.*$/, '');
}

/** Each simple command of a line as its words, those inside `$(…)` as well. */
function splitCommands(text: string): string[][] {
  const inner = [...text.matchAll(/\$\(([^()]*)\)/g)].flatMap(([, script = '']) =>
    splitCommands(script),
  );
  const outer = withoutComment(text.replaceAll(/\$\([^()]*\)/g, 'substituted'));
  const tokens = outer.matchAll(
    /\d?>>?&?\s*\S+|<(?![\w-]+>)\S*\s*\S+|&&|\|\|?|;|&|(?:'[^']*'|"[^"]*"|[^\s'"|;&])+/g,
  );
  const commands: string[][] = [[]];
  for (const [token] of tokens) {
    if (/^(?:&&|\|\|?|;|&)$/.test(token)) commands.push([]);
    else if (!/^\d?[<>](?![\w-]+>)/.test(token)) commands.at(-1)?.push(unquoted(token));
  }
  return [...commands, ...inner].filter((words) => words.length > 0);
}

function unquoted(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"([^"]*)"/g,
    (_, single: string | undefined, double: string) => single ?? double,
  );
}
