import { PostriderError } from '../errors.ts';
import { hintAmong } from '../near.ts';
import { printableJson } from '../printable.ts';
import { printableYaml } from '../printable-yaml.ts';
import { formatTable } from './table.ts';
import { formatRate } from './schema/texts.ts';
import {
  managerOf,
  resourceKinds,
  type Audience,
  type ComputedTrait,
  type Destination,
  type FileRows,
  type NoticeHook,
  type PostgresRows,
  type Resource,
  type ResourceKind,
  type SqlRows,
} from './resource.ts';
import { toDocument } from './config/stored.ts';

export const outputFormats = ['table', 'wide', 'json', 'yaml'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/**
 * `Source`, `source` or `sources`; also `computed-trait`.
 * @throws PostriderError `usage`
 */
export function parseKind(text: string): ResourceKind {
  const wanted = text.toLowerCase();
  const kind = resourceKinds.find((name) =>
    [name.toLowerCase(), typedKind(name)].some((one) => [one, `${one}s`].includes(wanted)),
  );
  if (kind !== undefined) return kind;
  const hint = hintAmong(wanted, resourceKinds.map(typedKind), 'allowed');
  throw new PostriderError('usage', `"${text}" is not a kind of resource${hint}`);
}

/** Resources of one kind, whose secrets the caller has masked; without a final line break. */
export function presentList(
  kind: ResourceKind,
  resources: readonly Resource[],
  format: OutputFormat,
): string {
  switch (format) {
    case 'json':
      return printableJson(resources.map(shownDocument));
    case 'yaml':
      return resources.map(shownYaml).join('\n---\n');
    case 'table': {
      const rows = resources.map(rowOf);
      const isShown = (_: unknown, index: number): boolean => {
        const name = columns[kind][index] ?? '';
        if (onlyWide.has(name)) return false;
        const usual = ifUnusual.get(name);
        return usual === undefined || rows.some((row) => row[index] !== usual);
      };
      return formatTable(
        columns[kind].filter(isShown),
        rows.map((row) => row.filter(isShown)),
      );
    }
    case 'wide':
      return formatTable(columns[kind], resources.map(rowOf), Infinity);
  }
}

/** A resource as in files, and who manages it where that is not files. */
export function shownDocument(resource: Resource): object {
  const document = toDocument(resource);
  return managerOf(resource) === 'api' ? { ...document, managedBy: 'api' } : document;
}

/** The manager is a comment, so that files can take the resource over. */
function shownYaml(resource: Resource): string {
  const yaml = printableYaml(toDocument(resource));
  return managerOf(resource) === 'api' ? `# managed by the API\n${yaml}` : yaml;
}

/** One resource; with `json`, an object and not a list. */
export function presentOne(resource: Resource, format: OutputFormat): string {
  return format === 'json'
    ? printableJson(shownDocument(resource))
    : presentList(resource.kind, [resource], format);
}

const columns: Readonly<Record<ResourceKind, readonly string[]>> = {
  Source: ['ID', 'NAME', 'WRITE KEYS', 'MANAGED BY'],
  Destination: [
    'ID',
    'NAME',
    'CUSTOMER',
    'SOURCES',
    'ENABLED',
    'TOPIC',
    'LIMITS',
    'SIGNED',
    'WEBHOOKS',
    'MANAGED BY',
  ],
  Audience: ['ID', 'NAME', 'TRAIT', 'SOURCE', 'DESTINATIONS', 'MEMBERS'],
  ComputedTrait: ['ID', 'NAME', 'TRAIT', 'SOURCE', 'DESTINATIONS', 'VALUES'],
  NoticeHook: ['ID', 'NAME', 'FORMAT', 'LIMITS', 'SIGNED', 'URL'],
};

const onlyWide: ReadonlySet<string> = new Set(['TOPIC', 'LIMITS', 'SIGNED']);

/** Columns that a table leaves out where all of their cells hold this. */
const ifUnusual: ReadonlyMap<string, string> = new Map([
  ['CUSTOMER', ''],
  ['MANAGED BY', 'files'],
]);

function rowOf(resource: Resource): readonly string[] {
  return [resource.id, resource.name, ...cellsOf(resource)];
}

function cellsOf(resource: Resource): readonly string[] {
  switch (resource.kind) {
    case 'Source':
      return [resource.writeKeys.join(' '), managerOf(resource)];
    case 'Destination':
      return destinationCells(resource);
    case 'Audience':
      return syncedCells(resource, resource.members);
    case 'ComputedTrait':
      return syncedCells(resource, resource.values);
    case 'NoticeHook':
      return hookCells(resource);
  }
}

function syncedCells(
  { trait, source, destinations }: Audience | ComputedTrait,
  rows: FileRows | PostgresRows | SqlRows,
): readonly string[] {
  const from = 'file' in rows ? rows.file : 'postgres' in rows ? 'postgres' : 'sql';
  return [trait, source, destinations?.join(' ') ?? 'all', from];
}

function destinationCells(destination: Destination): readonly string[] {
  const { rateLimit, rateLimitOf, maxInFlight } = destination;
  const limits = [
    ...(rateLimit === undefined ? [] : [formatRate(rateLimit, rateLimitOf)]),
    ...(maxInFlight === undefined ? [] : [`${maxInFlight} in flight`]),
  ];
  return [
    destination.customer ?? '',
    destination.sources.join(' '),
    destination.enabled ? 'yes' : 'no',
    destination.topic,
    limits.join(', '),
    destination.sharedSecret === undefined ? 'no' : 'yes',
    destination.webhooks.map(({ url }) => url).join(' '),
    managerOf(destination),
  ];
}

function hookCells({ format, rateLimit, sharedSecret, url }: NoticeHook): readonly string[] {
  const limits = rateLimit === undefined ? '' : formatRate(rateLimit);
  return [format, limits, sharedSecret === undefined ? 'no' : 'yes', url];
}

/** `computed-trait` of `ComputedTrait`. */
export function typedKind(kind: ResourceKind): string {
  return kind.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
}
