import { stringify } from 'yaml';
import { PostriderError } from '../errors.ts';
import { formatTable } from './table.ts';
import { formatRate } from './rate.ts';
import { resourceKinds, type Destination, type Resource, type ResourceKind } from './resource.ts';
import { toDocument } from './stored.ts';

export const outputFormats = ['table', 'yaml', 'json'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/**
 * `Source`, `source` or `sources`.
 * @throws PostriderError `usage`
 */
export function parseKind(text: string): ResourceKind {
  const wanted = text.toLowerCase();
  const kind = resourceKinds.find((name) => [name, `${name}s`].includes(capitalised(wanted)));
  if (kind !== undefined) return kind;
  const allowed = resourceKinds.map((name) => name.toLowerCase()).join(', ');
  throw new PostriderError('usage', `"${text}" is not a kind of resource, allowed: ${allowed}`);
}

/** Resources of one kind, whose secrets the caller has masked; without a final line break. */
export function presentList(
  kind: ResourceKind,
  resources: readonly Resource[],
  format: OutputFormat,
): string {
  switch (format) {
    case 'json':
      return presentJson(resources.map(toDocument));
    case 'yaml':
      return resources
        .map((resource) => stringify(toDocument(resource)))
        .join('---\n')
        .trimEnd();
    case 'table':
      return formatTable(columns[kind], resources.map(rowOf));
  }
}

/** One resource; with `json`, an object and not a list. */
export function presentOne(resource: Resource, format: OutputFormat): string {
  return format === 'json'
    ? presentJson(toDocument(resource))
    : presentList(resource.kind, [resource], format);
}

const columns: Readonly<Record<ResourceKind, readonly string[]>> = {
  Source: ['ID', 'NAME', 'WRITE KEYS'],
  Destination: ['ID', 'NAME', 'SOURCES', 'ENABLED', 'TOPIC', 'LIMITS', 'SIGNED', 'WEBHOOKS'],
};

function rowOf(resource: Resource): readonly string[] {
  const { id, name } = resource;
  return resource.kind === 'Source'
    ? [id, name, resource.writeKeys.join(' ')]
    : [id, name, ...destinationCells(resource)];
}

function destinationCells(destination: Destination): readonly string[] {
  const { rateLimit, maxInFlight } = destination;
  const limits = [
    ...(rateLimit === undefined ? [] : [formatRate(rateLimit)]),
    ...(maxInFlight === undefined ? [] : [`${maxInFlight} in flight`]),
  ];
  return [
    destination.sources.join(' '),
    destination.enabled ? 'yes' : 'no',
    destination.topic,
    limits.join(', '),
    destination.sharedSecret === undefined ? 'no' : 'yes',
    destination.webhooks.map(({ url }) => url).join(' '),
  ];
}

function presentJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
