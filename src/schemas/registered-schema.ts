export const schemaTypes = ['AVRO', 'JSON', 'PROTOBUF'] as const;
export type SchemaType = (typeof schemaTypes)[number];

/** A schema that others refer to, under the name that they use for it. */
export interface ReferencedSchema {
  readonly name: string;
  readonly schema: string;
}

/** A schema as a registry holds it, with all that it refers to; what is referred to comes first. */
export interface RegisteredSchema {
  readonly type: SchemaType;
  readonly schema: string;
  readonly references: readonly ReferencedSchema[];
}
