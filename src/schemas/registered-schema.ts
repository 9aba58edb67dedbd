export const schemaTypes = ['AVRO', 'JSON', 'PROTOBUF'] as const;
export type SchemaType = (typeof schemaTypes)[number];

/** A schema that other schemas refer to, under the name that they use for it. */
export interface ReferencedSchema {
  readonly name: string;
  readonly schema: string;
}

/** A schema in a registry, with everything that it refers to; referenced schemas come first. */
export interface RegisteredSchema {
  readonly type: SchemaType;
  readonly schema: string;
  readonly references: readonly ReferencedSchema[];
}
