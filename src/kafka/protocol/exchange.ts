/** A request of one version, and how to read its answer. */
export interface Exchange<T> {
  readonly apiKey: number;
  /** kafkajs's name of the API. */
  readonly apiName: string;
  readonly version: number;
  encode(): { readonly buffer: Buffer };
  /** `throttleMs`: for how long the broker asks for no further requests. */
  decode(bytes: Buffer): T & { readonly throttleMs?: number };
}
