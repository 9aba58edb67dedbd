import { z } from 'zod';
import { Models, type Answer } from '../../../http-api/answers.ts';

/**
 * The answers of the HTTP API under `/api/v1` are described in this folder, for OpenAPI, handlers and pages. The pages
 * import the types alone, so that no zod is in them.
 */

/** A schema that describes every field of a record of Kafka, also those that an answer may leave out. */
export type Complete<T> = z.ZodType<T> &
  ({ readonly shape: Readonly<Record<keyof T, z.ZodType>> } | Pick<z.ZodUnion, 'options'>);

export const models: Models = new Models();
export const named: Models['named'] = models.named;

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
