import path from 'node:path';
import { z } from 'zod';
import { parseDuration } from '../../duration.ts';
import {
  emittedCalls,
  keyProperties,
  rowFormats,
  valueTypes,
  type Audience,
  type ComputedTrait,
  type EmittedCall,
  type FileRows,
  type FileValues,
  type PostgresRows,
  type RowFormat,
  type SqlRows,
} from '../resource.ts';
import { distinct, id, issuesOf, name, notEmpty, reasonOf, secret } from './schema-parts.ts';

const text = z.string().regex(/^\P{Cc}+$/u, 'must be text without control characters, not empty');
const columnRule = "must be a column's name, or its number (from 1) where there is no header";
const column = z.union([text, z.int().min(1, columnRule)], {
  error: ({ input }) => (input === undefined ? 'is missing' : columnRule),
});
const delimiter = z
  .string()
  .regex(
    /^[^\r\n"\0\p{L}\p{N}]$/u,
    'must be one character that is not a letter, digit, quote or line break',
  );

const [leastAgeMs, mostAgeMs] = [60_000, 90 * 86_400_000];
const maxAge = z.string().refine((given) => {
  const ageMs = parseDuration(given) ?? 0;
  return ageMs >= leastAgeMs && ageMs <= mostAgeMs;
}, 'must be a duration from 1m to 90d, such as 26h');

const fileRows = z.strictObject({
  file: text.refine((file) => !/^[a-z][a-z0-9+.-]*:\/\//i.test(file), 'must be a file, not a URL'),
  complete: z.exactOptional(
    text.refine(
      (name) => path.basename(name) === name && !/^\.+$/.test(name),
      'must be the name of a file, without a folder',
    ),
  ),
  maxAge: z.exactOptional(maxAge),
  format: z.exactOptional(z.enum(rowFormats)),
  header: z.exactOptional(z.boolean()),
  delimiter: z.exactOptional(delimiter),
  userId: column,
});
const fileValues = z.strictObject({
  ...fileRows.shape,
  value: column,
  type: z.exactOptional(z.enum(valueTypes)),
});
const query = z
  .string()
  .regex(/\S/, 'must be a query')
  .regex(/^[^\0]*$/, 'must not contain NUL');
const age = { asOf: z.exactOptional(query), maxAge: z.exactOptional(maxAge) };
const postgresRows = z.strictObject({
  postgres: secret.min(1, 'must be a connection URL'),
  query,
  ...age,
});
const sqlRows = z.strictObject({ sql: query, ...age });

const percent = (most: number): z.ZodInt =>
  z
    .int(`must be a whole number from 0 to ${most}`)
    .min(0, `must be from 0 to ${most}`)
    .max(most, `must be from 0 to ${most}`);
const limits = z.strictObject({
  maxRemoved: z.exactOptional(percent(100)),
  maxChanged: z.exactOptional(percent(100)),
  maxAdded: z.exactOptional(percent(1_000_000)),
});

const emitRule = 'must be identify, track, or a list of them';
const emit = z.union(
  [z.enum(emittedCalls).transform((one) => [one]), distinct(z.enum(emittedCalls)).min(1, emitRule)],
  emitRule,
);

const synced = {
  id,
  name,
  trait: z.exactOptional(
    z.string().refine(isTraitName, 'must be letters and digits, with single _ between them'),
  ),
  source: id,
  destinations: z.exactOptional(notEmpty(distinct(id))),
  emit: z.exactOptional(emit),
  limits: z.exactOptional(limits),
};
const audience = z.strictObject({
  kind: z.literal('Audience'),
  ...synced,
  members: rows<FileRows>(fileRows),
});
const computedTrait = z.strictObject({
  kind: z.literal('ComputedTrait'),
  ...synced,
  values: rows<FileValues>(fileValues),
});

export const limitFields: readonly string[] = Object.keys(limits.shape);
export const audienceFields: readonly string[] = Object.keys(audience.shape);
export const computedTraitFields: readonly string[] = Object.keys(computedTrait.shape);

export const audienceSchema: z.ZodType<Audience> = audience.transform(
  ({ kind, id: audienceId, name: given, trait, emit: calls, ...rest }, context) => ({
    kind,
    id: audienceId,
    name: given,
    ...said(kind, given, trait, calls, context),
    ...rest,
  }),
);
export const computedTraitSchema: z.ZodType<ComputedTrait> = computedTrait.transform(
  ({ kind, id: traitId, name: given, trait, emit: calls, ...rest }, context) => ({
    kind,
    id: traitId,
    name: given,
    ...said(kind, given, trait, calls, context),
    ...rest,
  }),
);

type Context = z.core.$RefinementCtx;

/** The trait, and the calls that tell of it; the usual call is stored as none, which former releases can read. */
function said(
  kind: 'Audience' | 'ComputedTrait',
  name: string,
  trait: string | undefined,
  calls: readonly EmittedCall[] = ['identify'],
  context: Context,
): Pick<Audience, 'trait' | 'emit'> {
  const settled = trait ?? named(name, context);
  const key = keyProperties[kind];
  if (settled === key && calls.includes('track'))
    context.addIssue({
      code: 'custom',
      path: [trait === undefined ? 'name' : 'trait'],
      message: `must not give the trait ${key}, which track calls have beside the trait`,
    });
  const ordered = emittedCalls.filter((each) => calls.includes(each));
  const isUsual = !ordered.includes('track');
  return { trait: settled, ...(isUsual ? {} : { emit: ordered }) };
}

function named(given: string, context: Context): string {
  const trait = traitName(given);
  if (trait === '')
    context.addIssue({
      code: 'custom',
      path: ['name'],
      message: 'must have a letter or a digit, because its trait is named after it',
    });
  return trait;
}

/** One schema for both kinds of rows, because a union of schemas would report the problems of each. */
function rows<File extends FileRows>(
  file: z.ZodObject & z.ZodType<File>,
): z.ZodType<File | PostgresRows | SqlRows> {
  return z
    .record(z.string(), z.unknown())
    .transform((given, context): File | PostgresRows | SqlRows => {
      const refuse = (path: readonly PropertyKey[], message: string): void => {
        context.addIssue({ code: 'custom', path: [...path], message });
      };
      const [kind, ...more] = (['file', 'postgres', 'sql'] as const).filter(
        (each) => each in given,
      );
      if (kind === undefined || more.length > 0) {
        refuse([], 'must have one of file, postgres and sql');
        return z.NEVER;
      }
      const schema = { file, postgres: postgresRows, sql: sqlRows }[kind];
      const result = schema.safeParse(given, { error: reasonOf });
      const allowed = Object.keys(schema.shape);
      for (const { path: at, reason } of issuesOf(result.error?.issues ?? [], () => allowed))
        refuse(at, reason);
      if (!result.success) return z.NEVER;
      if ('file' in result.data) checkColumns(result.data, refuse);
      else checkAge(result.data, refuse);
      return result.data;
    });
}

type Refuse = (path: readonly PropertyKey[], message: string) => void;

function checkAge({ asOf, maxAge: most }: PostgresRows | SqlRows, refuse: Refuse): void {
  if (most !== undefined && asOf === undefined)
    refuse(['asOf'], 'is missing: a query for the time of the newest data, which maxAge is about');
  if (most === undefined && asOf !== undefined)
    refuse(['maxAge'], 'is missing: how old the data may be by asOf, such as 26h');
}

function checkColumns(given: FileRows & Partial<FileValues>, refuse: Refuse): void {
  const isCsv = formatOf(given) === 'csv';
  for (const field of ['header', 'delimiter', 'type'] as const)
    if (given[field] !== undefined && !isCsv)
      refuse([field], 'is for CSV only; set `format: csv` if the files are CSV');
  const numbered = given.header === false;
  for (const field of ['userId', 'value'] as const) {
    const chosen = given[field];
    if (chosen === undefined || (typeof chosen === 'number') === numbered) continue;
    refuse(
      [field],
      numbered
        ? "must be the column's number, from 1, because there is no header"
        : "must be the column's name; numbers are for CSV with `header: false` (a name that is a number goes in quotes)",
    );
  }
}

const formats: readonly (readonly [RowFormat, RegExp])[] = [
  ['csv', /\.csv(?:\.gz)?$/i],
  ['ndjson', /\.(?:ndjson|jsonl)(?:\.gz)?$/i],
  ['parquet', /\.parquet$/i],
];

/** The format that the name of a file or the end of a glob shows; undefined if it shows none. */
function formatOfName(file: string): RowFormat | undefined {
  return formats.find(([, ending]) => ending.test(file))?.[0];
}

/** The given format, otherwise that of the name; undefined for a folder, whose files show it. */
export function formatOf({ file, format }: FileRows): RowFormat | undefined {
  return format ?? formatOfName(file);
}

/**
 * The trait under which an audience or computed trait of this name is delivered: `Big Spenders (30 Days)`
 * becomes `big_spenders_30_days`, `VIP30Days` `vip30_days`. Words start at an upper-case letter behind a
 * lower-case one or a digit, and at the last capital of several before a lower-case letter; between
 * words, and for everything that is neither letter nor digit, stands one `_`.
 * Empty if the name has neither letters nor digits.
 */
export function traitName(name: string): string {
  return (
    name
      .normalize('NFC')
      .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, '_')
      .replace(/(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, '_')
      .toLowerCase()
      // What JavaScript makes of the Turkish İ, whose dot is no letter.
      .replaceAll('i\u0307', 'i')
      .replace(/[^\p{L}\p{N}]+/gu, '_')
      .replace(/^_|_$/g, '')
  );
}

/** Says whether a trait that was given beside the name is valid. */
export function isTraitName(text: string): boolean {
  return /^[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)*$/u.test(text);
}
