import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { userOf } from '../event/envelope.ts';
import { maxCallBytes } from '../event/limits.ts';
import { parseCall } from '../event/parse-call.ts';
import { writeKeyHeader } from '../event/headers.ts';
import type { Producer } from '../kafka/produce/producer.ts';
import { SendWindow } from '../kafka/produce/send-window.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { splitLines, type Line } from '../split-lines.ts';

export interface ImportOptions {
  /** NDJSON: one call a line. Blank lines are skipped. */
  readonly input: AsyncIterable<Buffer>;
  readonly topic: string;
  /** Identifies the source of all calls, whatever their own `writeKey` is. */
  readonly writeKey: string;
  readonly producer: Pick<Producer, 'produce'>;
  /** Ends the import early. Lines that were begun are finished. */
  readonly signal: AbortSignal;
  /** A call is on its way: `onSent` or `onBad` follows, unless the producer is closed before. */
  readonly onBegun: (line: number) => void;
  /** A call is on every in-sync replica. */
  readonly onSent: (line: number) => void;
  /** A line is not sent, for a reason in one sentence. */
  readonly onBad: (line: number, reason: string) => void;
}

/** With calls of the largest size, 64 MB. */
const mostInFlight = 2_000;

/**
 * Sends each line to the ingest topic as it is, keyed by its user, so that it is routed like any other call:
 * with its own message id and timestamp if it has them. Resolves when all calls are acknowledged.
 */
export async function importCalls(options: ImportOptions): Promise<void> {
  const { input, producer, signal, onBegun, onSent, onBad } = options;
  const inFlight = new SendWindow(mostInFlight);
  try {
    for await (const lines of splitLines(input, maxCallBytes)) {
      for (const line of lines) {
        const record = readLine(line, options);
        if (typeof record === 'string') onBad(line.number, record);
        if (typeof record !== 'object') continue;
        await inFlight.enter();
        onBegun(line.number);
        producer.produce(record, (refused) => {
          inFlight.leave();
          if (refused === undefined) onSent(line.number);
          else onBad(line.number, refused.message);
        });
      }
      if (signal.aborted) break;
    }
  } finally {
    await inFlight.emptied();
  }
}

/** The record to write, or why there is none; undefined for a blank line. */
function readLine(
  { bytes }: Line,
  { topic, writeKey }: ImportOptions,
): OutgoingRecord | string | undefined {
  if (bytes.length > maxCallBytes) return `The line is longer than ${maxCallBytes} bytes.`;
  if (isBlank(bytes)) return undefined;
  // Only checks that the line is a call. The router derives missing fields from the record's later place.
  const { call, rejected } = parseCall(bytes, { topic, partition: 0, offset: 0, appendTimeMs: 0 });
  if (call === undefined) return rejected.detail;
  return { topic, key: userOf(call), value: bytes, headers: { [writeKeyHeader]: writeKey } };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09);
}

/** The progress of an import. Lines are begun in their order, and settled in any. */
export class ImportProgress {
  sent = 0;
  /** Not sent, for a reason of their own. */
  bad = 0;
  readonly #begun = new Set<number>();
  #lastSettled = 0;

  begun(line: number): void {
    this.#begun.add(line);
  }

  lineSent(line: number): void {
    this.sent += 1;
    this.#settled(line);
  }

  lineBad(line: number): void {
    this.bad += 1;
    this.#settled(line);
  }

  /** The place at which an import that was ended can go on, so that no line is left out. */
  get placeText(): string {
    const last = this.#lastSettled;
    const [open = last + 1] = this.#begun;
    const ahead = last > open ? `; of the lines up to ${last}, some were sent as well` : '';
    return `after line ${open - 1}${ahead}`;
  }

  #settled(line: number): void {
    this.#begun.delete(line);
    this.#lastSettled = Math.max(this.#lastSettled, line);
  }
}

/** The content of a gzip stream, and any other stream as it is, decided by its first two bytes. */
export async function* gunzipIfNeeded(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  const iterator = chunks[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await iterator.next();
    if (next.done === true) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = withHead(head, iterator);
  yield* head[0] === 0x1f && head[1] === 0x8b ? gunzip(whole) : whole;
}

async function* withHead(
  head: Buffer,
  tail: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  yield head;
  for (let next = await tail.next(); next.done !== true; next = await tail.next()) yield next.value;
}

function gunzip(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // An error of either end is thrown by the iteration.
  return pipeline(Readable.from(chunks), createGunzip(), () => undefined);
}
