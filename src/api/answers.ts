import { z } from 'zod';
import { destinationHealths } from '../event/destination-health.ts';
import { Models } from '../http-api/answers.ts';
import { managers } from '../resources/resource.ts';
import { fieldsAsJsonSchema } from '../resources/schema/schema.ts';
import type { ManagedKind } from './directory.ts';

/** The answers of the API under `/v1`. A resource is as in files, its secrets masked, with what the API knows beside. */
export const models: Models = new Models();
const { named } = models;

const beside = {
  id: z.string(),
  managedBy: z.enum(managers).describe('Who changes it: files, by apply, or this API.'),
};
const inLists = z
  .exactOptional(z.string())
  .describe('In lists: the version, as ETag has it in the answer for one.');

/** In answers to GET alone. */
const asItIs = {
  state: z.exactOptional(
    z
      .enum(destinationHealths)
      .describe('How it is, as workers report it. In answers to GET; no request changes it.'),
  ),
  since: z.exactOptional(z.string().describe('ISO 8601: since when it has been in that state.')),
  asOf: z.exactOptional(
    z.string().describe('ISO 8601: when who reports on it was last heard; absent if nobody was.'),
  ),
  why: z.exactOptional(z.string().describe('The reason why the state is unknown.')),
};

/** @internal */
export const destinationAnswer = named(
  'Destination',
  z.looseObject({
    ...beside,
    uid: z.exactOptional(
      z.string().describe('Which destination of the id it is: never used again.'),
    ),
    sharedSecret: z.exactOptional(
      z.string().describe('Masked, except once: where it was made here, for who makes it.'),
    ),
    etag: inLists,
    ...asItIs,
  }),
);

/** @internal */
export const sourceAnswer = named('Source', z.looseObject({ ...beside, etag: inLists }));

/** @internal */
export const secretAnswer = named(
  'MadeSecret',
  z.object({
    sharedSecret: z.string().describe('It is told once.'),
    formerUntil: z.exactOptional(
      z.string().describe('ISO 8601: until then the former secret signs as well.'),
    ),
  }),
);

/** @internal */
export const pages = {
  destinations: named('DestinationPage', pageOf(destinationAnswer)),
  sources: named('SourcePage', pageOf(sourceAnswer)),
};

function pageOf(item: z.ZodType): z.ZodType {
  const next = z.exactOptional(
    z.string().describe('The cursor of the page behind this one; absent at the end.'),
  );
  return z.object({ items: z.array(item), next });
}

/** The fields that a request can set, for the document: those of files, of which the path has kind and id. */
export function bodyOf(kind: ManagedKind): Readonly<Record<string, unknown>> {
  const { required, ...schema } = fieldsAsJsonSchema(kind);
  // Those of callers bound to customers need no sources.
  const needed = (required as readonly string[]).filter(
    (name) => !['kind', 'id', 'sources'].includes(name),
  );
  return { ...schema, required: needed };
}
