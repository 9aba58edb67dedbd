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
