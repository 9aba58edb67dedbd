import { toDocument } from '../../resources/config/stored.ts';
import type { LiveState } from '../index/live-state.ts';
import type { AudienceRow, Configuration } from './model.ts';

/** Those that are configured, and those that users have a trait from still; by id. */
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

export function configurationOf({
  resources,
  unreadable,
}: Pick<LiveState, 'resources' | 'unreadable'>): Configuration {
  const byName = [...resources].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    resources: byName.map(([, resource]) => toDocument(resource)),
    unreadable: Array.from(unreadable, ([name, reason]) => ({ name, reason })),
  };
}
