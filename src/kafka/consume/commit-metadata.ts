import type { FinishedAhead } from './offset-tracker.ts';

/** The metadata of a committed offset. */
export interface CommitMetadata {
  /** Leader epoch of the newest record that was read; -1: unknown. */
  readonly epoch: number;
  readonly ahead: FinishedAhead | undefined;
  /** The id of the offset's topic: one that was made again has the same name. Undefined: unknown. */
  readonly topicId: string | undefined;
}

/** The metadata of a position of which nothing is known. */
export const untold: CommitMetadata = { epoch: -1, ahead: undefined, topicId: undefined };

/** Kafka's default of `offset.metadata.max.bytes` is 4,096. Base64 makes four bytes of three. */
const mostGapBytes = 3_000;
/** A gap takes at least one byte. */
export const mostGaps: number = mostGapBytes;
const version = '1';
/** Epochs have 32 bits. */
const mostEpoch = 2 ** 31 - 1;

/**
 * `1;<epoch>;<how far>;<gaps>;<topic's id>`. What is finished beyond the offset goes so far, and the gaps are the
 * offsets that are not finished: as differences, each to the one before and the first to the committed one, in
 * base64 of variable-length numbers. What does not fit is left out from the end, and is repeated after a crash.
 * Where nothing is finished beyond, both are empty, and what is empty at the end may be left out. Releases that knew
 * no ids read what is before them.
 */
export function encodeCommitMetadata(
  offset: number,
  { epoch, ahead, topicId }: CommitMetadata,
): string {
  if (ahead === undefined && topicId === undefined) return `${version};${epoch}`;
  const [upTo, gaps] = ahead === undefined ? ['', ''] : encodeAhead(offset, ahead);
  return [version, epoch, upTo, gaps, topicId ?? ''].join(';');
}

function encodeAhead(offset: number, ahead: FinishedAhead): [distance: string, gaps: string] {
  const gaps = Buffer.allocUnsafe(mostGapBytes);
  let bytes = 0;
  let last = offset;
  let { upTo } = ahead;
  for (const each of ahead.unfinished) {
    const difference = each - last;
    if (bytes + varintBytes(difference) > gaps.length) {
      upTo = each;
      break;
    }
    bytes = writeVarint(gaps, bytes, difference);
    last = each;
  }
  return [String(upTo - offset), gaps.toString('base64', 0, bytes)];
}

/** Metadata of another version, or from another program, has no information. */
export function decodeCommitMetadata(offset: number, metadata: string | null): CommitMetadata {
  const [is, epochText = '', upTo = '', gaps = '', id = ''] = (metadata ?? '').split(';');
  const epoch = /^(?:-1|\d+)$/.test(epochText) ? Number(epochText) : NaN;
  if (is !== version || !(epoch <= mostEpoch)) return untold;
  const topicId = /^[0-9a-f]{32}$/.test(id) ? id : undefined;
  return { epoch, ahead: decodeAhead(offset, upTo, gaps), topicId };
}

/** Undefined for what cannot be offsets. */
function decodeAhead(offset: number, distance: string, gaps: string): FinishedAhead | undefined {
  const upTo = /^\d+$/.test(distance) ? offset + Number(distance) : NaN;
  if (!Number.isSafeInteger(upTo)) return undefined;
  const unfinished = new Set<number>();
  let last = offset;
  for (const difference of readVarints(Buffer.from(gaps, 'base64'))) {
    last += difference;
    if (!Number.isSafeInteger(last)) return undefined;
    unfinished.add(last);
  }
  return { upTo, unfinished };
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

function writeVarint(into: Buffer, at: number, value: number): number {
  let next = at;
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) into[next++] = (rest % 0x80) | 0x80;
  into[next++] = rest;
  return next;
}

function* readVarints(bytes: Buffer): Generator<number> {
  let value = 0;
  let factor = 1;
  for (const byte of bytes) {
    value += (byte & 0x7f) * factor;
    factor *= 0x80;
    if (byte >= 0x80) continue;
    yield value;
    value = 0;
    factor = 1;
  }
}

/** The unfinished part of one partition for a group: the range that is not committed, with gaps. */
export class UnfinishedPart {
  readonly partition: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly #ahead: FinishedAhead | undefined;

  constructor(
    { partition, start, end }: { partition: number; start: number; end: number },
    ahead: FinishedAhead | undefined,
  ) {
    this.partition = partition;
    this.start = start;
    this.end = end;
    this.#ahead = ahead;
  }

  has(offset: number): boolean {
    if (offset < this.start || offset >= this.end) return false;
    const ahead = this.#ahead;
    return ahead === undefined || offset >= ahead.upTo || ahead.unfinished.has(offset);
  }

  /** Number of offsets. In a topic without transactions, that is the number of records. */
  get count(): number {
    const { start, end } = this;
    if (this.#ahead === undefined) return Math.max(0, end - start);
    const { upTo, unfinished } = this.#ahead;
    const beyond = Math.max(0, end - Math.max(start, upTo));
    return beyond + [...unfinished].filter((offset) => offset < upTo && this.has(offset)).length;
  }
}
