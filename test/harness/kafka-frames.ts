/**
 * Kafka's protocol, as far as a proxy has to know it: requests and answers are frames, each with its length
 * before it. A request says what it asks for and has a number, which its answer repeats.
 * https://kafka.apache.org/protocol#protocol_messages
 */

const lengthBytes = 4;
export const produceKey = 0;

/** Finds where frames begin and end in a stream that arrives in any pieces. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  /** The frames that the piece completes, each with its length before it. */
  take(piece: Buffer): Buffer[] {
    let bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    const frames: Buffer[] = [];
    while (bytes.length >= lengthBytes) {
      const end = lengthBytes + bytes.readInt32BE(0);
      if (bytes.length < end) break;
      frames.push(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
    return frames;
  }
}

export interface RequestHead {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
}

export function requestHead(frame: Buffer): RequestHead {
  return {
    apiKey: frame.readInt16BE(lengthBytes),
    apiVersion: frame.readInt16BE(lengthBytes + 2),
    correlationId: frame.readInt32BE(lengthBytes + 4),
  };
}

export function answeredRequest(frame: Buffer): number {
  return frame.readInt32BE(lengthBytes);
}
