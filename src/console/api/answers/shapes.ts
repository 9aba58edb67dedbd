import { z } from 'zod';

/**
 * Each answer of the HTTP API under `/api/v1` is described once, by a schema in this folder: OpenAPI shows it, a type
 * is inferred from it, which handlers and pages use, and a test holds the answers to it. Nothing is checked or
 * serialized by a schema at run time, and the pages import the types alone, so that no zod is in them. Times are
 * ISO 8601, in UTC; a field without a value is left out unless its schema says null.
 *
 * A schema's type is inferred. `isolatedDeclarations` wants explicit types of all declarations but those tagged
 * `internal`, which `stripInternal` leaves out of declaration files.
 */

/** The type of an answer, which nobody changes once it is made. */
export type Answer<Schema extends z.ZodType> = Frozen<z.output<Schema>>;
type Frozen<T> = T extends object ? { readonly [Field in keyof T]: Frozen<T[Field]> } : T;

/** A schema that describes every field of a record of Kafka, also those that an answer may leave out. */
export type Complete<T> = z.ZodType<T> &
  ({ readonly shape: Readonly<Record<keyof T, z.ZodType>> } | Pick<z.ZodUnion, 'options'>);

export const models: z.core.$ZodRegistry<{ id: string }> = z.registry<{ id: string }>();

/** A schema with a name of its own in the document. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  models.add(schema, { id });
  return schema;
}

export const time: z.ZodString = z.string().meta({ format: 'date-time' });
export const count: z.ZodInt = z.int().min(0);
export const ms: z.ZodNumber = z.number().min(0);
export const maybe: typeof z.exactOptional = z.exactOptional;
/** A resource is as in files, its secrets masked. */
export const resource: z.ZodType<object> = z.looseObject({});

type DatedFields = {
  readonly asOf: z.ZodExactOptional<z.ZodString>;
  readonly old: z.ZodExactOptional<z.ZodString>;
};
/** The fields that every answer to a GET has beside its own. */
export const dated: DatedFields = {
  asOf: maybe(
    time.describe(
      'Everything that happened until then is in it; absent: what Kafka holds is still being read.',
    ),
  ),
  old: maybe(z.string().describe('That it is old, in words; absent: it is as new as it can be.')),
};
export type Dated = Answer<z.ZodObject<DatedFields>>;

/** A list, a piece at a time. */
export interface Page<Item> extends Dated {
  readonly items: readonly Item[];
  readonly next?: string;
}

export const next: z.ZodString = z
  .string()
  .describe('The cursor of the page behind this one; absent at the end.');

export function pageOf<Item>(id: string, item: z.ZodType<Item>): z.ZodType<Page<Item>> {
  return named(id, z.object({ items: z.array(item), next: maybe(next), ...dated }));
}
