import { toDocument } from '../../resources/config/stored.ts';
import { shownDocument } from '../../resources/present.ts';
import type { Resource } from '../../resources/resource.ts';
import type { LiveState } from '../index/live-state.ts';
import type { AudienceRow, Configuration } from './answers/deployment.ts';

/** The audiences that are configured, and those from which users still have a trait, by id. */
export function audiencesOf({
  resources,
  audiences,
}: Pick<LiveState, 'resources' | 'audiences'>): readonly AudienceRow[] {
  const configured = new Map(
    Array.from(resources.values())
      .filter(({ kind }) => kind === 'Audience' || kind === 'ComputedTrait')
      .map((resource) => [resource.id, resource] as const),
  );
  const ids = [...new Set([...configured.keys(), ...audiences.keys()])].sort();
  return ids.map((id): AudienceRow => {
    const resource = configured.get(id);
    const { told, syncs } = audiences.get(id) ?? { told: [], syncs: [] };
    return {
      id,
      ...(resource === undefined ? {} : { resource: toDocument(resource) }),
      told: told.map(({ source, trait, members, destinations }) => ({
        source,
        trait,
        members,
        ...(destinations === undefined ? {} : { destinations }),
      })),
      syncs: syncs.map(({ reason, ...sync }) => ({
        ...sync,
        ...(reason === undefined ? {} : { reason }),
      })),
    };
  });
}

/** With another SECRET_KEY, nothing is readable. */
const mostUnreadable = 100;

interface ConfigurationQuestion {
  /** In the id, the name or the customer. */
  readonly search: string;
  readonly kind: string | undefined;
  /** The name of the last one of the page before. */
  readonly behind: string | undefined;
  readonly limit: number;
}

interface ConfigurationPage extends Omit<Configuration, 'next'> {
  /** The name of the last one, if others follow. */
  readonly last: string | undefined;
}

/** @param sought in the id, the name or the customer, in lower case */
export function isNamed(resource: Resource, sought: string): boolean {
  const customer = resource.kind === 'Destination' ? resource.customer : undefined;
  return [resource.id, resource.name, customer].some(
    (text) => text?.toLowerCase().includes(sought) === true,
  );
}

/** A page of the resources, by kind and id. */
export function configurationOf(
  { resources, unreadable }: Pick<LiveState, 'resources' | 'unreadable'>,
  { search, kind, behind = '', limit }: ConfigurationQuestion,
): ConfigurationPage {
  const sought = search.toLowerCase();
  const found = [...resources]
    .filter(([key]) => key > behind)
    .filter(([, each]) => (kind === undefined || each.kind === kind) && isNamed(each, sought))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const shown = found.slice(0, limit);
  const kinds: Record<string, number> = {};
  for (const each of resources.values()) kinds[each.kind] = (kinds[each.kind] ?? 0) + 1;
  return {
    items: shown.map(([, resource]) => shownDocument(resource)),
    last: found.length > limit ? shown.at(-1)?.[0] : undefined,
    kinds,
    unreadable: Array.from(unreadable, ([name, reason]) => ({ name, reason })).slice(
      0,
      mostUnreadable,
    ),
    unreadableTotal: unreadable.size,
  };
}
