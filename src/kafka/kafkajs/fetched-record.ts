/** What the records of a batch share, as far as somebody asks. */
export interface BatchContext {
  readonly producerId: string;
  readonly inTransaction: boolean;
}

/** Undefined for one without a value. */
export type FetchedHeaders = Readonly<Record<string, Buffer | undefined>>;

/**
 * A record as kafkajs hands it over. kafkajs reckons with offsets and times as strings and big integers, a
 * dozen of them for each record; here they are numbers, and strings only for those who ask.
 */
export class FetchedRecord {
  readonly offsetNumber: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: FetchedHeaders;
  readonly batchContext: BatchContext;
  /** A marker: handed to nobody and counted as read. */
  isControlRecord: boolean;

  constructor(
    offsetNumber: number,
    timestampMs: number,
    key: Buffer | null,
    value: Buffer | null,
    headers: FetchedHeaders,
    batchContext: BatchContext,
    isControlRecord: boolean,
  ) {
    this.offsetNumber = offsetNumber;
    this.timestampMs = timestampMs;
    this.key = key;
    this.value = value;
    this.headers = headers;
    this.batchContext = batchContext;
    this.isControlRecord = isControlRecord;
  }

  get offset(): string {
    return String(this.offsetNumber);
  }

  get timestamp(): string {
    return String(this.timestampMs);
  }
}
