/** How texts of the code's tables become Markdown. */

/** Stands at the top of every page. */
export const generated =
  '<!-- Made from the code by `npm run docs:reference`. Change the tables in src instead. -->';

/** As code: names of settings and options that a text has without backticks. */
export function markCode(text: string): string {
  return outsideCode(text, (plain) =>
    plain
      .replaceAll(/<[a-z-]+>(?::<[a-z-]+>)?/g, '`$&`')
      .replaceAll(
        /(?<![\w`/-])(?:DIR\/[\w-]+|[A-Z]+(?:_[A-Z]+)+|--[a-z][a-z-]*)(?![\w`])/g,
        '`$&`',
      ),
  );
}

/** A line of help as a sentence. */
export function sentence(text: string): string {
  const marked = markCode(text);
  const begun = marked.charAt(0).toUpperCase() + marked.slice(1);
  return /[.!?:]$/.test(begun) ? begun : `${begun}.`;
}

export function code(text: string): string {
  return `\`${text}\``;
}

function outsideCode(text: string, change: (plain: string) => string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join('');
}
