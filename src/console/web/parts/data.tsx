import type { JSX } from 'preact';
import { printable, printableLines } from '../../../printable.ts';
import { absolute, clockText, duration, relative } from '../format.ts';
import { useNowMs } from '../polled.ts';
import { t } from '../texts/texts.ts';

/**
 * Text that a producer, an endpoint or another team wrote. Marks that are not seen or turn the direction of
 * writing are shown as `\u202e`, and the direction of its letters is its own.
 */
export function Data({ text }: { readonly text: string }): JSX.Element {
  return <bdi>{printable(text)}</bdi>;
}

/** An id, or anything else that is compared letter by letter. */
export function Id({ text }: { readonly text: string }): JSX.Element {
  return <bdi class="id">{printable(text)}</bdi>;
}

/** Somebody of the audit: the own name, which can be chosen, beside what cannot. */
export function Who({
  user,
  name,
}: {
  readonly user: string;
  readonly name?: string | undefined;
}): JSX.Element {
  return <Data text={name === undefined ? user : `${name} (${user})`} />;
}

/** Lines of text, as they are; JSON is indented. */
export function Lines({ value }: { readonly value: unknown }): JSX.Element {
  return (
    <pre class="lines" tabIndex={0}>
      {printableLines(jsonOf(value))}
    </pre>
  );
}

function jsonOf(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2);
  try {
    JSON.parse(value);
  } catch {
    return value;
  }
  return indented(value);
}

const stringsMarksAndSpace = /"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g;

/**
 * JSON on lines of its own, each value in the letters of its text. What is parsed and written again may differ:
 * 9007199254740993 becomes 9007199254740992, and that can be why a call was rejected.
 */
function indented(json: string): string {
  let depth = 0;
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  return json.replace(stringsMarksAndSpace, (token) => {
    if (token.startsWith('"')) return token;
    if (token.trim() === '') return '';
    if (token.length > 1) return `${token.charAt(0)}${token.slice(-1)}`;
    if (token === ':') return ': ';
    if (token === ',') return `,${newLine()}`;
    depth += token === '{' || token === '[' ? 1 : -1;
    return token === '{' || token === '[' ? token + newLine() : newLine() + token;
  });
}

/** A time as its distance from now; the time itself is the title. */
export function Time({ at }: { readonly at: string }): JSX.Element {
  const nowMs = useNowMs();
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={absolute(at)}>
      {Number.isNaN(atMs) ? printable(at) : relative(atMs, nowMs)}
    </time>
  );
}

/** `42 min`: how old it is. */
export function Age({ since }: { readonly since: string }): JSX.Element {
  const nowMs = useNowMs();
  return (
    <time dateTime={since} title={absolute(since)}>
      {duration(nowMs - Date.parse(since))}
    </time>
  );
}

/** Date and time, to tell steps apart that took seconds. */
export function Clock({ at }: { readonly at: string }): JSX.Element {
  const nowMs = useNowMs();
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={`${relative(atMs, nowMs)}\n${absolute(at)}`}>
      {Number.isNaN(atMs) ? printable(at) : clockText(atMs)}
    </time>
  );
}

/** A dash for what is not known, or not there. */
export function None(): JSX.Element {
  return (
    <span class="none">
      <span aria-hidden="true">–</span>
      <span class="unseen">{t.none}</span>
    </span>
  );
}
