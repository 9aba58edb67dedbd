import { PostriderError } from '../../errors.ts';
import type { AudienceRecord, ToldTrait } from '../audiences/record.ts';
import type { AudienceRecords } from '../audiences/records.ts';
import { formerDestinations, formerTraits, toldOf } from '../audiences/told.ts';
import type { ResourceName } from '../config/stored.ts';
import type { Audience, ComputedTrait } from '../resource.ts';

/**
 * The consequence of an audience's or computed trait's change for users that have its trait; undefined: none.
 * @param connected every destination of its source
 */
export function describeTold(
  { told }: AudienceRecord,
  audience: Audience | ComputedTrait,
  connected: readonly string[],
): string | undefined {
  const { id, trait, source } = audience;
  const former = formerTraits(told, audience).filter(({ members }) => members > 0);
  const present = toldOf(told, audience);
  const sentences = former.map(({ members, trait: before, source: from }) => {
    const next = present === undefined ? `${users(members)} will get ${trait}; ` : '';
    const where = from === source ? '' : ` from source ${from}`;
    return `${next}${users(members)} ${keep(members)} ${before}${where}`;
  });
  const left = formerDestinations(present, audience, connected);
  if (left.length > 0)
    sentences.push(
      `${users(present?.members ?? 0)} ${keep(present?.members ?? 0)} ${trait} at ${left.join(', ')}`,
    );
  if (sentences.length === 0) return undefined;
  return `${sentences.join('; ')} unless you retire it with \`audience-sync ${id} --retire\``;
}

/**
 * Once an audience is gone, nothing takes its trait back from users.
 * @throws PostriderError `resource-invalid` while users have one
 */
export function refuseWhileTold(records: AudienceRecords, { kind, id }: ResourceName): void {
  const told = (records.get(id)?.told ?? []).filter(({ members }) => members > 0);
  if (told.length === 0) return;
  throw new PostriderError(
    'resource-invalid',
    `${kind} ${id} cannot be deleted without --retire or --keep-traits, because ${describeUsers(told)} from it: --retire takes the trait back from these users, and with --keep-traits they keep it`,
  );
}

function describeUsers(told: readonly ToldTrait[]): string {
  return told
    .map(({ members, trait }) => `${users(members)} ${members === 1 ? 'has' : 'have'} ${trait}`)
    .join(', and ');
}

function users(count: number): string {
  return count === 1 ? '1 user' : `${count.toLocaleString('en')} users`;
}

function keep(count: number): string {
  return count === 1 ? 'keeps' : 'keep';
}
