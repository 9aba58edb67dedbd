import { isUtf8 } from 'node:buffer';

/**
 * Producers decide what is in a record, and a terminal obeys some of it: control characters, and those
 * that turn the direction of writing, are shown as their code points.
 */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** The same for what programs read: JSON has escapes of its own, but JSON.stringify leaves most of these out. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(
    /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) =>
      character
        .split('')
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        .join(''),
  );
}

export function bytesText(bytes: Buffer | null): string {
  if (bytes === null) return '-';
  return isUtf8(bytes)
    ? printable(bytes.toString())
    : `${bytes.length} bytes that are no text, in base64: ${bytes.toString('base64')}`;
}

/** In ISO 8601. What no Date can be is shown as it is, because a list must not fail on one record. */
export function timeText(timeMs: number): string {
  const date = new Date(timeMs);
  return Number.isNaN(date.getTime()) ? `(not a time: ${timeMs})` : date.toISOString();
}

/** With line breaks and indentation if it is JSON. */
export function jsonText(bytes: Buffer | null): string {
  try {
    const json: unknown = JSON.parse(bytes?.toString() ?? '');
    return JSON.stringify(json, null, 2).split('\n').map(printable).join('\n');
  } catch {
    return bytesText(bytes);
  }
}
