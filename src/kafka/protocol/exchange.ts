/** A request of one version, and how its answer is read. */
export interface Exchange<T> {
  readonly apiKey: number;
  /** By kafkajs's name of it. */
  readonly apiName: string;
  readonly version: number;
  encode(): { readonly buffer: Buffer };
  /** `throttleMs`: for so long the broker wants nothing more. */
  decode(bytes: Buffer): T & { readonly throttleMs?: number };
}
