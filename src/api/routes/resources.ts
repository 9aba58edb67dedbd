import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AuditAction } from '../../event/audit-entry.ts';
import { decodeCursor, encodeCursor } from '../../http-api/cursor.ts';
import { inTime } from '../../http-api/in-time.ts';
import { ProblemError } from '../../http-api/problem.ts';
import type { StoredResource } from '../../resources/config/stored-resources.ts';
import { overlapEnd } from '../../resources/secret-overlap.ts';
import { reaches, type Caller } from '../access/caller.ts';
import type { DestinationHealth } from '../../event/destination-health.ts';
import {
  bodyOf,
  destinationAnswer,
  models,
  pages,
  secretAnswer,
  sourceAnswer,
} from '../answers.ts';
import type { AskedStates } from '../asked-states.ts';
import type { ChangeQueue } from '../change-queue.ts';
import { conditionsOf } from '../conditions.ts';
import { destinationOf, type Directory, type ManagedKind } from '../directory.ts';
import { accept } from '../parameters.ts';
import {
  planChange,
  type PlannedChange,
  type PlanningSettings,
  type Wanted,
} from '../plan-change.ts';
import { callerOf } from '../server.ts';
import { shownState, type KnownStates, type ShownState } from '../shown-state.ts';
import { etagOf, viewOf } from '../view.ts';

export interface ResourceRouteDeps {
  readonly directory: Directory;
  readonly queue: ChangeQueue;
  /** By the time of each request. */
  readonly planning: () => PlanningSettings;
  /** Resolves once nothing that was written 2 s ago is missing. */
  readonly fresh: () => Promise<void>;
  readonly states: Pick<AskedStates, 'known' | 'soon'>;
  readonly nowMs: () => number;
  /**
   * @param body of a request that is about to be decided
   * @throws ProblemError 422 for a URL that deliveries would refuse
   */
  readonly requireAddresses: (body: unknown, caller: Caller) => Promise<void>;
}

interface OfResource {
  readonly id: string;
}

interface Listed {
  readonly customer?: string;
  readonly state?: DestinationHealth;
  readonly cursor?: string;
  readonly limit: number;
}

/** The names of a kind of resource in paths, and in the audit. */
interface Kind {
  readonly kind: ManagedKind;
  readonly path: string;
  readonly title: string;
  readonly put: AuditAction;
  readonly delete: AuditAction;
}

const destinations: Kind = {
  kind: 'Destination',
  path: '/destinations',
  title: 'destination',
  put: 'put-destination',
  delete: 'delete-destination',
};
const sources: Kind = {
  kind: 'Source',
  path: '/sources',
  title: 'source',
  put: 'put-source',
  delete: 'delete-source',
};

/** The offset of `config` up to which a role must have read to have the change. */
const offsetHeader = 'postrider-config-offset';

/** A page that looks for a rare state ends with fewer than were asked for, and nobody waits for it. */
const mostLookedAt = 1_000;

const noStates =
  'What workers report could not be read from Kafka within ten seconds; try again later, or without state.';

export function addResourceRoutes(api: FastifyInstance, deps: ResourceRouteDeps): void {
  for (const kind of [destinations, sources]) {
    addReads(api, kind, deps);
    addChanges(api, kind, deps);
  }
  addSecret(api, deps);
}

function addReads(
  api: FastifyInstance,
  { kind, path, title }: Kind,
  deps: ResourceRouteDeps,
): void {
  const { directory } = deps;
  const one = kind === 'Destination' ? destinationAnswer : sourceAnswer;
  const many = kind === 'Destination' ? pages.destinations : pages.sources;
  api.get<{ Params: OfResource }>(
    `${path}/:id`,
    {
      config: { scope: 'read' },
      schema: {
        summary: `The ${title}`,
        params: accept(['id'], ['id']),
        response: models.answer(one),
      },
    },
    async (request, reply) => {
      await inTime(deps.fresh());
      const stored = readable(directory, kind, request.params.id, callerOf(request));
      const shown = answerWith(reply, stored);
      if (kind === 'Source') return shown;
      return { ...shown, ...stateOf(stored, await deps.states.soon(), deps.nowMs()) };
    },
  );
  api.get<{ Querystring: Listed }>(
    path,
    {
      config: { scope: 'read' },
      schema: {
        summary: `The ${title}s, by their ids`,
        querystring: accept(
          kind === 'Destination' ? ['customer', 'state', 'cursor', 'limit'] : ['cursor', 'limit'],
        ),
        response: models.answer(many),
      },
    },
    async (request) => {
      await inTime(deps.fresh());
      const { customer, state, cursor, limit } = request.query;
      const [last] = decodeCursor(cursor, 'string') ?? [];
      const known = kind === 'Source' ? undefined : await statesFor(state, deps);
      const nowMs = deps.nowMs();
      const items: object[] = [];
      let lookedAt = 0;
      let end = '';
      for (const id of idsFor(directory, kind, callerOf(request), { customer, last })) {
        if (items.length === limit || lookedAt === mostLookedAt)
          return { items, next: encodeCursor([end]) };
        lookedAt += 1;
        end = id;
        const stored = directory.get(kind, id);
        if (stored?.sealed === undefined) continue;
        const shown = stateOf(stored, known, nowMs);
        if (state !== undefined && shown?.state !== state) continue;
        items.push({ ...viewOf(stored.sealed.sealed), ...shown, etag: etagOf(stored) });
      }
      return { items };
    },
  );
}

/** A list by state needs the states; for another one, unknown ones will do. */
async function statesFor(
  state: DestinationHealth | undefined,
  { states }: ResourceRouteDeps,
): Promise<KnownStates | undefined> {
  return state === undefined ? states.soon() : inTime(states.known(), noStates);
}

/** Undefined for a source. */
function stateOf(
  stored: StoredResource,
  known: KnownStates | undefined,
  nowMs: number,
): ShownState | undefined {
  const destination = destinationOf(stored);
  return destination === undefined
    ? undefined
    : shownState({ ...destination, uid: stored.uid }, known, nowMs);
}

/** The ids that the caller may see, in their order. */
function* idsFor(
  directory: Directory,
  kind: ManagedKind,
  caller: Caller,
  { customer, last }: { readonly customer: string | undefined; readonly last: string | undefined },
): Generator<string> {
  const { customers } = caller;
  if (customer === undefined && customers === undefined) {
    yield* directory.ids(kind).after(last);
    return;
  }
  if (kind === 'Source') return;
  const theirs = customer === undefined ? [...(customers ?? [])] : [customer];
  const ids = theirs
    .filter((each) => reaches(caller, each))
    .flatMap((each) => [...directory.idsOf(each).after(last)]);
  yield* ids.sort();
}

function addChanges(api: FastifyInstance, which: Kind, deps: ResourceRouteDeps): void {
  const { kind, path, title } = which;
  const answer = kind === 'Destination' ? destinationAnswer : sourceAnswer;
  const params = accept(['id'], ['id']);
  const querystring = accept(['dryRun']);
  type Route = { Params: OfResource; Querystring: { readonly dryRun?: boolean } };
  const route = (summary: string, describedBody?: object) => ({
    config: { scope: 'write' as const, ...(describedBody && { describedBody }) },
    schema: { summary, params, querystring, response: models.answer(answer) },
  });
  const change = async (
    method: 'put' | 'patch',
    request: FastifyRequest<Route>,
    reply: FastifyReply,
  ): Promise<object> => {
    await deps.requireAddresses(request.body, callerOf(request));
    const wanted = wantedBy(request, which, method);
    const { change: made, madeSecret } = await decided(reply, wanted, which.put, request, deps);
    const { resource, action } = made;
    if (resource === undefined) throw new Error('a change without a resource was planned');
    const isDry = request.query.dryRun === true;
    if (action === 'create' && !isDry)
      reply.code(201).header('location', `/v1${path}/${encodeURIComponent(resource.id)}`);
    const secret = madeSecret === undefined || isDry ? {} : { sharedSecret: madeSecret };
    return { ...viewOf(resource), ...secret };
  };
  const put = route(`Make the ${title}, or replace it`, bodyOf(kind));
  api.put<Route>(`${path}/:id`, put, (request, reply) => change('put', request, reply));
  const merged = { type: 'object', description: 'The fields that change; null removes a field.' };
  const patch = route(`Change some fields of the ${title} (RFC 7396)`, merged);
  api.patch<Route>(`${path}/:id`, patch, (request, reply) => change('patch', request, reply));
  api.delete<Route>(`${path}/:id`, route(`Delete the ${title}`), async (request, reply) => {
    await decided(reply, wantedBy(request, which, 'delete'), which.delete, request, deps);
    return reply.code(204).send();
  });
}

function addSecret(api: FastifyInstance, deps: ResourceRouteDeps): void {
  api.post<{ Params: OfResource }>(
    '/destinations/:id/secret',
    {
      config: { scope: 'write' },
      schema: {
        summary:
          'Make a new shared secret, which is told once; the former one signs as well for a while',
        params: accept(['id'], ['id']),
        response: models.answer(secretAnswer),
      },
    },
    async (request, reply) => {
      const wanted = wantedBy(request, destinations, 'roll-secret');
      const { change, madeSecret } = await written(reply, wanted, 'roll-secret', deps);
      const resource = change.resource?.kind === 'Destination' ? change.resource : undefined;
      const formerUntil = overlapEnd(resource ?? {}, deps.nowMs());
      return { sharedSecret: madeSecret, ...(formerUntil === undefined ? {} : { formerUntil }) };
    },
  );
}

function wantedBy(
  request: FastifyRequest<{ Params: OfResource }>,
  { kind }: Kind,
  method: Wanted['method'],
): Wanted {
  const caller = callerOf(request);
  if (kind === 'Source' && caller.customers !== undefined)
    throw new ProblemError(403, 'Sources are not for customers to change.');
  const { id } = request.params;
  return {
    method,
    kind,
    id,
    body: request.body,
    conditions: conditionsOf(request.headers),
    caller,
  };
}

/** Does it, or says what would be done. */
async function decided(
  reply: FastifyReply,
  wanted: Wanted,
  action: AuditAction,
  { query }: FastifyRequest<{ Querystring: { readonly dryRun?: boolean } }>,
  deps: ResourceRouteDeps,
): Promise<PlannedChange> {
  if (query.dryRun === true) return planChange(wanted, deps.directory, deps.planning());
  return written(reply, wanted, action, deps);
}

async function written(
  reply: FastifyReply,
  wanted: Wanted,
  action: AuditAction,
  { directory, queue, planning }: ResourceRouteDeps,
): Promise<PlannedChange> {
  const decide = (): PlannedChange => planChange(wanted, directory, planning());
  const { offset, ...planned } = await queue.change({ caller: wanted.caller, action, decide });
  reply.header(offsetHeader, offset);
  const stored = directory.get(wanted.kind, wanted.id);
  if (stored !== undefined) reply.header('etag', etagOf(stored));
  return planned;
}

function readable(
  directory: Directory,
  kind: ManagedKind,
  id: string,
  caller: Caller,
): StoredResource {
  const stored = directory.get(kind, id);
  const mayRead =
    kind === 'Source'
      ? caller.customers === undefined
      : reaches(caller, destinationOf(stored)?.customer);
  if (stored === undefined || !mayRead)
    throw new ProblemError(404, `There is no ${kind.toLowerCase()} ${id}.`);
  return stored;
}

function answerWith(reply: FastifyReply, stored: StoredResource): object {
  const sealed = stored.sealed?.sealed;
  if (sealed === undefined)
    throw new ProblemError(
      409,
      `The record of ${stored.name.kind} ${stored.name.id} cannot be read by this version.`,
    );
  reply.header('etag', etagOf(stored));
  return viewOf(sealed);
}
