import type { Random } from './random.ts';

/** What mutations may take from: other inputs, and words of the format. */
export interface Material {
  readonly corpus: readonly Buffer[];
  readonly words: readonly Buffer[];
  readonly mostBytes: number;
}

/** Limits of the types in which formats keep lengths, counts and offsets. */
const oddNumbers = [
  ...[0, 1, 2, 7, 16, 63, 64, 127, 128, 255, 256, 1_000, 4_096, 32_767, 32_768, 65_535, 65_536],
  ...[0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 2 ** 53 - 1, 2 ** 53],
];

/** A changed copy of the input: one to many small changes. */
export function mutate(input: Buffer, material: Material, random: Random): Buffer {
  let bytes = input;
  for (let left = random.mostlySmall(8); left > 0; left -= 1)
    bytes = random.pick(mutations)(bytes, random, material);
  return bytes.length > material.mostBytes ? bytes.subarray(0, material.mostBytes) : bytes;
}

type Mutation = (bytes: Buffer, random: Random, material: Material) => Buffer;

const mutations: readonly Mutation[] = [
  flipBit,
  setByte,
  setByte,
  writeNumber,
  writeNumber,
  insertBytes,
  remove,
  remove,
  repeat,
  move,
  insertWord,
  insertWord,
  overwriteWithWord,
  changeDigits,
  splice,
  splice,
  cut,
];

/** A copy, and a place in it. */
function at(bytes: Buffer, random: Random): number {
  return random.below(bytes.length + 1);
}

function replaced(bytes: Buffer, from: number, to: number, by: Uint8Array): Buffer {
  return Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);
}

function flipBit(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const place = random.below(copy.length);
  copy[place] = (copy[place] ?? 0) ^ (1 << random.below(8));
  return copy;
}

function setByte(bytes: Buffer, random: Random): Buffer {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  copy[random.below(copy.length)] = random.below(256);
  return copy;
}

function writeNumber(bytes: Buffer, random: Random): Buffer {
  const value = random.pick(oddNumbers) + random.below(3) - 1;
  const number = Buffer.alloc(random.pick([1, 2, 4, 8]));
  const bits = BigInt.asUintN(number.length * 8, BigInt(value));
  for (let i = 0; i < number.length; i += 1) number[i] = Number((bits >> BigInt(8 * i)) & 0xffn);
  if (random.below(2) === 0) number.reverse();
  const from = at(bytes, random);
  return replaced(bytes, from, Math.min(bytes.length, from + number.length), number);
}

function insertBytes(bytes: Buffer, random: Random): Buffer {
  const filler = random.below(256);
  const inserted = Buffer.alloc(random.mostlySmall(1_024), filler);
  if (random.below(2) === 0)
    for (let i = 0; i < inserted.length; i += 1) inserted[i] = random.below(256);
  const from = at(bytes, random);
  return replaced(bytes, from, from, inserted);
}

function remove(bytes: Buffer, random: Random): Buffer {
  const from = at(bytes, random);
  return replaced(bytes, from, from + random.mostlySmall(256), Buffer.alloc(0));
}

/** Grows fast if it meets the same place again: nesting, long lists, long numbers. */
function repeat(bytes: Buffer, random: Random, { mostBytes }: Material): Buffer {
  const from = at(bytes, random);
  const part = bytes.subarray(from, from + random.mostlySmall(64));
  const times = random.mostlySmall(512);
  if (part.length * times > mostBytes) return bytes;
  return replaced(bytes, from, from, Buffer.concat(Array<Buffer>(times).fill(part)));
}

function move(bytes: Buffer, random: Random): Buffer {
  const from = at(bytes, random);
  const part = bytes.subarray(from, from + random.mostlySmall(64));
  const to = at(bytes, random);
  return replaced(bytes, to, to, part);
}

function insertWord(bytes: Buffer, random: Random, { words }: Material): Buffer {
  if (words.length === 0) return bytes;
  const from = at(bytes, random);
  return replaced(bytes, from, from, random.pick(words));
}

function overwriteWithWord(bytes: Buffer, random: Random, { words }: Material): Buffer {
  if (words.length === 0) return bytes;
  const from = at(bytes, random);
  const word = random.pick(words);
  return replaced(bytes, from, from + word.length, word);
}

/** Another number in the place of one that is written in digits. */
function changeDigits(bytes: Buffer, random: Random): Buffer {
  const found = [...bytes.toString('latin1').matchAll(/\d+/g)];
  if (found.length === 0) return bytes;
  const { index, 0: digits } = random.pick(found);
  const value = random.pick([
    ...oddNumbers.map(String),
    '-1',
    '1.5',
    '1e999',
    '9'.repeat(random.mostlySmall(400)),
    `${digits}0`,
  ]);
  return replaced(bytes, index, index + digits.length, Buffer.from(value));
}

/** The beginning of one input and the end of another, or a part of another inside. */
function splice(bytes: Buffer, random: Random, { corpus }: Material): Buffer {
  const other = random.pick(corpus);
  const from = at(other, random);
  const part = random.below(2) === 0 ? other.subarray(from) : other.subarray(from, from + 32);
  const place = at(bytes, random);
  return replaced(bytes, place, random.below(2) === 0 ? bytes.length : place, part);
}

function cut(bytes: Buffer, random: Random): Buffer {
  return bytes.subarray(0, at(bytes, random));
}
