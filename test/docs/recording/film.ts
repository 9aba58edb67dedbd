/** The README's moving picture, drawn from what the demo printed and showed. */

export interface PrintedLine {
  readonly text: string;
  /** The line of progress, in whose place the next one is shown. */
  readonly isProgress: boolean;
}

export interface Recording {
  readonly command: string;
  readonly lines: readonly PrintedLine[];
  /** Of the console, one after the other. */
  readonly pictures: readonly { readonly title: string; readonly jpeg: Buffer }[];
}

export const pictureSize = { width: 960, height: 560 } as const;

const titleHeight = 28;
const lineHeight = 24;
const progressMs = 700;
const lineMs = 500;
/** Long enough to read the table that the demo ends with. */
const readMs = 5_000;
const pictureMs = 4_500;

interface Shown {
  readonly svg: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** Shown where nothing moves. */
  readonly isStill: boolean;
}

/** An SVG that needs no script, and shows the end of the demo to who wants nothing to move. */
export function film(recording: Recording): string {
  const terminal = terminalScene(recording);
  const endMs = Math.max(...terminal.map(({ toMs }) => toMs));
  const pictures = recording.pictures.map((picture, index) => ({
    svg: windowOf(
      picture.title,
      `<image y="${titleHeight}" width="${pictureSize.width}" height="${pictureSize.height}" href="data:image/jpeg;base64,${picture.jpeg.toString('base64')}"/>`,
    ),
    fromMs: endMs + index * pictureMs,
    toMs: endMs + (index + 1) * pictureMs,
    isStill: false,
  }));
  const all = [...terminal, ...pictures];
  const totalMs = endMs + pictures.length * pictureMs;
  const height = pictureSize.height + titleHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${pictureSize.width} ${height}" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13.8">`,
    '<title>The demo, and the console that shows it</title>',
    `<style>${all.map((shown, index) => rule(shown, index, totalMs)).join('')}text{white-space:pre;fill:#d7dae0}.t{fill:#9aa3b2}@media(prefers-reduced-motion:reduce){g{animation:none!important}}</style>`,
    windowOf('postrider', ''),
    ...all.map(
      ({ svg, isStill }, index) => `<g id="s${index}" opacity="${isStill ? 1 : 0}">${svg}</g>`,
    ),
    '</svg>\n',
  ].join('\n');
}

function rule({ fromMs, toMs }: Shown, index: number, totalMs: number): string {
  const at = (ms: number): string => `${((ms / totalMs) * 100).toFixed(2)}%`;
  const frames = `0%{opacity:0}${at(fromMs)}{opacity:1}${at(toMs)}{opacity:0}`;
  const whole = `0%{opacity:1}${at(toMs)}{opacity:0}`;
  return `@keyframes k${index}{${fromMs === 0 ? whole : frames}100%{opacity:0}}#s${index}{animation:k${index} ${totalMs}ms step-end infinite}`;
}

/** The lines one after the other; they stay until all have been read. */
function terminalScene({ command, lines }: Recording): Shown[] {
  const shown: { text: string; row: number; fromMs: number; toMs?: number }[] = [];
  let row = 0;
  let atMs = 0;
  const all = [{ text: `$ ${command}`, isProgress: false }, ...lines];
  for (const [index, { text, isProgress }] of all.entries()) {
    const isReplaced = isProgress && all[index + 1]?.isProgress === true;
    const lastsMs = isProgress ? progressMs : lineMs;
    shown.push({ text, row, fromMs: atMs, ...(isReplaced ? { toMs: atMs + lastsMs } : {}) });
    atMs += lastsMs;
    if (!isReplaced) row += 1;
  }
  const endMs = atMs + readMs;
  return shown
    .filter(({ text }) => text !== '')
    .map(({ text, row: of, fromMs, toMs = endMs }) => ({
      svg: `<text x="20" y="${titleHeight + 34 + of * lineHeight}">${escaped(text)}</text>`,
      fromMs,
      toMs,
      isStill: toMs === endMs,
    }));
}

function windowOf(title: string, content: string): string {
  const { width, height } = pictureSize;
  return [
    `<rect width="${width}" height="${height + titleHeight}" rx="8" fill="#14171f"/>`,
    ...['#e5655c', '#e0b13f', '#58b368'].map(
      (fill, index) => `<circle cx="${18 + index * 18}" cy="14" r="5" fill="${fill}"/>`,
    ),
    `<text class="t" font-size="12.5" x="${width / 2}" y="18" text-anchor="middle">${escaped(title)}</text>`,
    content,
  ].join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
