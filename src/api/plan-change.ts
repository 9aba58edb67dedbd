import { ProblemError, type FieldProblem } from '../http-api/problem.ts';
import { SourceDocument } from '../resources/apply/document.ts';
import { planApply, planDeletion, type Change, type PlanOptions } from '../resources/apply/plan.ts';
import { maskResource, openResource, toDocument } from '../resources/config/stored.ts';
import type { StoredResource } from '../resources/config/stored-resources.ts';
import type { ResourceBounds } from '../resources/apply/desired.ts';
import { InvalidResources } from '../resources/problem.ts';
import { newSigningSecret } from '../resources/signing-secret.ts';
import type { Resource } from '../resources/resource.ts';
import { reaches, type Caller } from './access/caller.ts';
import { requireConditions, type Conditions } from './conditions.ts';
import {
  asTheirs,
  customerProblems,
  foreignSources,
  notTheirs,
  type CustomerSettings,
} from './customers.ts';
import { destinationOf, type Directory, type ManagedKind } from './directory.ts';
import { mergePatch } from './merge-patch.ts';
import { unmasked, withHiddenUrls } from './unmask.ts';
import { answeredOnly } from './view.ts';

/** A request to change one resource. */
export interface Wanted {
  readonly method: 'put' | 'patch' | 'delete' | 'roll-secret';
  readonly kind: ManagedKind;
  readonly id: string;
  /** The JSON of `put` and `patch`. */
  readonly body?: unknown;
  readonly conditions: Conditions;
  readonly caller: Caller;
}

export interface PlanningSettings {
  readonly plan: ResourceBounds & Pick<PlanOptions, 'secretKeys' | 'identityOf'>;
  readonly customers: CustomerSettings;
}

/** The outcome of a request. */
export interface PlannedChange {
  readonly change: Change;
  /** A secret that was made here, which is told once. */
  readonly madeSecret?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Decides what a request changes, by the same rules as `apply`.
 * @throws ProblemError 404, 409, 412 and 422, with each field that is wrong
 * @throws PostriderError `secret-unreadable`; `resource-invalid` for what others still refer to
 */
export function planChange(
  wanted: Wanted,
  directory: Directory,
  settings: PlanningSettings,
): PlannedChange {
  const { method, kind, id, conditions } = wanted;
  const stored = directory.get(kind, id);
  const what = `${kind} ${id}`;
  requireTheirs(wanted, stored);
  requireConditions(conditions, stored, what);
  if (stored !== undefined && stored.managedBy !== 'api')
    throw new ProblemError(
      409,
      `${what} is managed by files: change its file and apply it. The API changes only what was made with it.`,
    );
  const beside = kind === 'Source' ? directory.all : directory.beside(kind, id);
  if (method === 'delete')
    return {
      change: planDeletion(beside, { kind, id }, { takeOver: true }),
    };
  const before = stored?.sealed && openResource(stored.sealed, settings.plan.secretKeys);
  const { sources } = settings.customers;
  const forCustomers = sources.length > 0 ? sources : [...directory.ids('Source')];
  const { fields, madeSecret } = fieldsOf(wanted, before, forCustomers);
  const own = destinationOf(stored)?.sources ?? [];
  const foreign = foreignSources(fields, wanted.caller, new Set([...forCustomers, ...own]));
  if (foreign.length > 0) throw invalid(what, foreign);
  const change = planned(fields, wanted, directory, settings);
  const problems = customerProblems(change, wanted.caller, directory, settings.customers);
  if (problems.length > 0) throw invalid(what, problems);
  return { change, ...(madeSecret === undefined ? {} : { madeSecret }) };
}

/** @throws ProblemError for what is another customer's: what exists is not told, but that the id cannot be had is */
function requireTheirs(
  { method, kind, id, caller }: Wanted,
  stored: StoredResource | undefined,
): void {
  if (stored === undefined) {
    if (method === 'put') return;
    throw new ProblemError(404, `There is no ${kind.toLowerCase()} ${id}.`);
  }
  if (reaches(caller, destinationOf(stored)?.customer)) return;
  if (method === 'put') throw new ProblemError(409, `The id ${id} is taken; choose another one.`);
  throw new ProblemError(404, `There is no ${kind.toLowerCase()} ${id}.`);
}

function fieldsOf(
  { method, kind, id, body, caller }: Wanted,
  before: Resource | undefined,
  forCustomers: readonly string[],
): { readonly fields: Fields; readonly madeSecret?: string } {
  const real = before && ({ ...toDocument(before) } as Fields);
  if (method === 'roll-secret') {
    const madeSecret = newSigningSecret();
    return { fields: { ...real, sharedSecret: madeSecret }, madeSecret };
  }
  const shown = before && ({ ...toDocument(maskResource({ sealed: before })) } as Fields);
  const given = withoutAnswered(method === 'patch' ? mergePatch(shown, body) : body);
  const showsUrls = given['secretUrl'] !== true;
  const known = real && shown && showsUrls ? withHiddenUrls(real, shown) : real;
  const named = withName(unmasked(given, shown, known) as Fields, kind, id);
  if (kind === 'Source') return { fields: named };
  const secret = before?.kind === 'Destination' ? before.sharedSecret : undefined;
  if (before !== undefined) {
    if (method === 'patch') return { fields: named };
    // A replacement need not know it, and would otherwise leave the destination without a signature.
    const kept = { ...(secret === undefined ? {} : { sharedSecret: secret }), ...named };
    return { fields: caller.customers === undefined ? kept : { ...notTheirs(real), ...kept } };
  }
  const theirs = asTheirs(named, caller, forCustomers);
  if (theirs['sharedSecret'] !== undefined) return { fields: theirs };
  const madeSecret = newSigningSecret();
  return { fields: { ...theirs, sharedSecret: madeSecret }, madeSecret };
}

/** @throws ProblemError 422 for a body that is no object */
function withoutAnswered(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('The body', [
      { pointer: '', detail: 'must be an object with the fields of a resource' },
    ]);
  return Object.fromEntries(Object.entries(body).filter(([name]) => !answeredOnly.has(name)));
}

/** @throws ProblemError 422 for a body of another resource than the path's */
function withName(fields: Fields, kind: ManagedKind, id: string): Fields {
  const wrong = Object.entries({ kind, id }).filter(
    ([name, value]) => fields[name] !== undefined && fields[name] !== value,
  );
  if (wrong.length > 0)
    throw invalid(
      `${kind} ${id}`,
      wrong.map(([name, value]) => ({
        pointer: `/${name}`,
        detail: `must be ${value}, as in the path`,
      })),
    );
  return { ...fields, kind, id };
}

/** No wrong key is found by what is beside: the API looks at all secrets when it starts. */
const ownOptions = {
  managedBy: 'api',
  takeOver: true,
  prune: false,
  rename: false,
  newKey: true,
  endOverlap: false,
  records: new Map(),
} as const;

function planned(
  fields: Fields,
  { kind, id }: Wanted,
  directory: Directory,
  { plan }: PlanningSettings,
): Change {
  const document = new SourceDocument('body', fields, [], () => 1);
  let change: Change | undefined;
  try {
    const files = { documents: [document], problems: [] };
    [change] = planApply(files, directory.beside(kind, id), { ...plan, ...ownOptions });
  } catch (error) {
    if (!(error instanceof InvalidResources)) throw error;
    throw invalid(
      `${kind} ${id}`,
      error.problems.map(({ at = [], reason }) => ({ pointer: pointerOf(at), detail: reason })),
    );
  }
  if (change?.resource === undefined)
    throw new Error('a resource was given, and no change was planned');
  return change;
}

/** RFC 6901. */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** A caller who mends these is told the next ones. */
const mostErrors = 100;

/** The sentence names the first field, for whoever reads only that. */
export function invalid(what: string, errors: readonly FieldProblem[]): ProblemError {
  const [first] = errors;
  const more = errors.length > 1 ? `, and ${errors.length - 1} more` : '';
  const where = first?.pointer === '' ? '' : `${first?.pointer ?? ''} `;
  return new ProblemError(422, `${what} is not valid: ${where}${first?.detail ?? ''}${more}.`, {
    errors: errors.slice(0, mostErrors),
  });
}
