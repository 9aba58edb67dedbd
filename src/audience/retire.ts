import {
  formerDestinations,
  formerTraits,
  isSameTrait,
  toldOf,
  withTold,
  type AudienceRecord,
  type ToldTrait,
} from '../resources/audiences/record.ts';
import { everyoneRecord } from './everyone.ts';
import {
  withAudience,
  type OpenAudience,
  type OpenOptions,
  type SyncDeps,
} from './open-audience.ts';
import { SyncRun } from './sync-run.ts';
import type { SyncTarget } from './changes.ts';

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
 * that it no longer names. Where it says a former trait again, as one of another source, the trait is not taken
 * back from those who have it now.
 * @param destinationsOf every destination of a source
 */
export async function retireFormer(
  deps: SyncDeps,
  target: SyncTarget,
  destinationsOf: (sourceId: string) => readonly string[],
  options: RetireOptions,
): Promise<readonly Retired[]> {
  return withAudience(deps, target.id, { ...options, dryRun: false }, async (audience) => {
    const { told } = audience.record;
    const successor = toldOf(told, target) === undefined ? undefined : { target, destinationsOf };
    const former = formerTraits(told, target);
    const { record, done } = await retireTraits(deps, audience, former, options, successor);
    const present = toldOf(record.told, target);
    const destinations = formerDestinations(present, target, destinationsOf(target.source));
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

/** The trait that the audience has now, and the users who have been told of it. */
interface Successor {
  readonly target: SyncTarget;
  readonly destinationsOf: (sourceId: string) => readonly string[];
}

/** One run that takes a trait back. */
interface Step {
  readonly told: ToldTrait;
  readonly isSilent: boolean;
  /** Leaves those who keep the trait as `current`. */
  readonly keep: (audience: OpenAudience) => Promise<void>;
}

async function retireTraits(
  deps: SyncDeps,
  audience: OpenAudience,
  traits: readonly ToldTrait[],
  options: RetireOptions,
  successor?: Successor,
): Promise<{ readonly record: AudienceRecord; readonly done: readonly Retired[] }> {
  let { record } = audience;
  const done: Retired[] = [];
  for (const told of traits) {
    const isSaidAgain = successor !== undefined && successor.target.trait === told.trait;
    if (isSaidAgain) await rememberMembers(deps, audience, successor.target, options);
    const steps: readonly Step[] = isSaidAgain
      ? replacedBy(successor, told, options.isSilent)
      : [{ told, isSilent: options.isSilent, keep: keepNobody }];
    for (const [index, step] of steps.entries()) {
      const isLast = index === steps.length - 1;
      const left = isLast ? record.told.filter((each) => !isSameTrait(each, told)) : record.told;
      const { source, trait, destinations } = step.told;
      const ended = await takeBack(deps, audience, step, options, { ...record, told: left });
      record = ended.record;
      if (step.isSilent === options.isSilent)
        done.push({ trait, source, destinations, users: ended.users });
    }
  }
  return { record, done };
}

/**
 * First those lose it who do not have it now. The others lose it only where the successor does not reach: at a
 * receiver of both, it would be the last word.
 */
function replacedBy(
  { target, destinationsOf }: Successor,
  told: ToldTrait,
  isSilent: boolean,
): readonly Step[] {
  const reached = new Set(target.destinations ?? destinationsOf(target.source));
  const before = [
    ...(told.destinations ?? destinationsOf(told.source)),
    ...told.formerDestinations,
  ];
  const destinations = before.filter((id) => !reached.has(id));
  return [
    { told, isSilent, keep: keepMembers },
    {
      told: { ...told, destinations, formerDestinations: [] },
      isSilent: isSilent || destinations.length === 0,
      keep: keepNobody,
    },
  ];
}

/** @param next the record as it is afterwards, without this run's entry */
async function takeBack(
  deps: SyncDeps,
  audience: OpenAudience,
  { told, isSilent, keep }: Step,
  options: RetireOptions,
  next: AudienceRecord,
): Promise<{ readonly record: AudienceRecord; readonly users: number }> {
  const run = await begin(deps, audience, { ...told, id: audience.id }, options);
  try {
    await keep(audience);
    const found = await run.compare({ withBaseline: false });
    await run.send({ isSilent, formerDestinations: told.formerDestinations });
    const record = run.recordWith(next, run.entry('done', found));
    await audience.save(record);
    return { record, users: found.removed };
  } finally {
    await run.end();
  }
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

async function keepNobody({ workspace }: OpenAudience): Promise<void> {
  await workspace.database.connection.run(
    'create or replace table current (user_id varchar, value varchar)',
  );
}

/** Leaves as `members_now` who has the trait by what the audience says now. Deleted users only have a mark. */
async function rememberMembers(
  deps: SyncDeps,
  audience: OpenAudience,
  target: SyncTarget,
  options: RetireOptions,
): Promise<void> {
  const run = await begin(deps, audience, target, options);
  try {
    await audience.workspace.database.connection.run(
      `create or replace table members_now as
         select user_id from state.members where not starts_with(value, '{')`,
    );
  } finally {
    await run.end();
  }
}

async function keepMembers({ workspace }: OpenAudience): Promise<void> {
  await workspace.database.connection.run(
    `create or replace table current as
       select user_id, value from state.members semi join members_now using (user_id)
       where not starts_with(value, '{')`,
  );
}

async function asTold({ workspace }: OpenAudience): Promise<void> {
  await workspace.database.connection.run(
    `create or replace table current as
       select user_id, value from state.members`,
  );
}
