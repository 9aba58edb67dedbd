import { z } from 'zod';
import type { Dated, Page } from '../model.ts';

/** The parts that schemas of answers are made of. */

export const models: z.core.$ZodRegistry<{ id: string }> = z.registry<{ id: string }>();

/** An object's schema describes every field, also those that an answer may leave out. */
type Complete<T> = z.ZodType<T> &
  ({ readonly shape: Readonly<Record<keyof T, z.ZodType>> } | Pick<z.ZodUnion, 'options'>);

/** A schema with a name of its own in the document. */
export function named<T>(id: string, schema: Complete<T>): z.ZodType<T> {
  models.add(schema, { id });
  return schema;
}

export const time: z.ZodString = z.string().meta({ format: 'date-time' });
export const count: z.ZodInt = z.int().min(0);
export const ms: z.ZodNumber = z.number().min(0);
export const maybe: typeof z.exactOptional = z.exactOptional;

/** The fields that every answer to a GET has beside its own. */
export const dated: Readonly<Record<keyof Dated, z.ZodExactOptional<z.ZodString>>> = {
  asOf: maybe(time.describe('Everything that happened until then is in it.')),
  old: maybe(z.string().describe('That it is old, in words.')),
};

export function pageOf<T>(id: string, item: z.ZodType<T>): z.ZodType<Page<T>> {
  const next = z.string().describe('The cursor of the page behind this one; absent at the end.');
  return named(id, z.object({ items: z.array(item), next: maybe(next), ...dated }));
}

/** A resource is as in files, its secrets masked. */
export const resource: z.ZodType<object> = z.looseObject({});
