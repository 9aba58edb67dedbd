const dayMs = 86_400_000;
const dateLength = 'yyyy-mm-dd'.length;

const twoDigits = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, '0'));
const threeDigits = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(3, '0'));
let lastDay = NaN;
let lastDate = '';

/**
 * As `toISOString` returns it, but faster, because most times are of one day.
 * @param timeMs a whole number, in the years 0 to 9999
 */
export function isoTime(timeMs: number): string {
  const day = Math.floor(timeMs / dayMs);
  if (day !== lastDay) {
    lastDate = new Date(day * dayMs).toISOString().slice(0, dateLength);
    lastDay = day;
  }
  const ms = timeMs - day * dayMs;
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hour = twoDigits[Math.floor(minutes / 60)] ?? '';
  const minute = twoDigits[minutes % 60] ?? '';
  const second = twoDigits[seconds % 60] ?? '';
  return `${lastDate}T${hour}:${minute}:${second}.${threeDigits[ms % 1_000] ?? ''}Z`;
}

let lastText = '';
let lastMidnightMs = NaN;

/** Epoch milliseconds of what `isoTime` returns; as fast as that, for the same reason. */
export function isoTimeMs(text: string): number {
  const date = text.slice(0, dateLength);
  if (date !== lastText) [lastText, lastMidnightMs] = [date, Date.parse(date)];
  const minutes = 60 * twoDigitsAt(text, 11) + twoDigitsAt(text, 14);
  const milliseconds = 10 * twoDigitsAt(text, 20) + digitAt(text, 22);
  return lastMidnightMs + 1_000 * (60 * minutes + twoDigitsAt(text, 17)) + milliseconds;
}

function twoDigitsAt(text: string, at: number): number {
  return 10 * digitAt(text, at) + digitAt(text, at + 1);
}

function digitAt(text: string, at: number): number {
  return text.charCodeAt(at) - 0x30;
}
