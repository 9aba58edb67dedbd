import type { AudienceRecord, ToldTrait } from '../resources/audiences/record.ts';
import {
  formerDestinations,
  formerTraits,
  isSameTrait,
  toldOf,
  withTold,
} from '../resources/audiences/told.ts';
import { everyoneRecord } from './everyone.ts';
import {
  withAudience,
  type OpenAudience,
  type OpenOptions,
  type SyncDeps,
} from './open-audience.ts';
import { SyncRun } from './sync-run.ts';
import type { SyncTarget } from './sync-target.ts';

export interface RetireOptions extends Omit<OpenOptions, 'dryRun'> {
  /** Nothing is sent, and users keep the trait. */
  readonly isSilent: boolean;
  readonly changesPerTransaction: number;
}

/** The result of a retirement, for one trait. */
export interface Retired {
  readonly trait: string;
  readonly source: string;
  /** Undefined: all destinations that got the trait. */
  readonly destinations: readonly string[] | undefined;
  readonly users: number;
}

/**
 * Takes the traits of a deleted audience back from all its users, and removes its memberships. An interrupted
 * run is continued, and no call is sent twice.
 * @param unrecorded the trait that an earlier release sent, which kept no record
 * @throws PostriderError as a sync
 */
export async function retireAudience(
  deps: SyncDeps,
  id: string,
  unrecorded: ToldTrait | undefined,
  options: RetireOptions,
): Promise<readonly Retired[]> {
  return withAudience(deps, id, { ...options, dryRun: false }, async (audience) => {
    const { told } = audience.record;
    const recorded = told.length === 0 && unrecorded !== undefined ? [unrecorded] : told;
    const retired = await retireTraits(deps, audience, recorded, options);
    const { audienceMembers } = deps.topology.topics;
    // An audience that is made again under this id does not go on where a run of the former one was cut off.
    await audience.save(null, [everyoneRecord(audienceMembers, 0, audience.id, undefined)]);
    return retired.done;
  });
}

/**
 * Does the same for former parts of an existing audience: its former traits and sources, and destinations
 * that it no longer names.
 */
export async function retireFormer(
  deps: SyncDeps,
  target: SyncTarget,
  connected: readonly string[],
  options: RetireOptions,
): Promise<readonly Retired[]> {
  return withAudience(deps, target.id, { ...options, dryRun: false }, async (audience) => {
    const former = formerTraits(audience.record.told, target);
    const { record, done } = await retireTraits(deps, audience, former, options);
    const present = toldOf(record.told, target);
    const destinations = formerDestinations(present, target, connected);
    if (present === undefined || destinations.length === 0) return done;
    const users = await tellDestinations(
      deps,
      audience,
      { record, present, destinations },
      target,
      options,
    );
    return [...done, { trait: target.trait, source: target.source, destinations, users }];
  });
}

async function retireTraits(
  deps: SyncDeps,
  audience: OpenAudience,
  traits: readonly ToldTrait[],
  options: RetireOptions,
): Promise<{ readonly record: AudienceRecord; readonly done: readonly Retired[] }> {
  let { record } = audience;
  const done: Retired[] = [];
  for (const told of traits) {
    const { source, trait, destinations } = told;
    const run = await begin(deps, audience, { ...told, id: audience.id }, options);
    try {
      await empty(audience);
      const found = await run.compare({ withBaseline: false });
      const { isSilent } = options;
      await run.send({ isSilent, formerDestinations: told.formerDestinations });
      const others = record.told.filter((each) => !isSameTrait(each, told));
      record = run.recordWith({ told: others, syncs: record.syncs }, run.entry('done', found));
      await audience.save(record);
      done.push({ trait, source, destinations, users: found.removed });
    } finally {
      await run.end();
    }
  }
  return { record, done };
}

/** Sends all users to these destinations only. Memberships stay. */
async function tellDestinations(
  deps: SyncDeps,
  audience: OpenAudience,
  known: {
    readonly record: AudienceRecord;
    readonly present: ToldTrait;
    readonly destinations: readonly string[];
  },
  target: SyncTarget,
  options: RetireOptions,
): Promise<number> {
  const { record, present, destinations } = known;
  const run = await begin(deps, audience, target, options);
  try {
    await asTold(audience);
    const found = await run.compare({ withBaseline: true });
    if (!options.isSilent)
      await run.send({
        formerDestinations: [],
        baseline: { destinations, reached: destinations, isTakenBack: true },
      });
    const { destinations: named } = target;
    const told = withTold(record.told, { ...present, destinations: named, formerDestinations: [] });
    const entry = run.entry('done', found);
    await audience.save(run.recordWith({ told, syncs: record.syncs }, entry), run.over);
    return found.baseline;
  } finally {
    await run.end();
  }
}

function begin(
  deps: SyncDeps,
  audience: OpenAudience,
  target: SyncTarget,
  { isSilent, changesPerTransaction }: RetireOptions,
): Promise<SyncRun> {
  const action = isSilent ? 'forget' : 'retire';
  return SyncRun.begin(deps, audience, target, { action, changesPerTransaction }, undefined);
}

async function empty({ workspace }: OpenAudience): Promise<void> {
  await workspace.database.connection.run(
    'create or replace table current (user_id varchar, value varchar)',
  );
}

async function asTold({ workspace }: OpenAudience): Promise<void> {
  await workspace.database.connection.run(
    `create or replace table current as
       select user_id, value from state.members`,
  );
}
