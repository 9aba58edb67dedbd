import { RecurringTexts } from '../recurring-texts.ts';

const beforeDestination = Buffer.from('{"v":1,"d":"');
const beforeSource = Buffer.from('","s":"');
const beforeMessage = Buffer.from('","m":"');
const beforeType = Buffer.from('","t":"');
const beforeOffset = Buffer.from('","c":');
const beforeTime = Buffer.from(',"a":');
const beforeAttempts = Buffer.from(',"n":');
const beforeUid = Buffer.from(',"w":"');
const beforeName = Buffer.from(',"e":"');

const [space, quotationMark, backslash, closingBrace, firstNotAscii] = [
  0x20, 0x22, 0x5c, 0x7d, 0x7f,
];
const [zero, nine] = [0x30, 0x39];
/** Fewer than those of the largest exact number. */
const mostDigits = 15;

const destinations = new RecurringTexts();
const sources = new RecurringTexts();
const types = new RecurringTexts();
const uids = new RecurringTexts();
const names = new RecurringTexts();

/**
 * Reads the header of an ordinary event at less cost than JSON.parse, because every event of every destination has one. It
 * knows the order of the fields, plain ASCII, and whole numbers; what is anything else is for JSON.parse.
 * @returns what JSON.parse makes of the bytes, with an undefined `w` or `e` where they have none; or undefined
 */
export function readFreshHeader(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  const d = behind(bytes, 0, beforeDestination);
  const dEnd = textEnd(bytes, d);
  const s = behind(bytes, dEnd, beforeSource);
  const sEnd = textEnd(bytes, s);
  const m = behind(bytes, sEnd, beforeMessage);
  const mEnd = textEnd(bytes, m);
  const t = behind(bytes, mEnd, beforeType);
  const tEnd = textEnd(bytes, t);
  const c = behind(bytes, tEnd, beforeOffset);
  const cEnd = digitsEnd(bytes, c);
  const a = behind(bytes, cEnd, beforeTime);
  const aEnd = digitsEnd(bytes, a);
  const n = behind(bytes, aEnd, beforeAttempts);
  const nEnd = digitsEnd(bytes, n);
  if (nEnd < 0) return undefined;
  const w = behind(bytes, nEnd, beforeUid);
  const wEnd = textEnd(bytes, w);
  const e = behind(bytes, w < 0 ? nEnd : wEnd + 1, beforeName);
  const eEnd = textEnd(bytes, e);
  if ((w >= 0 && wEnd < 0) || (e >= 0 && eEnd < 0)) return undefined;
  const end = e >= 0 ? eEnd + 1 : w >= 0 ? wEnd + 1 : nEnd;
  if (bytes[end] !== closingBrace || end + 1 !== bytes.length) return undefined;
  return {
    v: 1,
    d: destinations.between(bytes, d, dEnd),
    s: sources.between(bytes, s, sEnd),
    m: bytes.toString('latin1', m, mEnd),
    t: types.between(bytes, t, tEnd),
    c: numberIn(bytes, c, cEnd),
    a: numberIn(bytes, a, aEnd),
    n: numberIn(bytes, n, nEnd),
    w: w < 0 ? undefined : uids.between(bytes, w, wEnd),
    e: e < 0 ? undefined : names.between(bytes, e, eEnd),
  };
}

/** The position behind these bytes, if they stand there; each of these functions returns -1 for "no", and takes it. */
function behind(bytes: Buffer, at: number, expected: Uint8Array): number {
  if (at < 0) return -1;
  for (let i = 0; i < expected.length; i += 1) if (bytes[at + i] !== expected[i]) return -1;
  return at + expected.length;
}

/** The position of the quotation mark that ends a text without escapes. */
function textEnd(bytes: Buffer, from: number): number {
  if (from < 0) return -1;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === quotationMark) return at;
    if (byte < space || byte === backslash || byte >= firstNotAscii) return -1;
  }
  return -1;
}

function digitsEnd(bytes: Buffer, from: number): number {
  if (from < 0) return -1;
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  const digits = at - from;
  const isPlain = digits === 1 || (digits > 1 && bytes[from] !== zero);
  return isPlain && digits <= mostDigits ? at : -1;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= zero && byte <= nine;
}

function numberIn(bytes: Buffer, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at += 1) number = number * 10 + (bytes[at] ?? 0) - zero;
  return number;
}
