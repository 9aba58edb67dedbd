import { z } from 'zod';

/**
 * Each answer of an HTTP API is described once, by a schema: OpenAPI shows it, a type is inferred from it, which
 * handlers use, and a test holds the answers to it. Nothing is checked or serialized by a schema at run time. Times
 * are ISO 8601, in UTC; a field without a value is left out unless its schema says null.
 *
 * A schema's type is inferred. `isolatedDeclarations` wants explicit types of all declarations but those tagged
 * `internal`, which `stripInternal` leaves out of declaration files.
 */

/** The type of an answer, which nobody changes once it is made. */
export type Answer<Schema extends z.ZodType> = Frozen<z.output<Schema>>;
type Frozen<T> = T extends object ? { readonly [Field in keyof T]: Frozen<T[Field]> } : T;

/** @internal */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().describe('One sentence: what was wrong, where, and what is allowed.'),
  errors: z.exactOptional(
    z
      .array(
        z.object({
          pointer: z
            .string()
            .describe('A JSON pointer (RFC 6901) into the body, such as /webhooks/0/url.'),
          detail: z.string(),
        }),
      )
      .describe('The fields of the body that are wrong.'),
  ),
});

/** Every answer that is no success: RFC 9457, `application/problem+json`. */
export type Problem = Answer<typeof problemSchema>;

/** The schemas of one API that have a name of their own in its document. */
export class Models {
  readonly #models = z.registry<{ id: string }>();

  constructor() {
    this.named('Problem', problemSchema);
  }

  /** A schema with a name of its own in the document. */
  readonly named = <Schema extends z.ZodType>(id: string, schema: Schema): Schema => {
    this.#models.add(schema, { id });
    return schema;
  };

  /** For a route's `response`. */
  answer(schema: z.ZodType, status: number = 200): Record<string, unknown> {
    return {
      [status]: { description: 'As described', ...this.#refTo(schema) },
      default: {
        description: 'Why there is no answer',
        content: { 'application/problem+json': { schema: this.#refTo(problemSchema) } },
      },
    };
  }

  /** By id: what routes refer to. Fields may be added to an answer in any release. */
  schemas(): readonly Record<string, unknown>[] {
    const { schemas } = z.toJSONSchema(this.#models, {
      uri: uriOf,
      override: ({ jsonSchema }) => {
        delete jsonSchema.additionalProperties;
      },
    });
    // The document says which dialect its schemas are of.
    return Object.entries(schemas).map(([id, schema]) => ({
      ...schema,
      $id: id,
      $schema: undefined,
    }));
  }

  #refTo(schema: z.ZodType): { readonly $ref: string } {
    return { $ref: uriOf(this.#models.get(schema)?.id ?? '') };
  }
}

function uriOf(id: string): string {
  return `${id}#`;
}
