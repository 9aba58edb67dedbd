import { customerLimitProblem, customerProblem } from '../event/customer.ts';
import { ProblemError, type FieldProblem } from '../http-api/problem.ts';
import type { Change } from '../resources/apply/plan.ts';
import { reaches, type Caller } from './access/caller.ts';
import type { Directory } from './directory.ts';

/** The settings about customers who help themselves. */
export interface CustomerSettings {
  readonly mostDestinations: number;
  /** The ids of sources that destinations of customers may have; empty: all. */
  readonly sources: readonly string[];
}

/** The fields that callers bound to customers set. The others decide about the platform's own means. */
const theirs: ReadonlySet<string> = new Set([
  'kind',
  'id',
  'customer',
  'name',
  'sources',
  'enabled',
  'sharedSecret',
  'signature',
  'secretOverlap',
  'webhooks',
  'secretUrl',
  'events',
  'eventNames',
  'filter',
  'payload',
  'notify',
]);

type Fields = Readonly<Record<string, unknown>>;

/** The fields of a destination that stay when one of its customer's callers replaces it. */
export function notTheirs(document: object | undefined): Fields {
  const kept = Object.entries(document ?? {}).filter(
    ([name]) => !theirs.has(name) || name === 'customer' || name === 'sources',
  );
  return Object.fromEntries(kept);
}

/** A new destination's fields, with what a caller who is bound to customers need not know. */
export function asTheirs(given: Fields, caller: Caller, sources: readonly string[]): Fields {
  const { customers } = caller;
  if (customers === undefined) return given;
  const [only, ...others] = customers;
  const customer = given['customer'] ?? (others.length === 0 ? only : undefined);
  return {
    ...given,
    ...(customer === undefined ? {} : { customer }),
    sources: given['sources'] ?? sources,
  };
}

/** @throws ProblemError 404 for a customer that is another's, 400 for what can be the id of none */
export function requireReach(caller: Caller, customer: string): void {
  if (!reaches(caller, customer))
    throw new ProblemError(404, `There is no customer ${customer} for you.`);
  const problem = customerProblem(customer);
  if (problem !== undefined) throw new ProblemError(400, `The id of a customer ${problem}.`);
}

/** The problems of what a caller would change, as far as customers are concerned. */
export function customerProblems(
  { resource, fields, action }: Change,
  caller: Caller,
  directory: Directory,
  settings: CustomerSettings,
): readonly FieldProblem[] {
  if (resource?.kind !== 'Destination') return [];
  const { id, customer } = resource;
  const problems: FieldProblem[] = [];
  const ids = customer === undefined ? undefined : directory.idsOf(customer);
  const isNew = ids !== undefined && ![...ids].includes(id);
  const limit = isNew ? customerLimitProblem(ids.size, settings.mostDestinations) : undefined;
  if (limit !== undefined) problems.push({ pointer: '/customer', detail: limit });
  if (caller.customers === undefined) return problems;
  if (!reaches(caller, customer))
    problems.push({
      pointer: '/customer',
      detail: `must be one of your own: ${[...caller.customers].join(', ')}`,
    });
  const changed = new Set(
    action === 'create' ? setFields(resource) : fields.map(({ path }) => topOf(path)),
  );
  for (const name of changed)
    if (!theirs.has(name))
      problems.push({
        pointer: `/${name}`,
        detail: `is not for customers to set; they set ${[...theirs].slice(3).join(', ')}`,
      });
  return problems;
}

/**
 * The sources that a caller bound to customers may not choose. Neither those that there are nor a similar name is told.
 * @param allowed those that customers can have, and those that the destination has already
 */
export function foreignSources(
  { sources }: Fields,
  { customers }: Caller,
  allowed: ReadonlySet<unknown>,
): readonly FieldProblem[] {
  if (customers === undefined || !Array.isArray(sources)) return [];
  return sources.flatMap((source: unknown, index) => {
    if (allowed.has(source)) return [];
    const detail = 'is no source that you can have; without sources, you get all that you can have';
    return [{ pointer: `/sources/${index}`, detail }];
  });
}

/** The fields whose values are no defaults. */
function setFields(resource: object): readonly string[] {
  const besides = new Set(['uid', 'managedBy', 'formerSecrets', 'urlPaths']);
  return Object.entries(resource)
    .filter(([name, value]) => !besides.has(name) && !(name === 'topic' && value === 'shared'))
    .map(([name]) => name);
}

function topOf(path: string): string {
  return path.replace(/[.[].*$/s, '');
}
