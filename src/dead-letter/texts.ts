import { isUtf8 } from 'node:buffer';
import { printable } from '../printable.ts';

export function bytesText(bytes: Buffer | null): string {
  if (bytes === null) return '-';
  return isUtf8(bytes)
    ? printable(bytes.toString())
    : `${bytes.length} bytes, not text; in base64: ${bytes.toString('base64')}`;
}

/** For a text that may have been cut in the middle of a character, which is left out. */
export function beginningText(bytes: Buffer): string {
  return new TextDecoder().decode(bytes, { stream: true });
}

/** For programs: a string, or an object whose `base64` has bytes that are not text. */
export function textOrBase64(bytes: Buffer | null): string | { readonly base64: string } | null {
  if (bytes === null) return null;
  return isUtf8(bytes) ? bytes.toString() : { base64: bytes.toString('base64') };
}

/** For programs: the parsed JSON, or what `textOrBase64` returns for anything else. */
export function jsonOrText(bytes: Buffer | null): unknown {
  try {
    return JSON.parse(bytes?.toString() ?? '') as unknown;
  } catch {
    return textOrBase64(bytes);
  }
}

/** In ISO 8601. An impossible time is shown as it is, because a list must not fail because of one record. */
export function timeText(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? `(not a time: ${timeMs})` : date.toISOString();
}

/** The rough age, in the format of `--since`: `45s`, `12m`, `30h`, `12d`. */
export function ageText(timeMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - timeMs) / 1_000));
  if (Number.isNaN(new Date(timeMs).getTime())) return timeText(timeMs);
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** JSON with line breaks and indentation; other text as it is. */
export function jsonText(bytes: Buffer | null): string {
  try {
    const json: unknown = JSON.parse(bytes?.toString() ?? '');
    return JSON.stringify(json, null, 2).split('\n').map(printable).join('\n');
  } catch {
    return bytesText(bytes);
  }
}
