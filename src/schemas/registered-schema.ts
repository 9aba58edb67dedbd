/** A schema that other schemas refer to, under the name that they use for it. */
export interface ReferencedSchema {
  readonly name: string;
  readonly schema: string;
}

/** A schema in a registry, with everything that it refers to; referenced schemas come first. */
export interface RegisteredSchema {
  /** `AVRO`, `JSON` or `PROTOBUF`, or what a plug-in of the registry brings, which cannot be used here. */
  readonly type: string;
  readonly schema: string;
  readonly references: readonly ReferencedSchema[];
}

/** The Confluent wire format: a zero byte, the schema's id in four bytes, and the encoded value. */
const headerBytes = 5;

/** Undefined for a value in another format: JSON text cannot start with byte 0. */
export function schemaIdOf(value: Buffer | null): number | undefined {
  if (value === null || value.length < headerBytes || value[0] !== 0) return undefined;
  return value.readUInt32BE(1);
}

export function payloadOf(value: Buffer): Buffer {
  return value.subarray(headerBytes);
}
